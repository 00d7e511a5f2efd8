import type { Money } from '../../base/money.ts'
import type { FlightSummary } from '../../upstream/observation.ts'
import {
  FareStateError,
  type Field,
  fieldOf,
  orNull,
  readCount,
  readInstant,
  readList,
  readMoney,
  readNumber,
  readOneOf,
  readText,
} from './json-shape.ts'

/** What we hold to be true of one leg, after confirmation. */
export type Belief = 'available' | 'unavailable' | 'unknown'

/** What is known of one leg. Times are ISO instants in UTC, of the beginnings of requests. */
export interface LegState {
  readonly belief: Belief
  /** Counted answers in a row that contradict the belief. */
  readonly against: number
  /** When the first of those was asked; null where there are none. */
  readonly againstSince: string | null
  /** The last good check that bore out all that is believed of the leg: the interval of a change begins there. */
  readonly agreedAt: string | null
  /** Null unless the leg is available, and where no price could be read since it is. */
  readonly price: Money | null
  /** Of the flight as last believed; these outlast its being unavailable. Null: it was never seen. */
  readonly identity: string | null
  readonly itinerary: string | null
  readonly flight: FlightSummary | null
  readonly strange: StrangeFlight | null
}

/** Another flight that answered under the leg's id, and waits for a second look. */
export interface StrangeFlight {
  readonly identity: string
  readonly itinerary: string
  readonly firstSeenAt: string
  /** The leg's `agreedAt` when it was first seen: the identity changed after. */
  readonly lastGoodCheckAt: string | null
}

export const UNSEEN_LEG: LegState = {
  belief: 'unknown',
  against: 0,
  againstSince: null,
  agreedAt: null,
  price: null,
  identity: null,
  itinerary: null,
  flight: null,
  strange: null,
}

const BELIEFS: readonly Belief[] = ['available', 'unavailable', 'unknown']

/** Reads a leg of a stored state. Throws FareStateError. */
export function readLeg(leg: Field): LegState {
  const against = readCount(fieldOf(leg, 'against'))
  const againstSince = orNull(fieldOf(leg, 'againstSince'), readInstant)
  if ((against === 0) !== (againstSince === null)) {
    throw new FareStateError(`${leg.where}.againstSince`, 'set exactly where answers are against')
  }
  return {
    belief: readOneOf(fieldOf(leg, 'belief'), BELIEFS),
    against,
    againstSince,
    agreedAt: orNull(fieldOf(leg, 'agreedAt'), readInstant),
    price: orNull(fieldOf(leg, 'price'), readMoney),
    identity: orNull(fieldOf(leg, 'identity'), readText),
    itinerary: orNull(fieldOf(leg, 'itinerary'), readText),
    flight: orNull(fieldOf(leg, 'flight'), readFlight),
    strange: orNull(fieldOf(leg, 'strange'), readStrange),
  }
}

function readStrange(strange: Field): StrangeFlight {
  return {
    identity: readText(fieldOf(strange, 'identity')),
    itinerary: readText(fieldOf(strange, 'itinerary')),
    firstSeenAt: readInstant(fieldOf(strange, 'firstSeenAt')),
    lastGoodCheckAt: orNull(fieldOf(strange, 'lastGoodCheckAt'), readInstant),
  }
}

function readFlight(flight: Field): FlightSummary {
  return {
    from: readText(fieldOf(flight, 'from')),
    to: readText(fieldOf(flight, 'to')),
    airline: readText(fieldOf(flight, 'airline')),
    numbers: readList(fieldOf(flight, 'numbers'), readNumber),
    departsAt: readText(fieldOf(flight, 'departsAt')),
    arrivesAt: readText(fieldOf(flight, 'arrivesAt')),
    stops: readList(fieldOf(flight, 'stops'), readText),
  }
}
