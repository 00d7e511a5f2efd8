import { UnrecoverableError } from 'bullmq'
import { AppError } from '../base/errors.ts'
import type { Scrub } from '../base/secrets.ts'
import { cleanText } from '../base/text.ts'

const MAX_STACK_CHARS = 2_000

/**
 * What BullMQ may store of an error that a handler threw: one line and a stack, clean and scrubbed.
 *
 * A NUL or a lone surrogate in either would make Postgres refuse the record of the failure, and the job would
 * end as stalled. The line begins with the error's code or name, which also keeps it apart from the messages
 * and names by which BullMQ steers itself (`bullmq:rateLimitExceeded`, `DelayedError`). The original is the
 * `cause`, for our log; BullMQ stores neither causes nor own properties.
 *
 * An AppError that is not retryable becomes an UnrecoverableError: no further attempt.
 */
export function toJobError(thrown: unknown, scrub: Scrub): Error {
  const label = labelOf(thrown)
  const text = thrown instanceof Error ? thrown.message : String(thrown)
  const message = cleanText(`${label}: ${scrub(text)}`)
  const final = thrown instanceof AppError && !thrown.retryable
  const stored = final ? new UnrecoverableError(message) : new Error(message)
  stored.stack = `${message}\n${framesOf(thrown, scrub)}`
  stored.cause = thrown
  return stored
}

function labelOf(thrown: unknown): string {
  if (thrown instanceof AppError) return thrown.code
  return thrown instanceof Error ? thrown.name : 'thrown value'
}

/** The stack without its first lines, which repeat the message. */
function framesOf(thrown: unknown, scrub: Scrub): string {
  const stack = thrown instanceof Error ? (thrown.stack ?? '') : ''
  const frames = stack.split('\n').filter((line) => line.startsWith('    at '))
  return cleanText(scrub(frames.join('\n')), MAX_STACK_CHARS)
}
