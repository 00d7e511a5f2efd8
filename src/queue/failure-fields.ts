import { AppError, messageOf } from '../base/errors.ts'
import { cleanText } from '../base/text.ts'

/** Of the socket, and of a PostgreSQL that goes, is gone or has no connection left. */
const AWAY_CODES =
  /^(ECONN\w+|EPIPE|ETIMEDOUT|EHOST\w+|ENET\w+|ENOTFOUND|EAI_AGAIN|08...|57P..|53300)$/
/** What pg and ioredis say without a code, and a Redis that has just started, or lost its master. */
const AWAY_TEXTS =
  /^(connection (is )?(closed|terminated)|client has encountered a connection error|timeout e|query read timeout|(LOADING|READONLY|MASTERDOWN|CLUSTERDOWN) )/i

/** Whether a store failed by being away, not by what it was asked. */
export function isAway(err: unknown): boolean {
  if (!(err instanceof Error)) return false
  return AWAY_CODES.test(String(codeIn(err))) || AWAY_TEXTS.test(messageOf(err))
}

/**
 * What a log line says of a failure: of one that we expect, and of a store that is away, its code and its reason; of
 * anything else, which is a bug, everything with its stack.
 */
export function failureFields(err: unknown): Record<string, unknown> {
  if (!(err instanceof AppError) && !isAway(err)) return { err }
  return { code: codeIn(err), reason: cleanText(messageOf(err)) }
}

function codeIn(err: unknown): unknown {
  return (err as { code?: unknown }).code
}
