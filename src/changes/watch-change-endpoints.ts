import type { FastifyReply } from 'fastify'
import { Type } from 'typebox'
import { BELIEFS, PAIR_STATES, WATCH_CHANGE_KINDS, type WatchChangeKind } from '../base/kinds.ts'
import type { Db } from '../db/database.ts'
import { operations } from '../http/operation.ts'
import { ProblemError } from '../http/problems.ts'
import { Instant, instant, MAX_WHOLE_NUMBER, object, oneOf, orNull } from '../http/schemas.ts'
import type { FeedWatch } from './feed-watch.ts'
import { awaitFeedPage } from './watch-feed-page.ts'

/** What the feeds of resellers are followed with. */
export interface WatchChangeDeps {
  readonly db: Db
  readonly feedWatch: FeedWatch
}

const { reseller } = operations<WatchChangeDeps>()

const MAX_WAIT_SECONDS = 30

const Money = object({
  amount: Type.String({ description: 'Decimal text: `123.40`.' }),
  currency: Type.String(),
})

const Flight = object({
  from: Type.String(),
  to: Type.String(),
  airline: Type.String(),
  numbers: Type.Array(Type.Integer()),
  departsAt: Type.String({ description: 'Local time at the place, `YYYY-MM-DD HH:MM`.' }),
  arrivesAt: Type.String({ description: 'Local time at the place, `YYYY-MM-DD HH:MM`.' }),
  stops: Type.Array(Type.String()),
})

const Leg = object({
  belief: oneOf(BELIEFS),
  price: orNull(Money, 'Null unless the pair is bookable.'),
  identity: orNull(
    Type.String(),
    'Airline, legs, places and date as text: another flight has another one. Null, like the two after it, ' +
      'of a leg that is unavailable or was never seen: `before` of a loss says which flight it was.',
  ),
  itinerary: orNull(Type.String(), 'Times, flight numbers and stops as text.'),
  flight: orNull(Flight),
})

/** What is believed of a fare; before and after a change, and now. */
export const FareShape = object({
  pair: oneOf(PAIR_STATES, {
    description: 'bookable: all legs are available. not_bookable: one is not. unknown: else.',
  }),
  outbound: Leg,
  return: orNull(Leg),
  price: orNull(
    Money,
    'Sum of the legs for all passengers; null unless bookable, in one currency.',
  ),
})

const Kind = oneOf(WATCH_CHANGE_KINDS)

const Change = object({
  seq: Type.Integer({ description: 'Of your feed: dense, in the order of the records.' }),
  previous: Type.Integer({
    description:
      'The last `seq` before it that passes the same filters; 0 where none of the 20,000 before it does.',
  }),
  kind: Type.Unsafe<WatchChangeKind>({
    ...Kind,
    description:
      'watch_started: the watch begins (it was added or resumed, or its question changed), and `after` is where ' +
      'its fare stands; written at once where that is known, else after the first check that shows every leg. ' +
      'Each of the others is a change of the fare, but expired may also be the end of the watch alone.',
  }),
  schemaVersion: Type.Integer({
    description: 'Of this record. 2 since there is watch_started; records from before have 1.',
  }),
  list: orNull(Type.String(), 'By its present name; null once the watch is deleted.'),
  reference: Type.String(),
  watchId: Type.String(),
  flightId: Type.String(),
  returnFlightId: orNull(Type.String()),
  before: Type.Unsafe<unknown>(orNull(FareShape, 'Null of watch_started alone.')),
  after: Type.Unsafe<unknown>(FareShape),
  lastGoodCheckAt: orNull(Instant, 'It happened after this; null: nothing was known before.'),
  detectedAt: instant('It happened by then.'),
  observedAt: Type.Optional(
    instant('Of watch_started alone: when the last good check began that shows `after`.'),
  ),
  recordedAt: Instant,
})

const Query = object({
  after: Type.Integer({
    minimum: 0,
    maximum: MAX_WHOLE_NUMBER,
    default: 0,
    description: '`seq` of the page before, or of a list’s state; 0 begins at the beginning.',
  }),
  limit: Type.Integer({ minimum: 1, maximum: 1000, default: 100 }),
  wait: Type.Integer({
    minimum: 0,
    maximum: MAX_WAIT_SECONDS,
    default: 0,
    description: 'Where there is no record yet: seconds to wait for one.',
  }),
  kinds: Type.Optional(Type.Array(Kind, { minItems: 1, maxItems: WATCH_CHANGE_KINDS.length })),
  list: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 200,
      description: 'Only the watches that this list has now.',
    }),
  ),
  reference: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
  flightId: Type.Optional(
    Type.String({ minLength: 1, maxLength: 200, description: 'Outbound or return.' }),
  ),
})

const listChanges = reseller({
  id: 'listWatchChanges',
  method: 'GET',
  path: '/api/v1/watch-changes',
  tag: 'Changes',
  summary: 'What changed for your watches, in order',
  description:
    'Pass `seq` of the answer as `after` of the next request. Nothing ever appears later under a smaller number.',
  scope: 'read',
  query: Query,
  answer: {
    about: 'The records after a number, the oldest first.',
    schema: object({
      items: Type.Array(Change),
      seq: Type.Integer({ description: 'Up to here was looked at: the next `after`.' }),
      head: Type.Integer({ description: 'The last number of your feed: beyond `seq`, ask on.' }),
    }),
  },
  problems: ['changes.beyond_head'],
  example: { query: { after: '0', limit: '1' } },
  handler: async ({ db, resellerId, feedWatch }, { query, reauthorize, reply }) => {
    const { after, limit, wait, ...filter } = query
    const waiting = { feedWatch, waitMs: wait * 1000, signal: leftSignal(reply), reauthorize }
    const page = await awaitFeedPage(db, { resellerId, after, limit, filter }, waiting)
    if (after <= page.head) return page
    throw new ProblemError('changes.beyond_head', {
      parameter: 'after',
      detail: `after is beyond the last number of your feed, ${page.head}`,
    })
  },
})

/** Aborts when the client has left. */
function leftSignal({ raw }: FastifyReply): AbortSignal {
  const left = new AbortController()
  raw.once('close', () => left.abort())
  return left.signal
}

/** The feed of a reseller's watches. */
export const WATCH_CHANGE_OPERATIONS = [listChanges]
