import { type Static, Type } from 'typebox'
import { AvailabilityChange, Price } from '../feeds/change-shapes.ts'
import { readChangesOfFare } from '../feeds/operator-feed-queries.ts'
import {
  BELIEF_STATES,
  BELIEFS,
  CHECK_REASONS,
  FARE_STATES,
  HIDDEN_REASONS,
} from '../platform/base/kinds.ts'
import { type PricedRow, withPrice } from '../platform/base/money.ts'
import { type Db, sql } from '../platform/db/database.ts'
import { operations } from '../platform/http/operation.ts'
import { onlyPage, pageOf } from '../platform/http/pages.ts'
import { ProblemError } from '../platform/http/problems.ts'
import { Instant, object, oneOf, orNull, RowId } from '../platform/http/schemas.ts'
import { QUEUES } from '../schedule/queues.ts'
import {
  ExpectedCheckShape,
  expectedCheck,
  FareTurnsShape,
  readFareTurns,
  type ScheduleRow,
} from '../schedule/turn-shapes.ts'

const { operator } = operations<{ readonly db: Db }>()

const INTERVALS = 50
const CHANGES = 20
const MAX_FOUND = 100

const priced = {
  state: oneOf(BELIEF_STATES, { title: 'BeliefState' }),
  outbound: oneOf(BELIEFS, { title: 'LegBelief' }),
  return: orNull(oneOf(BELIEFS, { title: 'LegBelief' })),
  price: orNull(Price),
  priceCheckedAt: orNull(Instant),
  priceReason: orNull(Type.String(), 'Why the last answers did not show the price.'),
}
const identity = {
  fareId: RowId,
  flightId: Type.String(),
  returnFlightId: orNull(Type.String()),
  watchers: Type.Integer({ description: 'How many active watches it has.' }),
}

const Interval = object({ validFrom: Instant, validTo: orNull(Instant), ...priced })

const Fare = object(
  {
    ...identity,
    ...priced,
    state: oneOf(FARE_STATES, { title: 'FareState' }),
    hiddenReason: orNull(
      oneOf(HIDDEN_REASONS),
      'Why it is shown as unknown although it is fresh. unanswered: `lastReason` says why its last answers were unusable.',
    ),
    contradictedSince: orNull(Instant, 'When the first answer began that contradicts the belief.'),
    heldSince: orNull(Instant, 'Since when a mass holds the change.'),
    lastGoodCheckAt: orNull(Instant),
    lastCheckAt: orNull(Instant),
    lastCheckWhy: orNull(
      oneOf(CHECK_REASONS),
      'Why it was checked last. scheduled: in its turn. route_moved: in its turn, which was sooner because other fares of ' +
        'its route changed. Null if that was not recorded.',
    ),
    lastReason: orNull(Type.String(), 'Why the last check was unknown. Null if it was good.'),
    expiredAt: orNull(Instant),
    endedAt: orNull(Instant),
    next: orNull(
      ExpectedCheckShape,
      'The expected next check. Null if the fare is not checked any more.',
    ),
    turns: orNull(FareTurnsShape, 'When and why it is checked. Null if it is not checked.'),
    timeline: Type.Array(Interval, {
      description: `The last ${INTERVALS} intervals of belief, newest first.`,
    }),
    changes: Type.Array(AvailabilityChange, {
      description: `The last ${CHANGES} changes, newest first.`,
    }),
  },
  { title: 'Fare' },
)

const find = operator({
  id: 'findFares',
  method: 'GET',
  path: '/api/v1/fares',
  tag: 'Operators',
  summary: 'Find the tracked fares of an outbound flight',
  scope: 'operate',
  query: object({
    flightId: Type.String({
      minLength: 1,
      maxLength: 256,
      description: 'The id of the outbound flight.',
    }),
  }),
  answer: {
    about: `The fares, at most ${MAX_FOUND}.`,
    schema: pageOf(object(identity, { title: 'FoundFare' })),
  },
  example: { query: { flightId: '101' } },
  handler: async ({ db }, { query: { flightId } }) =>
    onlyPage(await findFaresOfFlight(db, flightId, MAX_FOUND)),
})

