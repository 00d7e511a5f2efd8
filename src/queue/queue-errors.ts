import { SchemaMigrationRequiredError } from 'bullmq'
import { AppError, messageOf } from '../base/errors.ts'
import type { Scrub } from '../base/secrets.ts'
import { cleanText } from '../base/text.ts'
import { adviceFor, describeStore, QUEUE_SCHEMA, type QueueConnection } from './queue-connection.ts'

/** The queue's store did not answer in time, or refused. What the caller owes stands in our tables: try again. */
export class QueueUnavailableError extends AppError {
  override readonly name = 'QueueUnavailableError'
  override readonly code = 'queue.unavailable'
  override readonly retryable = true

  constructor(store: string, reason: string, options?: ErrorOptions) {
    super(`the queue's store (${store}) cannot be used: ${reason}`, options)
  }
}

/** Why a handler's signal aborted: the process closes, the job's lock is lost, or its worker is rebuilt. */
export class JobAbortedError extends AppError {
  override readonly name = 'JobAbortedError'
  override readonly code = 'queue.job_aborted'
  override readonly retryable = true
}

/**
 * A handler's word that now is not the time: its job is to run again after `waitMs`, and this was no attempt.
 *
 * A job that may not be put off any more (`JobContext.canBePutOff`) has made a failed attempt instead, with `reason`
 * as its failure.
 */
export class NotNowError extends AppError {
  override readonly name = 'NotNowError'
  override readonly code = 'queue.not_now'
  override readonly retryable = true
  readonly waitMs: number
  readonly reason: AppError

  constructor(waitMs: number, reason: AppError) {
    super(`not now, again after ${waitMs} ms: ${reason.message}`, { cause: reason })
    this.waitMs = waitMs
    this.reason = reason
  }
}

/** Names the store without its credentials, the reason, and what an operator can do. */
export function unavailable(
  connection: QueueConnection,
  thrown: unknown,
  scrub: Scrub,
): QueueUnavailableError {
  const reason = `${cleanText(scrub(reasonOf(thrown)))}; ${adviceFor(connection)}`
  return new QueueUnavailableError(describeStore(connection), reason, {
    cause: bareError(thrown, scrub),
  })
}

/** A host of two addresses fails with an AggregateError that has no message, but a code. */
function reasonOf(thrown: unknown): string {
  if (thrown instanceof SchemaMigrationRequiredError) return `schema ${QUEUE_SCHEMA} is missing`
  if (messageOf(thrown) !== '') return messageOf(thrown)
  return String((thrown as { code?: unknown }).code ?? 'no reason given')
}

/**
 * A copy of an error with clean text and no own properties: ioredis puts the arguments of a refused command,
 * AUTH included, on its errors.
 */
function bareError(thrown: unknown, scrub: Scrub): Error {
  const bare = new Error(cleanText(scrub(messageOf(thrown))))
  if (thrown instanceof Error) bare.stack = cleanText(scrub(thrown.stack ?? ''), 4_000)
  return bare
}
