import { SchemaMigrationRequiredError, UnrecoverableError } from 'bullmq'
import { AppError, messageOf } from '../base/errors.ts'
import type { Scrub } from '../base/secrets.ts'
import { cleanText } from '../base/text.ts'
import { adviceFor, describeStore, QUEUE_SCHEMA, type QueueConnection } from './queue-connection.ts'

/** The store of the queue did not answer in time or refused. The caller can retry: our tables hold what is due. */
export class QueueUnavailableError extends AppError {
  override readonly name = 'QueueUnavailableError'
  override readonly code = 'queue.unavailable'
  override readonly retryable = true

  constructor(store: string, reason: string, options?: ErrorOptions) {
    super(`the queue's store (${store}) cannot be used: ${reason}`, options)
  }
}

/** Why the signal of a handler aborted: the process closes, or the lock of the job is lost. */
export class JobAbortedError extends AppError {
  override readonly name = 'JobAbortedError'
  override readonly code = 'queue.job_aborted'
  override readonly retryable = true
}

/** Names the store without credentials, the reason, and what an operator can do. */
export function toUnavailableError(
  connection: QueueConnection,
  thrown: unknown,
  scrub: Scrub,
): QueueUnavailableError {
  const reason = `${cleanText(scrub(reasonOf(thrown)))}; ${adviceFor(connection)}`
  return new QueueUnavailableError(describeStore(connection), reason, {
    cause: bareError(thrown, scrub),
  })
}

function reasonOf(thrown: unknown): string {
  if (thrown instanceof SchemaMigrationRequiredError) return `schema ${QUEUE_SCHEMA} is missing`
  return messageOf(thrown)
}

/**
 * A copy of an error with clean text and without own properties: ioredis adds the arguments of a refused command, also
 * those of AUTH.
 */
function bareError(thrown: unknown, scrub: Scrub): Error {
  const bare = new Error(cleanText(scrub(messageOf(thrown))))
  if (thrown instanceof Error) bare.stack = cleanText(scrub(thrown.stack ?? ''), 4_000)
  return bare
}

/** Codes of the socket, and of a PostgreSQL that is shutting down, down or out of connections. */
const UNAVAILABLE_CODES =
  /^(ECONN\w+|EPIPE|ETIMEDOUT|EHOST\w+|ENET\w+|ENOTFOUND|EAI_AGAIN|08...|57P..|53300)$/
/** Messages of pg and ioredis that have no code, and of a Redis that is starting or has lost its master. */
const UNAVAILABLE_MESSAGES =
  /^(connection (is )?(closed|terminated)|client has encountered a connection error|timeout e|query read timeout|socket timeout|(LOADING|READONLY|MASTERDOWN|CLUSTERDOWN) )/i

/** Whether an error means that the store was down, and not that it refused the request. */
export function isStoreUnavailable(err: unknown): boolean {
  if (!(err instanceof Error)) return false
  return UNAVAILABLE_CODES.test(String(codeIn(err))) || UNAVAILABLE_MESSAGES.test(messageOf(err))
}

/**
 * The fields of a failure in a log line: code and reason of an expected failure and of a store that is down; the whole
 * error with its stack for anything else, which is a bug.
 */
export function failureFields(err: unknown): Record<string, unknown> {
  if (!(err instanceof AppError) && !isStoreUnavailable(err)) return { err }
  return { code: codeIn(err), reason: cleanText(messageOf(err)) }
}

/** BullMQ's own refusals have a numeric code (the lock is lost, the job is deleted). A retry cannot succeed. */
export function isRefusal(err: unknown): boolean {
  return err instanceof Error && typeof codeIn(err) === 'number'
}

function codeIn(err: unknown): unknown {
  return (err as { code?: unknown }).code
}

const MAX_STACK_CHARS = 2_000

/**
 * Converts an error of a handler into one that BullMQ may store: one line and a stack, clean and scrubbed.
 *
 * A NUL or a lone surrogate would make Postgres refuse the record of the failure, and the job would end as stalled. The
 * line begins with the code or name of the error, so that it never equals a message or name by which BullMQ controls
 * itself (`bullmq:rateLimitExceeded`, `DelayedError`). The original error is the `cause`, for our log; BullMQ stores
 * neither causes nor own properties.
 *
 * An AppError that is not retryable becomes an UnrecoverableError, which BullMQ does not retry.
 */
export function toJobError(thrown: unknown, scrub: Scrub): Error {
  const text = thrown instanceof Error ? thrown.message : String(thrown)
  const message = cleanText(`${labelOf(thrown)}: ${scrub(text)}`)
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
