import { createTtlCache } from '../platform/base/cache.ts'
import { FARE_CHANGE_KINDS, WATCH_PRIORITIES } from '../platform/base/kinds.ts'
import { type Db, sql } from '../platform/db/database.ts'
import { DELAY_GROUPS, type DetectionDelay } from './status-shapes.ts'

/** From the middle of the time in which a change happened to its record. */
export const MIDPOINT_SECONDS = sql`extract(epoch from recorded_at - last_good_check_at - (detected_at - last_good_check_at) / 2)::float8`
/** The changes that a check found. Those before which nothing was known have no delay. */
export const HAS_DELAY = sql<boolean>`(last_good_check_at <= detected_at and evidence_hash is not null)`

interface DelayRow extends Pick<DetectionDelay, 'priority' | 'changes'> {
  readonly midpoint: readonly [p50: number, p95: number]
  readonly atMost: readonly [p50: number, p95: number]
}

const RANK = sql`array_position(${[...WATCH_PRIORITIES]}::text[], w.priority)`

/**
 * Reads how late the changes were recorded that checks found in the last day. A change happened after the last good
 * check that did not show it, and by the first check that did: its delay is from then to its record, the time for
 * confirmations and in a hold included. Changes before which nothing was known have no delay, and neither have ends
 * and reversals, which no check found: these cite no answer.
 */
export async function readDetectionDelays(db: Db): Promise<DetectionDelay[]> {
  const { rows } = await sql<DelayRow>`
    with delay as materialized (
      select tracked_fare_id as id, extract(epoch from recorded_at - last_good_check_at)::float8 as at_most,
             ${MIDPOINT_SECONDS} as midpoint
        from availability_change
       where kind = any(${FARE_CHANGE_KINDS}) and recorded_at > clock_timestamp() - interval '1 day'
         and ${HAS_DELAY}
    ), fare as materialized (
      select id, (select w.priority
                    from watch w
                   where w.tracked_fare_id = f.id and w.paused_at is null and w.ended_at is null
                   order by ${RANK} desc
                   limit 1) as priority
        from (select distinct id from delay) f
    )
    select case when grouping(priority) = 1 then 'all' else priority end as priority, count(*) as changes,
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
      .map(({ priority, changes, midpoint, atMost }) => ({
        priority,
        changes,
        midpointSeconds: { p50: midpoint[0], p95: midpoint[1] },
        atMostSeconds: { p50: atMost[0], p95: atMost[1] },
      })),
  )
}

export type DelayReader = () => Promise<DetectionDelay[]>

const CACHE_MS = 60_000

/** A reader for requests: it reads all changes of a day, so callers of one minute share its answer. */
export function createDelayReader(db: Db, nowMs: () => number): DelayReader {
  const cache = createTtlCache<DetectionDelay[]>({ ttlMs: CACHE_MS, nowMs, maxKeys: 1 })
  return () => cache.get('', () => readDetectionDelays(db))
}
