import { sql, type Tx } from '../platform/db/database.ts'

export interface FollowArgs {
  /** Fares of which some have active watches. Those that are not scheduled are added. */
  readonly fareIds: readonly number[]
  /** Those of them whose watches ask for something else than before. */
  readonly changed: readonly number[]
}

const DEFAULT_MIN_INTERVAL_SECONDS = 60

/** The shortest interval of fare `f`. The default is for a fare whose watches set none, before a worker has said what the configuration sets. */
const INTERVAL = sql`
  coalesce(
    greatest(f.min_interval_seconds, (select min_recheck_seconds from fare_schedule_clock)),
    ${DEFAULT_MIN_INTERVAL_SECONDS}::int)
`

/** The end of the shortest interval that follows the last check of fare `f` with state `s`. */
const EARLIEST_CHECK = sql`
  greatest(clock_timestamp(), s.last_check_at + make_interval(secs => ${INTERVAL}))
`

/**
 * Follows what the active watches of fares ask for. A fare is scheduled with its first active watch, at its shortest interval
 * from its last check, and joins the queue when the paces of its resellers are solved with it: within a minute. A fare whose
 * watches have changed keeps its rate until then. If its shortest interval is shorter now, it ends sooner; a fare that is
 * claimed gets its due time when the check is recorded.
 */
export async function follow(tx: Tx, { fareIds, changed }: FollowArgs): Promise<void> {
  await addResellers(tx, fareIds)
  await sql`
    insert into fare_schedule (tracked_fare_id, not_before, interval_seconds)
    select fare.id, ${EARLIEST_CHECK}, ${INTERVAL}
      from unnest(${fareIds}::bigint[]) fare (id)
      join tracked_fare f on f.id = fare.id and f.watchers > 0
      left join fare_state s on s.tracked_fare_id = fare.id
     where s.expired_at is null
     order by fare.id
        on conflict (tracked_fare_id) do nothing
  `.execute(tx)
  if (changed.length === 0) return
  await sql`
    update fare_schedule q
       set rates = '{}',
           scores = '{}',
           not_before = case when q.claim_id is null then least(q.not_before, ${EARLIEST_CHECK}) else q.not_before end
      from tracked_fare f
      left join fare_state s on s.tracked_fare_id = f.id
     where q.tracked_fare_id = f.id and f.id = any(${changed}::bigint[])
  `.execute(tx)
}

/** In the order of their numbers: imports that meet must not deadlock. */
async function addResellers(tx: Tx, fareIds: readonly number[]): Promise<void> {
  await sql`
    insert into fare_schedule_reseller (reseller_id)
    select distinct r.id
      from tracked_fare f
     cross join unnest(f.resellers) r (id)
     where f.id = any(${fareIds}::bigint[])
       and not exists (select from fare_schedule_reseller p where p.reseller_id = r.id)
     order by r.id
        on conflict (reseller_id) do nothing
  `.execute(tx)
}

/** Takes fares out of the schedule. A check that is claimed finds its claim gone. */
export async function unfollow(tx: Tx, fareIds: readonly number[]): Promise<void> {
  if (fareIds.length === 0) return
  await sql`delete from fare_schedule where tracked_fare_id = any(${fareIds}::bigint[])`.execute(tx)
}

/**
 * Locks the schedule of fares against the recording of checks, in the order of their ids. Every transaction takes its locks in
 * one order: tracked fares, schedule, beliefs, feeds, watches.
 */
export async function hold(tx: Tx, fareIds: readonly number[]): Promise<void> {
  await sql`
    select from fare_schedule
     where tracked_fare_id = any(${fareIds}::bigint[])
     order by tracked_fare_id
       for update
  `.execute(tx)
}
