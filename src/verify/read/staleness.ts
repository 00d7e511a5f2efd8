/** A belief is current for an hour, or for six of the intervals in which the watch is looked at. */
const CURRENT_SECONDS = 3_600
export const CURRENT_INTERVALS = 6

/**
 * For how many seconds after its last good check a belief is current for a watch. Of all fares together it takes how long a
 * turn of everybody lasts, in steps; of other watches of the fare, nothing.
 */
export function currentSeconds({
  minIntervalSeconds,
  turnSeconds,
}: {
  readonly minIntervalSeconds: number | null
  readonly turnSeconds: number
}): number {
  return Math.max(
    CURRENT_SECONDS,
    CURRENT_INTERVALS * (minIntervalSeconds ?? 0),
    inDoublingSteps(CURRENT_INTERVALS * turnSeconds),
  )
}

/** An hour, two, four …: to the second it would tell how many fares all resellers have together. */
function inDoublingSteps(seconds: number): number {
  if (seconds <= CURRENT_SECONDS) return CURRENT_SECONDS
  return CURRENT_SECONDS * 2 ** Math.ceil(Math.log2(seconds / CURRENT_SECONDS))
}
