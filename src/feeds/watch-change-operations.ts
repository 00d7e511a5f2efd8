import type { FastifyReply } from 'fastify'
import { Type } from 'typebox'
import {
  BELIEFS,
  CHANGE_REASONS,
  PAIR_STATES,
  SHOWN_PRICE_REASONS,
  WATCH_CHANGE_KINDS,
} from '../platform/base/kinds.ts'
import type { Db } from '../platform/db/database.ts'
import { operations } from '../platform/http/operation.ts'
import {
  Instant,
  instant,
  MAX_WHOLE_NUMBER,
  object,
  oneOf,
  orNull,
} from '../platform/http/schemas.ts'
import type { FeedHeads } from './feed-heads.ts'
import { awaitFeedPage } from './watch-feed-page.ts'

export interface WatchChangeDeps {
  readonly db: Db
  readonly feedHeads: FeedHeads
}

const { reseller } = operations<WatchChangeDeps>()

const MAX_WAIT_SECONDS = 30
const LocalTime = Type.String({ description: 'Local time at the place, `YYYY-MM-DD HH:MM`.' })

const Price = object(
  { amount: Type.String({ description: 'Decimal text: `123.40`.' }), currency: Type.String() },
  { title: 'Price' },
)

const Flight = object(
  {
    from: Type.String(),
    to: Type.String(),
    airline: Type.String(),
    numbers: Type.Array(Type.Integer()),
    departsAt: LocalTime,
    arrivesAt: LocalTime,
    stops: Type.Array(Type.String()),
  },
  { title: 'Flight' },
)

const Leg = object(
  {
    belief: oneOf(BELIEFS, { title: 'LegBelief' }),
    price: orNull(Price, 'Null unless the pair is bookable.'),
    identity: orNull(
      Type.String(),
      'Airline, legs, places and date as text. Another flight has another identity. `identity`, `itinerary` and ' +
        '`flight` are null if the leg is not available. The `before` of a loss names the flight.',
    ),
    itinerary: orNull(Type.String(), 'Times, flight numbers and stops as text.'),
    flight: orNull(Flight),
  },
  { title: 'Leg' },
)

/** The belief of a fare: now, and before and after a change. */
export const Belief = object(
  {
    pair: oneOf(PAIR_STATES, {
      title: 'PairState',
      description:
        'bookable: all legs are available. not_bookable: a leg is unavailable. unknown: otherwise.',
    }),
    outbound: Leg,
    return: orNull(Leg),
    price: orNull(
      Price,
      'The sum of the legs for all passengers. Null unless the pair is bookable and all legs have one currency.',
    ),
    priceReason: Type.Optional(
      oneOf(SHOWN_PRICE_REASONS, {
        title: 'PriceReason',
        description:
          'Why a bookable fare has no price; missing otherwise, and in records of older versions. unconfirmed: the answer ' +
          'shows a price that is doubtful for itself, or prices of many fares change at once; it follows as price_changed.',
      }),
    ),
  },
  { title: 'Belief' },
)

const Kind = oneOf(WATCH_CHANGE_KINDS, { title: 'WatchChangeKind' })

const WatchChange = object(
  {
    seq: Type.Integer({
      description: 'The number of the record in your feed. Numbers have no gaps.',
    }),
    previous: Type.Integer({
      description:
        'The previous `seq` that passes the same filters; 0 if none of the 20,000 records before it does, or if it is archived.',
    }),
    kind: oneOf(WATCH_CHANGE_KINDS, {
      title: 'WatchChangeKind',
      description:
        'watch_started: the watch was added or resumed, or its question changed; `after` is the belief of its fare. ' +
        'The record is written at once if the belief is fresh, else after the first good check. ' +
        'expired: the fare or only the watch has ended. The other kinds are changes of the fare.',
    }),
    reason: orNull(
      oneOf(CHANGE_REASONS, { title: 'ChangeReason' }),
      'Of became_unavailable: sold_out, sales_closed (confirmed less than 3 hours before departure), or unknown (within a ' +
        'day of a departure in an unknown time zone). Of expired: departed, departs_on_passed, or never_available. Null for ' +
        'other kinds and before version 3.',
    ),
    schemaVersion: Type.Integer({
      description: 'The version of the record. Version 2 added watch_started, version 3 `reason`.',
    }),
    list: orNull(
      Type.String(),
      'The present name of the list. Of a deleted watch, the name when the record was written; null in older records.',
    ),
    reference: Type.String(),
    watchId: Type.String(),
    flightId: Type.String(),
    returnFlightId: orNull(Type.String()),
    before: Type.Unsafe<unknown>(orNull(Belief, 'Null for watch_started only.')),
    after: Type.Unsafe<unknown>(Belief),
    lastGoodCheckAt: orNull(
      Instant,
      'The change happened after this instant. Null if nothing was known before.',
    ),
    detectedAt: instant('The change happened by this instant.'),
    observedAt: Type.Optional(
      instant('For watch_started only: when the good check began that shows `after`.'),
    ),
    recordedAt: Instant,
  },
  { title: 'WatchChange' },
)

