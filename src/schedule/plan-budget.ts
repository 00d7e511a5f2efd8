import { type Db, sql } from '../platform/db/database.ts'

/** Fares that are checked alike. */
interface FareGroup {
  readonly fares: number
  /** The checks a second of each fare, relative to the others. */
  readonly rate: number
  /** The shortest interval between two checks of a fare, in seconds. */
  readonly minIntervalSeconds: number
  /** The expected changes a day of all these fares together. */
  readonly changesPerDay: number
}

export interface Delays {
  readonly p50Seconds: number
  readonly p95Seconds: number
}

/** The lanes may take this part of the budget at most; the rest is always left for the schedule. */
const LANES = 0.4
const SHARE = 0.95

/**
 * The budget that checks every fare equally often, so that 95 % of the changes are detected within a delay.
 *
 * A change waits for the next check of its fare, so its delay is uniform between 0 and the interval τ. Its 95th
 * percentile is 0.95·τ and its median τ/2; N fares need N/τ calls a second. Confirmations, first checks, retries
 * and questions on demand come on top: in the worst case they take 0.4 of the budget, so that N/τ is the rest of
 * it.
 * @example planBudget({ fares: 20_000, delaySeconds: 300 }).requestsPerSecond // 63.33
 */
export function planBudget({
  fares,
  delaySeconds,
}: {
  readonly fares: number
  readonly delaySeconds: number
}) {
  const intervalSeconds = delaySeconds / SHARE
  const requestsPerSecond = fares / intervalSeconds
  return {
    intervalSeconds,
    requestsPerSecond,
    withLanesRequestsPerSecond: requestsPerSecond / (1 - LANES),
    p50Seconds: intervalSeconds / 2,
    p95Seconds: delaySeconds,
  }
}

/**
 * The expected delays of fares at a budget. Null if no change is expected.
 *
 * A fare with the rate r is checked every τ = max(m, c/r), where m is its shortest interval and c is such that all
 * checks together use the budget: Σ 1/τ = B. What fares at their minimum interval leave unused goes to the others.
 * The share of changes that is detected within d is Σ λ·min(1, d/τ) / Σ λ.
 */
export function expectedDelays(
  groups: readonly FareGroup[],
  requestsPerSecond: number,
): Delays | null {
  const changes = groups.reduce((sum, group) => sum + group.changesPerDay, 0)
  if (!(changes > 0) || !(requestsPerSecond > 0)) return null
  const paced = intervalsAt(groups, requestsPerSecond)
  const detected = (delay: number) =>
    paced.reduce(
      (sum, { changesPerDay, interval }) => sum + changesPerDay * Math.min(1, delay / interval),
      0,
    ) / changes
  const longest = Math.max(...paced.map(({ interval }) => interval))
  const delayOf = (share: number) => leastWhere((delay) => detected(delay) >= share, longest)
  return { p50Seconds: delayOf(0.5), p95Seconds: delayOf(SHARE) }
}

/**
 * The least budget at which 95 % of the changes of these fares are detected within a delay. Null if no budget is: a
 * fare's minimum interval is longer.
 */
export function budgetFor(groups: readonly FareGroup[], delaySeconds: number): number | null {
  const most = groups.reduce((sum, group) => sum + group.fares / group.minIntervalSeconds, 0)
  const suffices = (rate: number) => {
    const delays = expectedDelays(groups, rate)
    // The last digits are lost in the search for the delay.
    return delays !== null && delays.p95Seconds <= delaySeconds * (1 + 1e-9)
  }
  return suffices(most) ? leastWhere(suffices, most) : null
}

function intervalsAt(groups: readonly FareGroup[], rate: number) {
  const intervalOf = ({ minIntervalSeconds, rate: own }: FareGroup, c: number) =>
    Math.max(minIntervalSeconds, c / own)
  const used = (c: number) =>
    groups.reduce((sum, group) => sum + group.fares / intervalOf(group, c), 0)
  const rates = groups.reduce((sum, { fares, rate: own }) => sum + fares * own, 0)
  const c = leastWhere((at) => used(at) <= rate, rates / rate)
  return groups.map((group) => ({ ...group, interval: intervalOf(group, c) }))
}

/** The least value up to `most` for which a condition holds that holds from there on, to twelve digits. */
function leastWhere(holds: (value: number) => boolean, most: number): number {
  let [low, high] = [0, most]
  for (let i = 0; i < 60 && high - low > 1e-12 * high; i += 1) {
    const middle = (low + high) / 2
    if (holds(middle)) high = middle
    else low = middle
  }
  return high
}

/**
 * Reads the scheduled fares in groups that are checked alike: by rates that differ by at most 5 %, and by the
 * shortest interval. The expected changes are those of the last checks.
 */
export async function readFareGroups(db: Db, minRecheckSeconds: number): Promise<FareGroup[]> {
  const { rows } = await sql<FareGroup>`
    select count(*)::integer as fares, avg(q.rate)::float8 as rate, m.seconds as "minIntervalSeconds",
           sum(coalesce(q.changes_per_day, 0))::float8 as "changesPerDay"
      from fare_schedule q
      join tracked_fare f on f.id = q.tracked_fare_id
     cross join lateral (
       select greatest(${minRecheckSeconds}::integer, f.min_interval_seconds) as seconds) m
     where q.rate is not null
     group by round(20 * ln(q.rate)), m.seconds
  `.execute(db)
  return rows
}
