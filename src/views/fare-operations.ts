import { type Static, Type } from 'typebox'
import { AvailabilityChange, Leg, Price } from '../feeds/change-shapes.ts'
import { readChangesOfFare } from '../feeds/operator-feed-queries.ts'
import { publicLeg, type StoredLeg } from '../feeds/public-fare.ts'
import { CHECK_REASONS, FARE_STATES, HIDDEN_REASONS } from '../platform/base/kinds.ts'
import { type PricedRow, withPrice } from '../platform/base/money.ts'
import { type Db, type RawBuilder, sql } from '../platform/db/database.ts'
import { operations } from '../platform/http/operation.ts'
import { cursorsOf, type PagePosition, pageOf, pageParameters } from '../platform/http/pages.ts'
import { ProblemError } from '../platform/http/problems.ts'
import { Instant, object, oneOf, orNull, RowId } from '../platform/http/schemas.ts'
import { DUE_SECONDS, QUEUES } from '../schedule/queues.ts'
import {
  ExpectedCheckShape,
  expectedCheck,
  FareTurnsShape,
  readFareTurns,
  type ScheduleRow,
} from '../schedule/turn-shapes.ts'
import type { Question } from '../upstream/question.ts'
import { QUESTION_MEMBERS } from '../upstream/question-shapes.ts'
import { QUESTION, QUESTION_SELECTION } from '../upstream/question-sql.ts'
import { INTERVAL_COLUMNS, Interval } from './watch-history-operations.ts'

const { operator } = operations<{ readonly db: Db }>()

const INTERVALS = 50
const CHANGES = 20

const identity = {
  fareId: RowId,
  ...QUESTION_MEMBERS,
  watchers: Type.Integer({ description: 'How many active watches it has.' }),
}
const FoundFare = object(identity, { title: 'FoundFare' })

const Fare = object(
  {
    ...identity,
    state: oneOf(FARE_STATES, { title: 'FareState' }),
    outbound: Leg,
    return: orNull(Leg),
    price: orNull(Price),
    priceCheckedAt: orNull(Instant),
    priceReason: orNull(Type.String(), 'Why the last answers did not show the price.'),
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

/** Fares that are watched are first. */
const Position = object({ isWatched: Type.Boolean(), fareId: RowId })
const cursors = cursorsOf('fares', Position, ({ watchers, fareId }: Static<typeof FoundFare>) => {
  return { isWatched: watchers > 0, fareId }
})

const find = operator({
  id: 'listFares',
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
    ...pageParameters({ preset: 100, max: 1000 }),
  }),
  answer: { about: 'A page of fares, those that are watched first.', schema: pageOf(FoundFare) },
  problems: ['request.invalid_cursor'],
  example: { query: { flightId: '101' } },
  handler: ({ db }, { query: { flightId, ...query } }) =>
    cursors.page(query, (page) => findFaresOfFlight(db, flightId, page), flightId),
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
function findFaresOfFlight(
  db: Db,
  flightId: string,
  { after, limit }: PagePosition<Static<typeof Position>>,
) {
  const found = db
    .selectFrom('tracked_fare as f')
    .select(['f.id as fareId', 'f.watchers', ...QUESTION_SELECTION])
    .where('f.flight_id', '=', flightId)
    .orderBy(sql`f.watchers > 0`, 'desc')
    .orderBy('f.id')
    .limit(limit)
  if (after === undefined) return found.execute()
  const { isWatched, fareId } = after
  return found.where(sql<boolean>`(f.watchers = 0, f.id) > (${!isWatched}, ${fareId})`).execute()
}

/** What is believed of a tracked fare, and when it is checked next. */
export type FareDetail = Omit<Static<typeof Fare>, 'turns' | 'timeline' | 'changes'>

/** Finds a tracked fare by its id. The public SQL decides how old a price may be. */
export async function findFare(db: Db, fareId: number): Promise<FareDetail | undefined> {
  const { rows } = await sql<FareRow & ScheduleRow>`
    select f.id as "fareId", ${QUESTION} as question, f.watchers,
           ${storedLeg('outbound', sql`s.outbound`)} as outbound,
           case when f.return_flight_id is not null then ${storedLeg('return', sql`s.return_leg`)} end as return,
           coalesce(s.state, 'unknown') as state, s.price, s.currency,
           s.price_checked_at as "priceCheckedAt", s.price_reason as "priceReason", s.hidden_reason as "hiddenReason",
           s.contradicted_since as "contradictedSince", s.held_since as "heldSince",
           s.last_good_check_at as "lastGoodCheckAt", s.last_check_at as "lastCheckAt",
           b.last_check_why as "lastCheckWhy", s.last_reason as "lastReason",
           s.expired_at as "expiredAt", f.ended_at as "endedAt",
           q.lane, q.lane_due_at as "laneDueAt", q.not_before as "notBefore", q.claim_id as "claimId",
           (select min(${DUE_SECONDS})
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
  const { lane, laneDueAt, notBefore, dueSeconds, claimId, now, question, ...detail } = row
  return {
    ...withPrice(detail),
    ...question,
    outbound: publicLeg(detail.outbound),
    return: detail.return && publicLeg(detail.return),
    next: expectedCheck({ lane, laneDueAt, notBefore, dueSeconds, claimId, now }),
  }
}

type FareRow = PricedRow<Omit<FareDetail, 'next' | 'outbound' | 'return' | keyof Question>> & {
  readonly question: Question
  readonly outbound: StoredLeg
  readonly return: StoredLeg | null
}

/** A leg of state `b`: what public SQL shows of its belief and price, and its flight as it was known last. */
function storedLeg(leg: 'outbound' | 'return', belief: RawBuilder<unknown>) {
  const of = (part: string) => sql`b.state #> ${sql.lit(part)}`
  return sql`
    jsonb_build_object(
      'belief', coalesce(${belief}, 'unknown'),
      'price', case when ${sql.ref(`s.${leg}_price`)} is not null then ${of(`{belief,${leg},price}`)} end,
      'flight', coalesce(nullif(${of(`{belief,${leg},flight}`)}, 'null'), ${of(`{lastFlights,${leg}}`)}))
  `
}

/** Reads the history of a fare's belief, newest first. */
export async function readTimeline(db: Db, fareId: number, limit: number) {
  const { rows } = await sql<PricedRow<Static<typeof Interval>>>`
    select valid_from as "validFrom", valid_to as "validTo", ${INTERVAL_COLUMNS}
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
