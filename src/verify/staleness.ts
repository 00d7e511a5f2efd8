const SHORTEST_MS = 3_600_000
const INTERVALS = 6

/**
 * Whether a belief is too old to be shown as known: its last good check is older than an hour and than six
 * expected intervals between checks. The belief itself stays. Without any good check there is nothing to show.
 * @param expectedIntervalMs how often the fare is checked, within the budget.
 */
export function isStale(
  lastGoodCheckAt: string | null,
  expectedIntervalMs: number,
  now: Date,
): boolean {
  if (lastGoodCheckAt === null) return true
  const ageMs = now.getTime() - Date.parse(lastGoodCheckAt)
  return ageMs > Math.max(SHORTEST_MS, INTERVALS * expectedIntervalMs)
}
