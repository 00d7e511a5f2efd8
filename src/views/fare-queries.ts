import type {
  Belief,
  CheckReason,
  HiddenReason,
  PairState,
  ShownPriceReason,
} from '../platform/base/kinds.ts'
import { type Db, sql } from '../platform/db/database.ts'
import { type ExpectedCheck, expectedCheck } from '../schedule/read-pace.ts'

/** What is believed of a tracked fare, and when it is checked next. */
export interface FareDetail {
  readonly fareId: number
  readonly flightId: string
  readonly returnFlightId: string | null
  readonly outbound: Belief
  readonly return: Belief | null
  readonly pair: PairState
  readonly price: string | null
  readonly currency: string | null
  /** When the last check began that showed the price; null unless the fare is bookable. */
  readonly priceCheckedAt: Date | null
  /** Why the price is unknown, or the last answers did not show it. */
  readonly priceReason: ShownPriceReason | null
  /** Why the belief is shown as unknown although it is fresh; null where it is shown. */
  readonly hiddenReason: HiddenReason | null
  readonly contradictedSince: Date | null
  readonly heldSince: Date | null
  readonly lastGoodCheckAt: Date | null
  readonly lastCheckAt: Date | null
  /** Why it was checked last; null if that was not recorded. */
  readonly lastCheckWhy: CheckReason | null
  readonly lastReason: string | null
  readonly expiredAt: Date | null
  readonly endedAt: Date | null
  readonly watchers: number
  /** Null if the fare is not checked any more. */
  readonly next: ExpectedCheck | null
}

/** A tracked fare by which a person chooses. */
export interface FoundFare {
  readonly fareId: number
  readonly flightId: string
  readonly returnFlightId: string | null
  readonly watchers: number
}

/** The tracked fares with an outbound flight, those that are watched first. */
export function findFaresOfFlight(db: Db, flightId: string, limit: number): Promise<FoundFare[]> {
  return db
    .selectFrom('tracked_fare')
    .select(['id as fareId', 'flight_id as flightId', 'return_flight_id as returnFlightId'])
    .select('watchers')
    .where('flight_id', '=', flightId)
    .orderBy(sql`watchers > 0`, 'desc')
    .orderBy('id')
    .limit(limit)
    .execute()
}

/** The public SQL decides how old a price may be. */
const CURRENT = sql<{
  tracked_fare_id: number
  outbound: Belief
  return: Belief | null
  state: PairState
  price: string | null
  currency: string | null
  price_checked_at: Date | null
  price_reason: ShownPriceReason | null
  hidden_reason: HiddenReason | null
  contradicted_since: Date | null
  held_since: Date | null
  last_good_check_at: Date | null
  last_check_at: Date | null
  last_reason: string | null
  expired_at: Date | null
}>`farewatch.fares_current`

/** Finds a tracked fare by its id. */
export async function findFare(db: Db, fareId: number): Promise<FareDetail | undefined> {
  const row = await db
    .selectFrom('tracked_fare as f')
    .leftJoin(CURRENT.as('s'), 's.tracked_fare_id', 'f.id')
    .leftJoin('fare_state as b', 'b.tracked_fare_id', 'f.id')
    .leftJoin('fare_schedule as q', 'q.tracked_fare_id', 'f.id')
    .crossJoin('fare_schedule_clock as c')
    .select(['f.id as fareId', 'f.flight_id as flightId', 'f.return_flight_id as returnFlightId'])
    .select(['s.outbound', 's.return', 's.state as pair', 's.price', 's.currency'])
    .select(['s.price_checked_at as priceCheckedAt', 's.price_reason as priceReason'])
    .select(['s.last_good_check_at as lastGoodCheckAt', 's.last_check_at as lastCheckAt'])
    .select(['s.hidden_reason as hiddenReason', 's.contradicted_since as contradictedSince'])
    .select('s.held_since as heldSince')
    .select('b.last_check_why as lastCheckWhy')
    .select(['s.last_reason as lastReason', 's.expired_at as expiredAt', 'f.ended_at as endedAt'])
    .select(['f.watchers', 'q.lane', 'q.lane_due_at as laneDueAt', 'q.not_before as notBefore'])
    .select('q.claim_id as claimId')
    .select([
      sql<number | null>`
        case when q.vdue < 'infinity' then greatest(0, q.vdue - c.v) / c.speed end
      `.as('dueSeconds'),
      sql<Date>`clock_timestamp()`.as('now'),
    ])
    .where('f.id', '=', fareId)
    .executeTakeFirst()
  if (row === undefined) return undefined
  const { lane, laneDueAt, notBefore, dueSeconds, claimId, now, ...detail } = row
  const schedule = { lane, laneDueAt, notBefore, dueSeconds, claimId, now }
  const { outbound, pair } = row
  const belief = { outbound: outbound ?? 'unknown', pair: pair ?? 'unknown' } as const
  return { ...detail, ...belief, next: expectedCheck(schedule) }
}

/** A time during which the belief did not change. */
export interface BeliefInterval {
  readonly from: Date
  /** Null while it holds. */
  readonly to: Date | null
  readonly pair: PairState
  readonly outbound: Belief
  readonly return: Belief | null
  readonly price: string | null
  readonly currency: string | null
  readonly priceCheckedAt: Date | null
  readonly priceReason: string | null
}

/** Reads the history of a fare's belief, newest first. */
export async function readTimeline(
  db: Db,
  fareId: number,
  limit: number,
): Promise<BeliefInterval[]> {
  const { rows } = await sql<BeliefInterval>`
    select valid_from as from, valid_to as to, state as pair, outbound, return, price, currency,
           price_checked_at as "priceCheckedAt", price_reason as "priceReason"
      from farewatch.fare_history
     where tracked_fare_id = ${fareId}
     order by valid_from desc
     limit ${limit}
  `.execute(db)
  return rows
}

/** Counts the watched fares whose last answers showed a departure that was past at first sight. */
export async function countPastDepartures(db: Db): Promise<number> {
  const { count } = await db
    .selectFrom('fare_state')
    .innerJoin('fare_schedule', 'fare_schedule.tracked_fare_id', 'fare_state.tracked_fare_id')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('past_since', 'is not', null)
    .where('expired_at', 'is', null)
    .executeTakeFirstOrThrow()
  return count
}
