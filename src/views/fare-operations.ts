import { Type } from 'typebox'
import { AvailabilityChange } from '../feeds/operations/change-shapes.ts'
import { readChangesOfFare } from '../feeds/operator-feed-queries.ts'
import { BELIEFS, CHECK_REASONS, HIDDEN_REASONS, PAIR_STATES } from '../platform/base/kinds.ts'
import type { Db } from '../platform/db/database.ts'
import { operations } from '../platform/http/operation.ts'
import { ProblemError } from '../platform/http/problems.ts'
import { Instant, object, oneOf, orNull, RowId } from '../platform/http/schemas.ts'
import { readFarePace } from '../schedule/read-pace.ts'
import { findFare, findFaresOfFlight, readTimeline } from './fare-queries.ts'

const { operator } = operations<{ readonly db: Db }>()

const INTERVALS = 50
const CHANGES = 20
const MAX_FOUND = 100

const priced = {
  pair: oneOf(PAIR_STATES, { title: 'PairState' }),
  outbound: oneOf(BELIEFS, { title: 'LegBelief' }),
  return: orNull(oneOf(BELIEFS, { title: 'LegBelief' })),
  price: orNull(Type.String()),
  currency: orNull(Type.String()),
  priceCheckedAt: orNull(Instant),
  priceReason: orNull(Type.String(), 'Why the last answers did not show the price.'),
}
const identity = {
  fareId: RowId,
  flightId: Type.String(),
  returnFlightId: orNull(Type.String()),
  watchers: Type.Integer({ description: 'How many active watches it has.' }),
}

const Pace = object(
  {
    changesPerDay: Type.Number({ description: 'Estimated, at present.' }),
    factors: object({ lastChange: Type.Number(), route: Type.Number() }),
    eventValue: Type.Number(),
    checksPerSecond: orNull(
      Type.Number(),
      'The sum of what its resellers spend on it. Null until it joins the queue, within a minute.',
    ),
    resellers: Type.Array(
      object({
        reseller: Type.String(),
        weight: Type.Number({ description: 'Its watches, each times its priority.' }),
        score: orNull(Type.Number(), 'What a check is worth to it.'),
        checksPerSecond: orNull(Type.Number()),
      }),
      { description: 'What each reseller spends on it, the most first.' },
    ),
    expectedIntervalSeconds: orNull(Type.Number()),
    why: Type.String({ description: 'The same in words.' }),
  },
  { title: 'FarePace' },
)

const Fare = object(
  {
    ...identity,
    ...priced,
    hiddenReason: orNull(oneOf(HIDDEN_REASONS), 'Why it is shown as unknown although it is fresh.'),
    contradictedSince: orNull(Instant, 'When the first answer began that contradicts the belief.'),
    heldSince: orNull(Instant, 'Since when a mass holds the change.'),
    lastGoodCheckAt: orNull(Instant),
    lastCheckAt: orNull(Instant),
    lastCheckWhy: orNull(
      oneOf(CHECK_REASONS),
      'Why it was checked last. scheduled: in its turn. route_moved: in its turn, which was sooner because other fares of ' +
        'its route changed. ended: to see whether it has really ended. Null if that was not recorded.',
    ),
    lastReason: orNull(Type.String(), 'Why the last check was unknown. Null if it was good.'),
    expiredAt: orNull(Instant),
    endedAt: orNull(Instant),
    next: orNull(
      object({
        at: Instant,
        why: Type.String({ description: 'What decides the time, in words.' }),
      }),
      'The expected next check. Null if the fare is not checked any more.',
    ),
    pace: orNull(Pace, 'Why it is checked as often as it is. Null if it is not checked.'),
    timeline: Type.Array(object({ from: Instant, to: orNull(Instant), ...priced }), {
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
    schema: object({ items: Type.Array(object(identity)) }),
  },
  example: { query: { flightId: '101' } },
  handler: async ({ db }, { query: { flightId } }) => ({
    items: await findFaresOfFlight(db, flightId, MAX_FOUND),
  }),
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
        parameter: 'fareId',
        detail: `there is no tracked fare ${fareId}`,
      })
    }
    const pace = await readFarePace(db, { fareId, now: new Date() })
    const timeline = await readTimeline(db, fareId, INTERVALS)
    return { ...fare, pace, timeline, changes: await readChangesOfFare(db, fareId, CHANGES) }
  },
})

/** Tracked fares, for operators. */
export const FARE_OPERATIONS = [find, read]