const name = (description: string) =>
  Type.Optional(Type.String({ minLength: 1, maxLength: 200, description }))

/** The parameters that filter a reseller's feed. */
export const FILTERS = {
  kinds: Type.Optional(
    Type.Array(Kind, {
      minItems: 1,
      maxItems: WATCH_CHANGE_KINDS.length,
      description: 'Only changes of these kinds.',
    }),
  ),
  list: name('Only changes of watches of this list.'),
  reference: name('Only changes of the watches with this reference.'),
  flightId: name('Only changes of watches with this outbound or return flight.'),
}

/** The parameter `after` of every feed. */
export const AfterParameter = Type.Optional(
  Type.Integer({
    minimum: 0,
    maximum: MAX_WHOLE_NUMBER,
    description:
      'The number after which the page begins: `seq` of the previous page or of a list’s state. Default: before the first record that the feed still has.',
  }),
)

/** The member `first` of every page of a feed. */
export const FirstNumber = Type.Integer({
  description:
    'The first number that the feed still has: 1 unless old records are archived. A smaller `after` than the one before it is the problem `changes.archived`.',
})

const Query = object({
  after: AfterParameter,
  limit: Type.Integer({
    minimum: 1,
    maximum: 1000,
    default: 100,
    description: 'The maximum number of items on the page.',
  }),
  wait: Type.Integer({
    minimum: 0,
    maximum: MAX_WAIT_SECONDS,
    default: 0,
    description: 'How many seconds the response waits for a record if there is none yet.',
  }),
  ...FILTERS,
})

const listChanges = reseller({
  id: 'listWatchChanges',
  method: 'GET',
  path: '/api/v1/watch-changes',
  tag: 'Changes',
  summary: 'List the changes of your watches, oldest first',
  description:
    'Pass the `seq` of the response as `after` of the next request. No record ever appears later with a smaller number.',
  scope: 'read',
  query: Query,
  answer: {
    about: 'The records after a number, oldest first.',
    schema: object(
      {
        items: Type.Array(WatchChange),
        seq: Type.Integer({
          description: 'The `after` of the next request. All records up to it were read.',
        }),
        first: FirstNumber,
        head: Type.Integer({
          description:
            'The number of the last record of your feed. If it is above `seq`, there are more records.',
        }),
      },
      { title: 'WatchChangePage' },
    ),
  },
  problems: ['changes.beyond_head', 'changes.archived'],
  example: { query: { after: '0', limit: '1' } },
  handler: async ({ db, resellerId, feedHeads }, { query, reply, ...request }) => {
    const { after, limit, wait, ...filter } = query
    const waiting = {
      feedHeads,
      waitMs: wait * 1000,
      signal: disconnectSignal(reply),
      reauthorize: request.reauthorize,
      whileWaiting: request.whileWaiting,
    }
    return awaitFeedPage(db, { resellerId, after, limit, filter }, waiting)
  },
})

/** Aborts when the client disconnects. */
function disconnectSignal({ raw }: FastifyReply): AbortSignal {
  const disconnected = new AbortController()
  raw.once('close', () => disconnected.abort())
  return disconnected.signal
}

/** The feed of a reseller's watches. */
export const WATCH_CHANGE_OPERATIONS = [listChanges]
