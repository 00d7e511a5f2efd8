import { until } from '../support/until.ts'

/** On a machine that does much else; where all is well nothing takes as long. */
const PATIENCE_MS = 60_000

/** As `until`, with the patience that whole processes need. */
export function eventually<T>(
  what: string,
  ask: () => Promise<T | undefined | false> | T | undefined | false,
  deadlineMs = PATIENCE_MS,
): Promise<T> {
  return until(what, ask, deadlineMs)
}
