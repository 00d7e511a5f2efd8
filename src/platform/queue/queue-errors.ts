import { SchemaMigrationRequiredError } from 'bullmq'
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

/** Why the signal of a handler aborted: the process closes, the lock of the job is lost, or its worker is replaced. */
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
  if (messageOf(thrown) !== '') return messageOf(thrown)
  return String((thrown as { code?: unknown }).code ?? 'no reason given')
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
