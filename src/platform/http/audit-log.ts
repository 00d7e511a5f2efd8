import type { Logger } from '../base/logger.ts'
import type { Checked } from './operation.ts'

/**
 * Logs one line for an operator's change to the service: the event, its object, the key and the request. Many people
 * read logs, so the line never holds the text of a key or a request body.
 * @param event constant text in lower case.
 */
export function logOperation(
  log: Logger,
  { caller, request }: Pick<Checked<unknown, unknown, unknown>, 'caller' | 'request'>,
  { event, ...object }: { readonly event: string; readonly [name: string]: unknown },
): void {
  log.info({ by: caller.limitKey, requestId: request.id, ...object }, event)
}
