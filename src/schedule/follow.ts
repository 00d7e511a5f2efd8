import { sql, type Tx } from '../platform/db/database.ts'
import { notify } from '../platform/db/listener.ts'
import { affected } from '../platform/db/transaction.ts'
import { MAX_FACTOR, MOVED_SECONDS, PULL_FACTOR } from './policy/factors.ts'
import { NEW_FARE, type RateModel, surpriseAt } from './policy/rate-model.ts'

interface FollowArgs {
  /** Fares of which some have active watches. Those that are not scheduled are added. */
  readonly fareIds: readonly number[]
  /** Those of them whose watches ask for something else than before. */
  readonly changed: readonly number[]
}

const DEFAULT_MIN_INTERVAL_SECONDS = 60

/**
 * The shortest interval of fare `f`. The default is for a fare whose watches set none, before a worker has said
 * what the configuration sets.
 */
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
 * Follows what the active watches of fares ask for. A fare is scheduled with its first active watch, at its
 * shortest interval from its last check, and joins the queue when the paces of its resellers are solved with it:
 * within a minute. A fare whose watches have changed keeps its rate until then. If its shortest interval is shorter
 * now, it ends sooner; a fare that is claimed gets its due time when the check is recorded.
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
 * Locks the schedule of fares against the recording of checks, in the order of their ids. Every transaction takes
 * its locks in one order: tracked fares, schedule, beliefs, feeds, watches.
 */
export async function hold(tx: Tx, fareIds: readonly number[]): Promise<void> {
  await sql`
    select from fare_schedule
     where tracked_fare_id = any(${fareIds}::bigint[])
     order by tracked_fare_id
       for update
  `.execute(tx)
}

/**
 * Has fares checked now, in the lane of confirmations: the first of those that are not due there already. A check that is
 * claimed already will do.
 */
export async function expedite(
  tx: Tx,
  fareIds: readonly number[],
  most = fareIds.length,
): Promise<number> {
  if (fareIds.length === 0) return 0
  await sql`select ${notify('due')}`.execute(tx)
  return affected(
    sql`
      update fare_schedule
         set lane = 'confirmation', lane_reseller = null, lane_due_at = clock_timestamp()
       where tracked_fare_id in (
             select tracked_fare_id
               from fare_schedule
              where tracked_fare_id = any(${fareIds}::bigint[]) and claim_id is null
              order by (lane = 'confirmation' and lane_due_at <= clock_timestamp()) is true,
                       array_position(${fareIds}::bigint[], tracked_fare_id)
              limit ${most}
                for update skip locked)
    `,
    tx,
  )
}

/** So many fares come forward at once. Each that answers brings the next ones. */
const FORWARD = 500

/**
 * Ends the pauses of fares that were not answered for one of these reasons, because another one is answered again: each
 * is due at some time in the interval that it had. Skips fares that another transaction has locked.
 */
export async function comeForward(tx: Tx, reasons: readonly string[]): Promise<void> {
  if (reasons.length === 0) return
  await sql`
    update fare_schedule q
       set not_before = clock_timestamp(), interval_seconds = ${INTERVAL},
           vdue = least(q.vdue, c.v + random() / q.rate)
      from (select s.tracked_fare_id
              from fare_state s
              join fare_schedule p using (tracked_fare_id)
             where s.hidden = 'unanswered' and s.last_reason = any(${reasons}::text[])
               and p.claim_id is null and p.not_before > clock_timestamp()
             limit ${FORWARD}
               for update of p skip locked) waiting
      join tracked_fare f on f.id = waiting.tracked_fare_id
     cross join fare_schedule_clock c
     where q.tracked_fare_id = waiting.tracked_fare_id
  `.execute(tx)
}

/** A fare whose new watch waits for a good check, and the reseller of that watch. */
export interface FirstCheck {
  readonly fareId: number
  readonly resellerId: number
}

