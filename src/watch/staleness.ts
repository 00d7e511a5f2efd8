import { type Db, sql } from '../db/database.ts'

/** A belief is fresh for at least an hour. */
const LEAST_SECONDS = 3_600
/** Beyond that, it is fresh for this many of the intervals at which the fare is expected to be checked. */
export const FRESH_INTERVALS = 6

/**
 * Returns for how many seconds after its last good check a belief is fresh for a watch. After that it is stale.
 *
 * Uses the watch's own interval, never that of another watch of the fare: the settings of other resellers are secret.
 * @param expectedIntervalSeconds how long it takes at the budget to check every fare once.
 */
export function freshSeconds({
  minIntervalSeconds,
  expectedIntervalSeconds,
}: {
  readonly minIntervalSeconds: number | null
  readonly expectedIntervalSeconds: number
}): number {
  return Math.max(
    LEAST_SECONDS,
    FRESH_INTERVALS * (minIntervalSeconds ?? 0),
    inDoublingSteps(FRESH_INTERVALS * expectedIntervalSeconds),
  )
}

/** An hour, two, four …: the exact number would show how many fares all resellers have together. */
function inDoublingSteps(seconds: number): number {
  if (seconds <= LEAST_SECONDS) return LEAST_SECONDS
  return LEAST_SECONDS * 2 ** Math.ceil(Math.log2(seconds / LEAST_SECONDS))
}

/** Reads for how many seconds a belief is fresh for a watch without a minimum interval. */
export async function readFreshSeconds(db: Db): Promise<number> {
  const { expectedIntervalSeconds } = await db
    .selectFrom('recheck_clock')
    .select(
      sql<number>`extract(epoch from expected_interval)::float8`.as('expectedIntervalSeconds'),
    )
    .executeTakeFirstOrThrow()
  return freshSeconds({ minIntervalSeconds: null, expectedIntervalSeconds })
}
