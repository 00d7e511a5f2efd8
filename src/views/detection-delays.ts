import { createTtlCache } from '../platform/base/cache.ts'
import { FARE_CHANGE_KINDS } from '../platform/base/change-kinds.ts'
import { WATCH_PRIORITIES } from '../platform/base/kinds.ts'
import { type Db, sql } from '../platform/db/database.ts'

/** How a change waits for its record. */
export const CHANGE_WAITS = ['confirmation', 'late', 'held'] as const
/** A change that waits for its confirmation is late after this time. */
const LATE_SECONDS = 300
/** All changes, then by priority from the highest. */
export const DELAY_GROUPS = ['all', ...WATCH_PRIORITIES.toReversed()] as const

interface Delay {
  readonly p50: number
  readonly p95: number
}

/** How late the changes of a group were recorded. */
interface DetectionDelay {
  readonly priority: (typeof DELAY_GROUPS)[number]
  readonly changes: number
  readonly waiting: number
  readonly midpointSeconds: Delay
  readonly atMostSeconds: Delay
}

/** From the middle of the time in which a change happened to its record. */
export const MIDPOINT_SECONDS = sql`extract(epoch from recorded_at - last_good_check_at - (detected_at - last_good_check_at) / 2)::float8`
/** The changes that a check found. Those before which nothing was known have no delay. */
export const HAS_DELAY = sql<boolean>`(last_good_check_at <= detected_at and evidence_hash is not null)`

/**
 * The changes that wait: answers contradict what was known, and no record says so yet. Each is as a change that is
 * recorded now. Good checks go on while a price is contradicted, and none of them shows the old price. An index finds
 * them.
 */
export const WAITING_CHANGES = sql`
  select s.tracked_fare_id, k.last_good_check_at, s.contradicted_since as detected_at, clock_timestamp() as recorded_at,
         s.held_since, case when q.lane = 'confirmation' then q.lane_due_at end as confirmed_at
    from fare_state s
    join fare_schedule q using (tracked_fare_id)
   cross join lateral (select case when s.last_good_check_at < s.contradicted_since
                                   then s.last_good_check_at else s.price_checked_at end as last_good_check_at) k
   where s.contradicted_since is not null and s.contradicted_since <= clock_timestamp()
     and k.last_good_check_at < s.contradicted_since and s.expired_at is null
`

interface DelayRow extends Pick<DetectionDelay, 'priority' | 'changes' | 'waiting'> {
  readonly midpoint: readonly [p50: number, p95: number]
  readonly atMost: readonly [p50: number, p95: number]
}

const RANK = sql`array_position(${[...WATCH_PRIORITIES]}::text[], w.priority)`

/**
 * Reads how late the changes were recorded that checks found in the last day. A change happened after the last good
 * check that did not show it, and by the first check that did: its delay is from then to its record, the time for
 * confirmations and in a hold included; of a change that waits it is until now. Changes before which nothing was known
 * have no delay, and neither have ends and reversals, which no check found: these cite no answer.
 */
export async function readDetectionDelays(db: Db): Promise<DetectionDelay[]> {
  const { rows } = await sql<DelayRow>`
    with delay as materialized (
      select tracked_fare_id as id, waits, extract(epoch from recorded_at - last_good_check_at)::float8 as at_most,
             ${MIDPOINT_SECONDS} as midpoint
        from (select tracked_fare_id, last_good_check_at, detected_at, recorded_at, false as waits
                from availability_change
               where kind = any(${FARE_CHANGE_KINDS}) and recorded_at > clock_timestamp() - interval '1 day'
                 and ${HAS_DELAY}
               union all
              select tracked_fare_id, last_good_check_at, detected_at, recorded_at, true from (${WAITING_CHANGES}) w) c
    ), fare as materialized (
      select id, (select w.priority
                    from watch w
                   where w.tracked_fare_id = f.id and w.paused_at is null and w.ended_at is null
                   order by ${RANK} desc
                   limit 1) as priority
        from (select distinct id from delay) f
    )
    select case when grouping(priority) = 1 then 'all' else priority end as priority, count(*) as changes,
           count(*) filter (where waits) as waiting,
           percentile_disc(array[0.5, 0.95]) within group (order by midpoint) as midpoint,
           percentile_disc(array[0.5, 0.95]) within group (order by at_most) as "atMost"
      from delay
      join fare using (id)
     group by grouping sets ((), (priority))
    having count(*) > 0 and (grouping(priority) = 1 or priority is not null)
  `.execute(db)
  return DELAY_GROUPS.flatMap((group) =>
    rows
      .filter(({ priority }) => priority === group)
      .map(({ priority, changes, waiting, midpoint, atMost }) => ({
        priority,
        changes,
        waiting,
        midpointSeconds: { p50: midpoint[0], p95: midpoint[1] },
        atMostSeconds: { p50: atMost[0], p95: atMost[1] },
      })),
  )
}

/** The changes that wait in one way. */
interface WaitRow {
  readonly wait: (typeof CHANGE_WAITS)[number]
  readonly fares: number
  /** When the first answer began that showed the first of them. */
  readonly since: Date
  /** When the last of their next confirmations is due; null if none is. */
  readonly until: Date | null
}

/** Counts the changes that wait now, by how they wait. */
export async function readWaitingChanges(db: Db): Promise<WaitRow[]> {
  const { rows } = await sql<WaitRow>`
    select case when held_since is not null then 'held'
                when recorded_at - detected_at > make_interval(secs => ${LATE_SECONDS}) then 'late'
                else 'confirmation' end as wait,
           count(*) as fares, min(detected_at) as since, max(confirmed_at) as until
      from (${WAITING_CHANGES}) w
     group by 1
  `.execute(db)
  return CHANGE_WAITS.flatMap((wait) => rows.filter((row) => row.wait === wait))
}

export type DelayReader = () => Promise<DetectionDelay[]>

const CACHE_MS = 60_000

/** A reader for requests: it reads all changes of a day, so callers of one minute share its answer. */
export function createDelayReader(db: Db, nowMs: () => number): DelayReader {
  const cache = createTtlCache<DetectionDelay[]>({ ttlMs: CACHE_MS, nowMs, maxKeys: 1 })
  return () => cache.get('', () => readDetectionDelays(db))
}
