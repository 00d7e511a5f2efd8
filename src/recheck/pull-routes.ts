import { sql, type Tx } from '../db/database.ts'
import { NEW_FARE, type RateModel, surpriseAt } from './policy/rate-model.ts'
import { MOVED_SECONDS, PULL_FACTOR, PULL_SHARE } from './policy/route-surprise.ts'

/** What fares that are pulled forward may still cost, in checks. */
export interface PullCredit {
  checks: number
}

/** The credit grows to so many checks: a route that moves after a quiet time is followed at once. */
const MOST_CREDIT = 500

export function addCredit(credit: PullCredit, checks: number): void {
  credit.checks = Math.min(MOST_CREDIT, credit.checks + PULL_SHARE * checks)
}

/** A route whose changes surprise: its factor for fares that have not changed lately, and for those that have. */
interface MovingRoute {
  readonly route: string
  readonly still: number
  readonly moved: number
}

/** The routes, of those given, whose surprise pulls fares forward. */
export function movingRoutes(
  model: RateModel,
  routes: Iterable<string>,
  at: number,
): MovingRoute[] {
  const moving = [...new Set(routes)].map((route) => ({
    route,
    still: surpriseAt(model, NEW_FARE, { at, route }),
    moved: surpriseAt(model, { ...NEW_FARE, changedAt: at }, { at, route }),
  }))
  return moving.filter(({ still, moved }) => Math.max(still, moved) > PULL_FACTOR)
}

/**
 * Raises the tickets of the other fares of these routes, so that they are due sooner, and takes what that costs from the
 * credit. `except` are the fares that were just checked. The fares that are due first come first. A fare that another transaction holds is left: no lock order is safe
 * here.
 */
export async function pullRoutes(
  tx: Tx,
  { routes, except }: { routes: readonly MovingRoute[]; except: readonly number[] },
  credit: PullCredit,
): Promise<void> {
  const limit = Math.floor(credit.checks)
  if (routes.length === 0 || limit < 1) return
  const { rows } = await sql<{ cost: number }>`
    with p as materialized (
      select s.tracked_fare_id as id, f.factor
        from unnest(${routes.map((r) => r.route)}::text[], ${routes.map((r) => r.still)}::float8[],
                    ${routes.map((r) => r.moved)}::float8[]) r (route, still, moved)
        join fare_schedule s on s.route = r.route
       cross join lateral (
         select case when s.changed_at > clock_timestamp() - make_interval(secs => ${MOVED_SECONDS})
                     then r.moved else r.still end as factor) f
       where s.claim_id is null and s.tracked_fare_id <> all(${except}::bigint[])
         and s.rated_state = 'available' and f.factor / s.surprise > ${PULL_FACTOR}
       order by s.vdue
       limit ${limit}
         for update of s skip locked
    )
    update fare_schedule q
       set ticket = q.ticket * sqrt(p.factor / q.surprise),
           vdue = q.vdue + (sqrt(q.surprise / p.factor) - 1) / q.ticket,
           changes_per_day = q.changes_per_day * p.factor / q.surprise,
           surprise = p.factor
      from p
     where q.tracked_fare_id = p.id
    returning 1 - sqrt(old.surprise / new.surprise) as cost
  `.execute(tx)
  credit.checks -= rows.reduce((sum, { cost }) => sum + cost, 0)
}
