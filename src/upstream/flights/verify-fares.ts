import { hash } from 'node:crypto'
import { AppError } from '../../platform/base/errors.ts'
import type { UnknownReason } from '../../platform/base/kinds.ts'
import type { Scrub } from '../../platform/base/secrets.ts'
import { cleanText } from '../../platform/base/text.ts'
import type { CallRecord } from '../attempt.ts'
import {
  type Evidence,
  type Observation,
  unknownAnswer,
  type VerifyAnswer,
} from '../observation.ts'
import type { Provider, ProviderRequest } from '../provider.ts'
import { type Question, questionKey } from '../question.ts'
import { type BodyBeginning, maskNamedTokens, snippetOf } from '../transport/body-snippet.ts'
import { errorOfAnswer } from '../transport/call-errors.ts'
import type { HttpAnswer, HttpExchange, UpstreamLimits } from '../transport/http-exchange.ts'
import {
  type UpstreamCircuitOpenError,
  UpstreamContractError,
  UpstreamRateLimitedError,
  VERIFY_ENDPOINT,
} from '../upstream-errors.ts'

const MAX_EVIDENCE_BYTES = 65_536

const REASON_BY_CODE: Readonly<Record<string, UnknownReason>> = {
  'upstream.timeout': 'timeout',
  'upstream.network': 'network',
  'upstream.http_4xx': 'http_4xx',
  'upstream.http_5xx': 'http_5xx',
  'upstream.rate_limited': 'rate_limited',
  'upstream.auth': 'auth',
  'upstream.redirect': 'contract_violation',
  'upstream.too_large': 'malformed',
}

export interface VerifyDeps {
  readonly provider: Provider
  readonly exchange: HttpExchange
  readonly limits: Pick<UpstreamLimits, 'verifyDeadlineMs' | 'maxVerifyBytes'>
  readonly scrub: Scrub
}

interface VerifyCall {
  readonly question: Question
  readonly record: CallRecord
  readonly signal: AbortSignal
}

/**
 * Asks the upstream one question once, and returns every result as an observation.
 *
 * Throws only the caller's own reason after an abort. The question must have passed `assertQuestion`.
 */
export async function verifyFares(deps: VerifyDeps, call: VerifyCall): Promise<Observation> {
  const { question, record } = call
  const { provider, scrub } = deps
  const asked = provider.verifyRequest(question)
  const startedMs = performance.now()
  const result = await request(deps, asked, call.signal)
  const latencyMs = Math.round(performance.now() - startedMs)
  const failure = failureOf(result, scrub)
  const answer =
    failure === undefined
      ? provider.readAnswer((result as HttpAnswer).chunks, question, scrub)
      : failedAnswer(question, failure)
  record.outcome = failure?.code ?? outcomeOf(answer)
  const { path } = asked
  const { parserVersion } = provider
  const status = record.status ?? null
  const sent = result instanceof AppError ? { ageSeconds: 0 } : sentAt(result)
  const body = () => (result instanceof AppError ? null : evidenceText(result, scrub))
  return {
    ...answer,
    ...sent,
    evidence: evidenceOf({ path, parserVersion, status, latencyMs, body }),
  }
}

/** The observation of a question that the circuit breaker refused: all legs unknown, and when to ask again. */
export function circuitOpenObservation(
  question: Question,
  error: UpstreamCircuitOpenError,
  now: Date,
): Observation {
  return {
    ...unknownAnswer(question, { reason: 'circuit_open', detail: error.message }),
    retryAfterMs: Math.max(0, error.until.getTime() - now.getTime()),
    ageSeconds: 0,
    evidence: {
      body: null,
      status: null,
      latencyMs: 0,
      requestFingerprint: hash('sha256', questionKey(question)),
      parserVersion: 0,
    },
  }
}

interface EvidenceArgs extends Pick<Evidence, 'status' | 'latencyMs' | 'parserVersion'> {
  readonly path: string
  readonly body: () => string | null
}

