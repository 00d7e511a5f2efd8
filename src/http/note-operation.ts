import type { Logger } from '../base/logger.ts'
import type { Checked } from './operation.ts'

/**
 * One line in the log for what somebody has done to the service: what, to what, by which key, in which request. What
 * is noted is shown to whoever reads logs: never a key's text, never a body.
 * @param did constant text in lower case.
 */
export function noteOperation(
  log: Logger,
  { caller, request }: Pick<Checked<unknown, unknown, unknown>, 'caller' | 'request'>,
  { did, ...to }: { readonly did: string; readonly [name: string]: unknown },
): void {
  log.info({ by: caller.limitKey, requestId: request.id, ...to }, did)
}
