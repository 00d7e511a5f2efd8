import { type RawBuilder, sql, type Tx } from '../platform/db/database.ts'
import { notify } from '../platform/db/listener.ts'
import { changeQueues, expediteFirstChecks, follow, hold, unfollow } from '../schedule/queues.ts'
import { startFreshWatches } from './notify-watches.ts'

export interface TrackedFaresEffect {
  /** Fares that have an active watch now and had none. */
  readonly trackedFaresAdded: number
  /** Fares that had an active watch and have none now. */
  readonly trackedFaresEnded: number
}

interface CountedFare {
  readonly id: number
  readonly watchersBefore: number
  readonly watchers: number
}

/**
 * Locks fares against other changes of their watches, and their rows of the schedule against the recording of
 * checks, in the order of their ids. Call it before watches or their reseller are changed. Every transaction takes
 * its locks in one order: tracked fares, schedule, beliefs, feeds, watches, the minute, queues.
 */
export async function lockTrackedFares(tx: Tx, fareIds: readonly number[]): Promise<void> {
  await sql`
    select from tracked_fare where id = any(${fareIds}::bigint[]) order by id for no key update
  `.execute(tx)
  await hold(tx, fareIds)
}

/**
 * Brings tracked fares in line with their watches, in the transaction that changed the watches, and as its last
 * step: the fares' own columns, and whether they are checked. A watch is active unless it is paused, has ended or its
 * reseller is disabled. Fares that are in line already are not written.
 *
 * A fare is scheduled with its first active watch, and unscheduled with its last. Watches that begin start at once
 * where the belief of their fare is fresh; the fares of the others are checked soon.
 */
export async function syncTrackedFares(
  tx: Tx,
  fareIds: readonly number[],
): Promise<TrackedFaresEffect> {
  if (fareIds.length === 0) return { trackedFaresAdded: 0, trackedFaresEnded: 0 }
  await lockTrackedFares(tx, fareIds)
  const counted = await countWatchers(tx, fareIds)

  const added = counted.filter((fare) => fare.watchersBefore === 0 && fare.watchers > 0)
  const ended = counted.filter((fare) => fare.watchersBefore > 0 && fare.watchers === 0)
  await reviveExpired(tx, fareIds)
  const followed = await follow(tx, fareIds, activeWatches(fareIds))
  const unfollowed = await unfollow(
    tx,
    ended.map(({ id }) => id),
  )
  await expediteFirstChecks(tx, await startFreshWatches(tx, fareIds))
  await sql`select ${notify('due')}`.execute(tx)
  await changeQueues(tx, [...followed, ...unfollowed])
  return { trackedFaresAdded: added.length, trackedFaresEnded: ended.length }
}

/**
 * Writes what follows from the active watches of the fares, where it differs. The watches are counted in one pass,
 * however few fares they share. A watch without a minimum interval makes the fare's the shortest possible, and one
 * without a departure date leaves the fare without.
 */
async function countWatchers(tx: Tx, fareIds: readonly number[]): Promise<CountedFare[]> {
  const { rows } = await sql<CountedFare>`
    with own as materialized (${activeWatches(fareIds)}),
         active as (
           select fare as id, sum(watchers)::int as watchers,
                  case when count(departs_on) = count(*) then max(departs_on) end as departs_on,
                  case when count(min_seconds) = count(*) then min(min_seconds) end as min_interval_seconds,
                  min(max_seconds) as max_delay_seconds
             from own
            group by fare)
    update tracked_fare f
       set watchers = c.watchers,
           departs_on = c.departs_on,
           min_interval_seconds = c.min_interval_seconds,
           max_delay_seconds = c.max_delay_seconds,
           ended_at = case when c.watchers = 0 then coalesce(f.ended_at, clock_timestamp()) end
      from (select given.id, coalesce(a.watchers, 0) as watchers, a.departs_on, a.min_interval_seconds, a.max_delay_seconds
              from unnest(${fareIds}::bigint[]) given (id)
              left join active a on a.id = given.id) c
     where f.id = c.id
       and (f.watchers, f.departs_on, f.min_interval_seconds, f.max_delay_seconds, f.ended_at is null)
           is distinct from (c.watchers, c.departs_on, c.min_interval_seconds, c.max_delay_seconds, c.watchers > 0)
    returning f.id, old.watchers as "watchersBefore", new.watchers
  `.execute(tx)
  return rows
}

/** What the active watches of fares ask for, by fare and reseller. */
function activeWatches(fareIds: readonly number[]): RawBuilder<unknown> {
  return sql`
    select w.tracked_fare_id as fare, w.reseller_id, count(*) as watchers, sum(${PRIORITY_WEIGHT}) as weight,
           case when count(w.departs_on) = count(*) then max(w.departs_on) end as departs_on,
           case when count(w.min_interval_seconds) = count(*) then min(w.min_interval_seconds) end as min_seconds,
           min(w.max_delay_seconds) as max_seconds
      from watch w
      join reseller r on r.id = w.reseller_id and r.disabled_at is null
     where w.tracked_fare_id = any(${fareIds}::bigint[]) and w.paused_at is null and w.ended_at is null
     group by w.tracked_fare_id, w.reseller_id
  `
}

/** The weight of watch `w` by its priority. */
const PRIORITY_WEIGHT = sql`
  case w.priority when 'low' then 1 when 'normal' then 2 when 'high' then 5 when 'urgent' then 20 end::float8
`

/** Whether a departure date has passed everywhere on earth: its end, read as UTC−12. */
export function hasPassed(date: RawBuilder<unknown>): RawBuilder<boolean> {
  return sql`coalesce(${date} + interval '36 hours' < clock_timestamp() at time zone 'UTC', false)`
}

/**
 * Whether tracked fare `f` with state `s` has departed, or the departure date that its watches have has passed. A
 * departure on a day before their date, in whatever zone, is wrong.
 */
const HAS_DEPARTED = sql`
  (coalesce(s.departs_at <= clock_timestamp(), false)
     and coalesce(f.departs_on <= ((s.departs_at + interval '14 hours') at time zone 'UTC')::date, true)
   or ${hasPassed(sql`f.departs_on`)})
`

/**
 * Resets expired fares that are watched again: what was believed before the end counts no more, and the next check is
 * decided as the first check of a new fare. `asked_at` stays, so that results of earlier requests are still dropped.
 */
async function reviveExpired(tx: Tx, fareIds: readonly number[]): Promise<void> {
  await sql`
    update fare_state s
       set expired_at = null, state = '{}', outbound = 'unknown', return = case when s.return is not null then 'unknown' end,
           pair = 'unknown', price = null, currency = null, believed_since = clock_timestamp(),
           last_good_check_at = null, last_reason = null, ever_available_at = null, departs_at = null, held_until = null,
           past_since = null
      from tracked_fare f
     where f.id = s.tracked_fare_id
       and f.id = any(${fareIds}::bigint[])
       and f.watchers > 0
       and s.expired_at is not null
       and not ${HAS_DEPARTED}
  `.execute(tx)
}
