import { sql, type Tx } from '../platform/db/database.ts'
import { MAX_FACTOR } from './policy/factor-table.ts'
import { NEW_FARE, type RateModel, surpriseAt } from './policy/rate-model.ts'
import { MOVED_SECONDS, PULL_FACTOR } from './policy/route-surprise.ts'

/** Has fares checked now, in the lane of confirmations. A check that is claimed already will do. */
export async function expedite(tx: Tx, fareIds: readonly number[]): Promise<number> {
  if (fareIds.length === 0) return 0
  const { numAffectedRows } = await sql`
    update fare_schedule
       set lane = 'confirmation', lane_reseller = null, lane_due_at = clock_timestamp()
     where tracked_fare_id in (select tracked_fare_id
                                 from fare_schedule
                                where tracked_fare_id = any(${fareIds}::bigint[]) and claim_id is null
                                  for update skip locked)
  `.execute(tx)
  return Number(numAffectedRows ?? 0)
}

/** A fare whose new watch waits for a good check, and the reseller of that watch. */
export interface FirstCheck {
  readonly fareId: number
  readonly resellerId: number
}

/**
 * Puts fares, whose watches wait for a good check, into the lane of new watches. A check that is claimed already will do;
 * where the process that holds the claim has died, the fare is due in this lane at the end of the lease. A loss that waits
 * for its confirmation keeps the time between the two checks.
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

/** Has ended fares asked once more, one check each, in the lane of retries. */
export async function expediteEnded(tx: Tx, fareIds: readonly number[]): Promise<void> {
  if (fareIds.length === 0) return
  await sql`
    insert into fare_schedule (tracked_fare_id, lane, lane_due_at)
    select id, 'retry', clock_timestamp() from unnest(${fareIds}::bigint[]) id
        on conflict (tracked_fare_id) do nothing
  `.execute(tx)
}

/** The credit of pulled fares grows to so many checks: a route that moves after a quiet time is followed at once. */
export const MOST_CREDIT = 500

/** A route whose fares are due sooner: by how much more they change, those that have not changed lately and those that have. */
export interface MovingRoute {
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
 * Has the fares of these routes checked sooner, as if their last checks had seen the factor: at their rate times its root.
 * Those that are due first come first, as many as the credit of a fifth of all checks allows. Each is pulled once until its
 * next check. Two pulls at one moment may spend the same credit: then it is below zero, and none is pulled until checks have
 * earned it. A fare that another transaction holds is left: no lock order is safe here.
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