/** Most answers change nothing and their evidence is never read, so its expensive parts are computed on access. */
function evidenceOf({ body, path, ...facts }: EvidenceArgs): Evidence {
  return {
    ...facts,
    get body() {
      return body()
    },
    get requestFingerprint() {
      return hash('sha256', path)
    },
  }
}

const AGE = /^\d{1,9}$/
const DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} [12]\d{3} \d{2}:\d{2}:\d{2} GMT$/

/**
 * What the headers say of the time of an answer. `Age` is a whole number of seconds (RFC 9111, 5.1), `Date` is in the
 * form that servers must send (RFC 9110, 5.6.7). Any other value is ignored: "0" reads as the year 2000, and
 * PostgreSQL has no year 275760.
 */
function sentAt({ headers }: HttpAnswer): Pick<Observation, 'ageSeconds' | 'datedAt'> {
  const { age = '', date = '' } = headers
  const datedAt = new Date(DATE.test(date) ? date : Number.NaN)
  return {
    ageSeconds: AGE.test(age) ? Number(age) : 0,
    ...(Number.isNaN(datedAt.getTime()) ? {} : { datedAt }),
  }
}

/** Returns the answer, or the expected failure that prevented it. */
async function request(
  { exchange, limits }: VerifyDeps,
  asked: ProviderRequest,
  signal: AbortSignal,
): Promise<HttpAnswer | AppError> {
  try {
    return await exchange.get({
      ...asked,
      endpoint: VERIFY_ENDPOINT,
      deadlineMs: limits.verifyDeadlineMs,
      maxBodyBytes: limits.maxVerifyBytes,
      signal,
    })
  } catch (thrown) {
    // The caller's reason may itself be an AppError. It is not a failure of the upstream.
    if (signal.aborted) throw signal.reason
    if (thrown instanceof AppError) return thrown
    throw thrown
  }
}

function failureOf(result: HttpAnswer | AppError, scrub: Scrub): AppError | undefined {
  if (result instanceof AppError) return result
  return result.wanted ? undefined : errorOfAnswer(result, { endpoint: VERIFY_ENDPOINT, scrub })
}

function failedAnswer(question: Question, failure: AppError): VerifyAnswer {
  const answer = unknownAnswer(question, { reason: reasonOf(failure), detail: failure.message })
  const waitMs = failure instanceof UpstreamRateLimitedError ? failure.retryAfterMs : undefined
  return waitMs === undefined ? answer : { ...answer, retryAfterMs: waitMs }
}

function reasonOf(failure: AppError): UnknownReason {
  const reason = REASON_BY_CODE[failure.code]
  if (reason !== undefined) return reason
  // With status 200 the bytes are wrong: they end early or are not JSON.
  const promised = failure instanceof UpstreamContractError && (failure.status ?? 200) === 200
  return promised ? 'malformed' : 'contract_violation'
}

function outcomeOf({ outbound, return: back }: VerifyAnswer): string {
  const unknown = [outbound, back].find((leg) => leg?.kind === 'unknown')
  return unknown?.kind === 'unknown' ? `upstream.${unknown.reason}` : 'ok'
}

/**
 * The stored text of a body. NUL is removed first, because the scrubber does not recognize a secret that contains
 * it.
 */
function evidenceText(answer: BodyBeginning, scrub: Scrub): string | null {
  // The scrubber does not recognize a secret that the cut splits.
  if (!answer.complete) return snippetOf(answer, scrub) ?? null
  const body = Buffer.concat(answer.chunks).toString('utf8')
  const text = maskNamedTokens(scrub(cleanText(body, Number.POSITIVE_INFINITY)))
  const bytes = Buffer.from(text).subarray(0, MAX_EVIDENCE_BYTES)
  // `stream` drops a character that the cap splits.
  return new TextDecoder().decode(bytes, { stream: true }) || null
}
