import type { Clock } from '../platform/base/clock.ts'
import type { BUDGET_LANES, WatchPriority } from '../platform/base/kinds.ts'
import { type Db, sql } from '../platform/db/database.ts'
export type BudgetLane = (typeof BUDGET_LANES)[number]

/** Counts what this process takes from the budget. */
export interface CallLedger {
  /** Counts one call in a lane, for a fare if it is known. */
  readonly count: (lane: BudgetLane, fareId?: number) => void
  /**
   * Adds what was counted since the last time to the database. After a failure it is counted again by the next
   * call.
   */
  readonly flush: (db: Db) => Promise<void>
}

interface Counted {
  readonly minute: string
  readonly lane: BudgetLane
  readonly fareId: number | null
  calls: number
}

const MINUTE_MS = 60_000
/** While the database is down for long, the oldest counts are dropped. */
const MOST_ENTRIES = 200_000

interface PriorityCalls {
  /** Empty for calls that no watch explains. */
  readonly priority: WatchPriority | ''
  readonly calls: number
}

/** Called with what one write added. */
type OnCalls = (counted: PriorityCalls) => void

/**
 * One write every few seconds, because one for each batch would cost more than it is worth. A process that is
 * killed loses the counts since the last one: they are for people who look at the page, and decide nothing.
 */
export function createCallLedger(clock: Clock, onCalls: OnCalls = () => undefined): CallLedger {
  let counted = new Map<string, Counted>()
  const add = (given: Counted) => {
    const key = `${given.minute} ${given.lane} ${given.fareId}`
    const known = counted.get(key)
    if (known !== undefined) known.calls += given.calls
    else counted.set(key, given)
    const oldest = counted.keys().next()
    if (counted.size > MOST_ENTRIES && oldest.done !== true) counted.delete(oldest.value)
  }
  return {
    count: (lane, fareId) => {
      const atMs = Math.floor(clock.now().getTime() / MINUTE_MS) * MINUTE_MS
      add({ minute: new Date(atMs).toISOString(), lane, fareId: fareId ?? null, calls: 1 })
    },
    flush: async (db) => {
      if (counted.size === 0) return
      const taken = [...counted.values()]
      counted = new Map()
      try {
        for (const added of await addCalls(db, taken)) onCalls(added)
      } catch (err) {
        for (const one of taken) add(one)
        throw err
      }
    },
  }
}

/**
 * The resellers of a fare share its call, each with the highest priority of its own watches. Returns what was added, by
 * priority.
 */
async function addCalls(db: Db, counted: readonly Counted[]): Promise<PriorityCalls[]> {
  const { rows } = await sql<PriorityCalls>`
    with shared as materialized (
      select c.minute, c.lane, coalesce(r.id, 0) as reseller_id, coalesce(p.priority, '') as priority,
             sum(c.calls / greatest(1, (select count(*) from turn t where t.tracked_fare_id = f.id))) as calls
        from jsonb_to_recordset(${JSON.stringify(counted)}::jsonb)
          as c (minute timestamptz, lane text, "fareId" bigint, calls float8)
        left join tracked_fare f on f.id = c."fareId"
        left join lateral (select reseller_id as id from turn t where t.tracked_fare_id = f.id) r on true
        left join lateral (
          select w.priority
            from watch w
           where w.tracked_fare_id = f.id and w.reseller_id = r.id and w.paused_at is null and w.ended_at is null
           order by array_position(array['urgent', 'high', 'normal', 'low'], w.priority)
           limit 1) p on true
       group by c.minute, c.lane, r.id, p.priority
    ), added as (
      insert into call_minute as m (minute, lane, reseller_id, priority, calls)
      select minute, lane, reseller_id, priority, calls
        from shared
       order by minute, lane, reseller_id, priority
          on conflict (minute, lane, reseller_id, priority) do update
         set calls = m.calls + excluded.calls
    )
    select priority, sum(calls)::float8 as calls from shared group by priority
  `.execute(db)
  return rows
}

/** Fares that are checked alike. */
interface FareGroup {
  readonly fares: number
  /** The checks a second of each fare, relative to the others. */
  readonly rate: number
  /** The minimum interval between two checks of a fare, in seconds. */
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
 * A fare with the rate r is checked every τ = max(m, c/r), where m is its minimum interval and c is such that all
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
 * minimum interval. The expected changes are those of the last checks.
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