/**
 * Puts fares, whose watches wait for a good check, into the lane of new watches. A check that is claimed already
 * will do; where the process that holds the claim has died, the fare is due in this lane at the end of the lease. A
 * loss that waits for its confirmation keeps the time between the two checks.
 */
export async function expediteFirstChecks(tx: Tx, checks: readonly FirstCheck[]): Promise<void> {
  if (checks.length === 0) return
  await sql`
    update fare_schedule s
       set lane = coalesce(s.lane, 'new_watch'),
           lane_reseller = case when s.lane is null then c.reseller_id else s.lane_reseller end,
           lane_due_at = greatest(clock_timestamp(), s.leased_until)
      from unnest(${checks.map(({ fareId }) => fareId)}::bigint[], ${checks.map(({ resellerId }) => resellerId)}::bigint[])
             c (fare_id, reseller_id)
     where s.tracked_fare_id = c.fare_id and s.lane is distinct from 'confirmation'
  `.execute(tx)
}

/** The credit of pulled fares grows to so many checks: a route that moves after a quiet time is followed at once. */
export const MOST_CREDIT = 500

/**
 * A route whose fares are due sooner: by how much more they change, those that have not changed lately and those
 * that have.
 */
interface MovingRoute {
  readonly route: string
  readonly still: number
  readonly moved: number
}

/** The routes, of those given, whose changes surprise enough to pull their fares forward. */
export function surprisingRoutes(
  model: RateModel,
  routes: ReadonlySet<string>,
  at: number,
): MovingRoute[] {
  const moving = [...routes].map((route) => ({
    route,
    still: surpriseAt(model, NEW_FARE, { at, route }),
    moved: surpriseAt(model, { ...NEW_FARE, changedAt: at }, { at, route }),
  }))
  return moving.filter(({ still, moved }) => Math.max(still, moved) > PULL_FACTOR)
}

/** A route that gained or lost its availability in the lists: its fares are due at once. */
export function listedRoute(route: string): MovingRoute {
  return { route, still: Number.POSITIVE_INFINITY, moved: Number.POSITIVE_INFINITY }
}

/**
 * Has the fares of these routes checked sooner, as if their last checks had seen the factor: at their rate times
 * its root. Those that are due first come first, as many as the credit of a fifth of all checks allows. Each is
 * pulled once until its next check. Two pulls at one moment may spend the same credit: then it is below zero, and
 * none is pulled until checks have earned it. A fare that another transaction holds is left: no lock order is safe
 * here.
 */
export async function pullRoutes(tx: Tx, routes: readonly MovingRoute[]): Promise<void> {
  if (routes.length === 0) return
  await sql`
    with pulled as materialized (
      select s.tracked_fare_id as id, f.factor, least(s.vdue - c.v, (1 - sqrt(s.surprise / f.factor)) / s.rate) as sooner, s.rate
        from unnest(${routes.map((r) => r.route)}::text[], ${routes.map((r) => r.still)}::float8[],
                    ${routes.map((r) => r.moved)}::float8[]) r (route, still, moved)
        join fare_schedule s on s.route = r.route
       cross join fare_schedule_clock c
       cross join lateral (
         select case when s.changed_at > clock_timestamp() - make_interval(secs => ${MOVED_SECONDS})
                     then r.moved else r.still end as factor) f
       where s.claim_id is null and s.vdue > c.v and s.vdue < 'infinity' and f.factor > s.surprise * ${PULL_FACTOR}::float8
       order by s.vdue
       limit (select greatest(0, floor(pull_credit))::int from fare_schedule_clock)
         for update of s skip locked
    ), due as (
      update fare_schedule s
         set vdue = s.vdue - p.sooner, surprise = least(p.factor, ${MAX_FACTOR}::float8)
        from pulled p
       where s.tracked_fare_id = p.id
    )
    update fare_schedule_clock
       set pull_credit = pull_credit - (select sum(least(1, sooner * rate)) from pulled)
     where exists (select from pulled)
  `.execute(tx)
}