const read = operator({
  id: 'readFare',
  method: 'GET',
  path: '/api/v1/fares/{fareId}',
  tag: 'Operators',
  summary: 'Read what is believed of a tracked fare, its history, its changes and its next check',
  scope: 'operate',
  params: object({ fareId: RowId }),
  answer: { about: 'The fare.', schema: Fare },
  problems: ['not_found'],
  example: { params: { fareId: '1' } },
  handler: async ({ db }, { params: { fareId } }) => {
    const fare = await findFare(db, fareId)
    if (fare === undefined) {
      throw new ProblemError('not_found', {
        missing: 'fare',
        parameter: 'fareId',
        detail: `there is no tracked fare ${fareId}`,
      })
    }
    const turns = await readFareTurns(db, { fareId, now: new Date() })
    const timeline = await readTimeline(db, fareId, INTERVALS)
    return { ...fare, turns, timeline, changes: await readChangesOfFare(db, fareId, CHANGES) }
  },
})

/** Tracked fares, for operators. */
export const FARE_OPERATIONS = [find, read]

/** The tracked fares with an outbound flight, those that are watched first. */
function findFaresOfFlight(db: Db, flightId: string, limit: number) {
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

/** What is believed of a tracked fare, and when it is checked next. */
export type FareDetail = Omit<Static<typeof Fare>, 'turns' | 'timeline' | 'changes'>

/** Finds a tracked fare by its id. The public SQL decides how old a price may be. */
export async function findFare(db: Db, fareId: number): Promise<FareDetail | undefined> {
  const { rows } = await sql<PricedRow<Omit<FareDetail, 'next'>> & ScheduleRow>`
    select f.id as "fareId", f.flight_id as "flightId", f.return_flight_id as "returnFlightId", f.watchers,
           coalesce(s.outbound, 'unknown') as outbound, s.return_leg as return, coalesce(s.state, 'unknown') as state, s.price, s.currency,
           s.price_checked_at as "priceCheckedAt", s.price_reason as "priceReason", s.hidden_reason as "hiddenReason",
           s.contradicted_since as "contradictedSince", s.held_since as "heldSince",
           s.last_good_check_at as "lastGoodCheckAt", s.last_check_at as "lastCheckAt",
           b.last_check_why as "lastCheckWhy", s.last_reason as "lastReason",
           s.expired_at as "expiredAt", f.ended_at as "endedAt",
           q.lane, q.lane_due_at as "laneDueAt", q.not_before as "notBefore", q.claim_id as "claimId",
           (select min(greatest(0, t.vdue - p.v) / nullif(p.speed, 0))
              from turn t
              join (${QUEUES}) p using (reseller_id)
             where t.tracked_fare_id = f.id) as "dueSeconds",
           clock_timestamp() as now
      from tracked_fare f
      left join farewatch.fares_current s on s.fare_id = f.id
      left join fare_state b on b.tracked_fare_id = f.id
      left join fare_schedule q on q.tracked_fare_id = f.id
     where f.id = ${fareId}
  `.execute(db)
  const [row] = rows
  if (row === undefined) return undefined
  const { lane, laneDueAt, notBefore, dueSeconds, claimId, now, ...detail } = row
  return {
    ...withPrice(detail),
    next: expectedCheck({ lane, laneDueAt, notBefore, dueSeconds, claimId, now }),
  }
}

/** Reads the history of a fare's belief, newest first. */
export async function readTimeline(db: Db, fareId: number, limit: number) {
  const { rows } = await sql<PricedRow<Static<typeof Interval>>>`
    select valid_from as "validFrom", valid_to as "validTo", state, outbound, return_leg as return, price, currency,
           price_checked_at as "priceCheckedAt", price_reason as "priceReason"
      from farewatch.fare_history
     where fare_id = ${fareId}
     order by valid_from desc
     limit ${limit}
  `.execute(db)
  return rows.map(withPrice)
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
