import { hash } from 'node:crypto'
import { unknownAnswer } from './flights/verify-answer.ts'
import { PARSER_VERSION, verifyPath } from './flights/verify-fares.ts'
import type { Observation, Question } from './observation.ts'
import type { UpstreamCircuitOpenError } from './upstream-errors.ts'

/** What we know of a question that was not asked because the breaker was closed: nothing, and when to ask again. */
export function circuitOpenObservation(
  question: Question,
  { message, until }: UpstreamCircuitOpenError,
  now: Date,
): Observation {
  return {
    ...unknownAnswer(question, { reason: 'circuit_open', detail: message }),
    retryAfterMs: Math.max(0, until.getTime() - now.getTime()),
    evidence: {
      body: null,
      status: null,
      latencyMs: 0,
      requestFingerprint: hash('sha256', verifyPath(question)),
      parserVersion: PARSER_VERSION,
    },
  }
}
