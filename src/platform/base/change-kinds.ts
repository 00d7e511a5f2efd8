import { type Money, sameMoney } from './money.ts'

/*
 * Every kind of change, each as one record. The types, the lists of names, the API schemas, what a check decides, the
 * masses, the values of the schedule, the sentences, the examples and the texts of the page follow from it. A new kind also
 * needs a migration of the check constraints that list names, and its cases in test/fares/cases.md.
 */

/** Why a fare was lost, as a part of a sentence and in full. Sales close some hours before a departure. */
export const LOSSES = {
  sold_out: { label: 'sold out', about: 'It was lost 3 hours or more before departure.' },
  sales_closed: {
    label: 'sales closed',
    about: 'It was lost less than 3 hours before departure, when airlines close sales.',
  },
  unknown: {
    label: 'no longer available',
    about:
      'The time zone of the departure airport is unknown and the departure is within a day, so the flight may have ' +
      'departed; or an operator has undone a false gain.',
  },
} as const

/** Why a fare or a watch ended. */
export const ENDS = {
  departed: { label: 'departed', about: 'The first flight of the fare has departed.' },
  departs_on_passed: {
    label: 'no longer watched, its departure date has passed',
    about: 'Your `departsOn` has passed.',
  },
  never_available: {
    label: 'no longer watched, not available in 30 days',
    about: 'The fare was never available in 30 days.',
  },
} as const

export const REASONS = { ...LOSSES, ...ENDS } as const
type Reason = keyof typeof REASONS

/** The names of a table, in its order. */
export function namesOf<T extends object>(table: T): readonly (keyof T & string)[] {
  return Object.keys(table) as (keyof T & string)[]
}

/** Who sells a flight, as far as two sites are compared. */
interface ReadSite {
  readonly id: string | null
  readonly name: string | null
}

/** What a reading shows of one leg. Identity, itinerary and flight are null unless the leg is available. */
export interface ReadLeg {
  readonly belief: string
  readonly price: Money | null
  readonly identity: string | null
  readonly itinerary: string | null
  readonly flight: { readonly site?: ReadSite } | null
}

/** A reading of a fare, as far as the kinds tell two of them apart. */
export interface ReadFare {
  readonly pair: string
  readonly outbound: ReadLeg
  readonly return: ReadLeg | null
  readonly price: Money | null
}

interface LegStep {
  readonly was: ReadLeg
  readonly is: ReadLeg
}

type LegTest = (was: ReadLeg, is: ReadLeg) => boolean
type FareTest = (was: ReadFare, is: ReadFare) => boolean

/** How many answers confirm what contradicts a belief, if no record of the last ten minutes is undone. */
export interface Needed {
  readonly answers: 1 | 2
  /** The setting that may raise the number. */
  readonly setting?: 'LOSS_CONFIRMATIONS' | 'GAIN_CONFIRMATIONS'
  /** Whether one answer is enough where nothing was believed. */
  readonly onceAtFirst?: true
}

/** The fares of the examples, by what they show. */
export type ExampleFare =
  | 'none'
  | 'open'
  | 'lost'
  | 'both lost'
  | 'one open'
  | 'cheaper'
  | 'later'
  | 'other site'
  | 'other flight'

export interface ChangeKind {
  /** The feeds whose records may have it: of all routes, of all fares, of the resellers. */
  readonly feeds: readonly ('route' | 'availability' | 'watch')[]
  /** A short text, for lists of kinds and where no sentence has its values. */
  readonly label: string
  /** What a record of it says, in full. */
  readonly about: string
  readonly tone: 'good' | 'bad' | 'warn' | 'idle'
  /** Templates. The first of which all values are known is the sentence of a record. */
  readonly sentences?: readonly string[]
  /** Why it happened; its records name one of them. */
  readonly reasons?: readonly Reason[]
  /** What records of it show before and after, in examples. Records of a kind without a fare before have no `before`. */
  readonly example?: { readonly before: ExampleFare; readonly after: ExampleFare }
  /** When a change from one reading to another is of this kind: by each leg, and by the fare if that alone decides. */
  readonly shownBy?: { readonly leg?: LegTest; readonly fare?: FareTest }
  /** A record of it includes every other change of the fare. */
  readonly includesAll?: true
  /** A record of this kind includes it. */
  readonly includedIn?: string
  /** How answers contradict a belief that lead to it, in the order in which the first one counts. */
  readonly contradictions?: Readonly<Record<string, Needed>>
  /** What an early detection is worth to the schedule; 0: it is no change there. */
  readonly value?: number
  /** If no market makes it to many fares at once: a mass of them waits. */
  readonly mass?: {
    readonly incident: string
    /** The legs that can show it; every leg if it is missing. */
    readonly of?: 'available' | 'unavailable'
    readonly warning: string
  }
}

const FARES = ['availability', 'watch'] as const
const ROUTES = ['route', 'watch'] as const
const legsOf = ({ outbound, return: back }: ReadFare) =>
  back === null ? [outbound] : [outbound, back]
const isOther =
  (member: 'identity' | 'itinerary'): LegTest =>
  (was, is) =>
    was[member] !== null && is[member] !== null && was[member] !== is[member]

/** Sites are compared by id, or by name where an id is missing. One that is not named is no other one. */
export function isOtherSite(was: ReadSite | undefined, is: ReadSite | undefined): boolean {
  const by = was?.id && is?.id ? 'id' : 'name'
  return !!was?.[by] && !!is?.[by] && was[by] !== is[by]
}

export const CHANGE_KINDS = {
  first_seen: {
    feeds: ['availability'],
    label: 'first seen',
    about: 'The first answer about the fare: nothing was believed of it before.',
    tone: 'idle',
    sentences: ['first seen, {state}'],
    value: 0,
  },
  watch_started: {
    feeds: ['watch'],
    label: 'watched from now on',
    about:
      'The watch was added or resumed, or its question changed. `after` is the belief of its fare. The record is written ' +
      'at once if the belief is fresh, else with the first good check, or with the first sight of the fare.',
    tone: 'idle',
    sentences: ['watched from now on, {state}'],
    example: { before: 'none', after: 'open' },
  },
  became_unavailable: {
    feeds: FARES,
    label: 'no longer available',
    about: 'At least one flight of the fare cannot be booked any more.',
    tone: 'bad',
    sentences: [
      '{reason} ({leg}; was {was})',
      '{reason} (was {was})',
      '{reason} ({leg})',
      '{reason}',
    ],
    reasons: namesOf(LOSSES),
    example: { before: 'open', after: 'lost' },
    shownBy: {
      leg: (was, is) => is.belief === 'unavailable' && was.belief !== 'unavailable',
      fare: (was, is) => was.pair === 'bookable' && is.pair !== 'bookable',
    },
    includesAll: true,
    contradictions: { loss: { answers: 1, setting: 'LOSS_CONFIRMATIONS' } },
    value: 2,
    mass: {
      incident: 'mass_loss',
      of: 'available',
      warning: 'Many fares were lost at once: such changes wait.',
    },
  },
  // Early news of a fare that can be booked again is worth the most, because other sellers take its seats.
  became_available: {
    feeds: FARES,
    label: 'can be booked',
    about: 'Every flight of the fare can be booked now.',
    tone: 'good',
    sentences: ['{state}'],
    example: { before: 'lost', after: 'open' },
    shownBy: {
      leg: (was, is) => is.belief === 'available' && was.belief !== 'available',
      fare: (was, is) => was.pair !== 'bookable' && is.pair === 'bookable',
    },
    includesAll: true,
    contradictions: { gain: { answers: 1, setting: 'GAIN_CONFIRMATIONS', onceAtFirst: true } },
    value: 5,
    mass: {
      incident: 'mass_gain',
      of: 'unavailable',
      warning: 'Many fares reopened at once: such changes wait.',
    },
  },
  identity_changed: {
    feeds: FARES,
    label: 'another flight has this id',
    about: 'Another flight is sold under the same id.',
    tone: 'warn',
    sentences: ['another flight in its place (was {before})', 'another flight in its place'],
    example: { before: 'open', after: 'other flight' },
    shownBy: { leg: isOther('identity') },
    contradictions: { identity: { answers: 2 } },
    value: 1,
    mass: {
      incident: 'mass_identity_change',
      of: 'available',
      warning: 'Many fares show another flight at once: such changes wait.',
    },
  },
  legs_changed: {
    feeds: FARES,
    label: 'one leg changed',
    about:
      'A flight of the fare changed its availability, and the fare neither became bookable nor stopped being bookable.',
    tone: 'warn',
    sentences: ['{state}'],
    example: { before: 'both lost', after: 'one open' },
    shownBy: { leg: (was, is) => was.belief !== is.belief },
    value: 1,
  },
  itinerary_changed: {
    feeds: FARES,
    label: 'times, flight numbers or stops changed',
    about: 'Times, flight numbers or stops changed on the same date.',
    tone: 'warn',
    sentences: [
      'new times, flight numbers or stops (was {before})',
      'new times, flight numbers or stops',
    ],
    example: { before: 'open', after: 'later' },
    shownBy: { leg: isOther('itinerary') },
    includedIn: 'identity_changed',
    contradictions: { itinerary: { answers: 2 } },
    value: 1,
    mass: {
      incident: 'mass_itinerary_change',
      of: 'available',
      warning: 'Many itineraries changed at once: such changes wait.',
    },
  },
  site_changed: {
    feeds: FARES,
    label: 'sold by another site',
    about: 'Another site sells the same flight.',
    tone: 'warn',
    sentences: ['sold by {site} (was {siteBefore})', 'sold by {site}'],
    example: { before: 'open', after: 'other site' },
    shownBy: { leg: (was, is) => isOtherSite(was.flight?.site, is.flight?.site) },
    includedIn: 'identity_changed',
    contradictions: { site: { answers: 2 } },
    value: 0,
  },
  price_changed: {
    feeds: FARES,
    label: 'the price changed',
    about: 'The price changed by at least the thresholds of the watch.',
    tone: 'warn',
    sentences: [
      'price up {percent} % from {risenFrom} to {price}',
      'price up from {risenFrom} to {price}',
      'price down {percent} % from {fallenFrom} to {price}',
      'price down from {fallenFrom} to {price}',
      'price {price} (was {was})',
      'price {price}',
      'price not known any more (was {was})',
      'price not known any more',
    ],
    example: { before: 'open', after: 'cheaper' },
    // A price that can no longer be read is no change of it: `priceReason` shows that.
    shownBy: { fare: (was, is) => hasPrices(is) && !samePrices(was, is) },
    includedIn: 'identity_changed',
    contradictions: { far_price: { answers: 2 }, near_price: { answers: 1 } },
    value: 1,
    mass: {
      incident: 'mass_price_change',
      of: 'available',
      warning: 'Many prices changed at once: such changes wait.',
    },
  },
  expired: {
    feeds: FARES,
    label: 'no longer watched',
    about: 'The fare, or only the watch, has ended.',
    tone: 'idle',
    sentences: ['{reason}'],
    reasons: namesOf(ENDS),
    example: { before: 'open', after: 'lost' },
    mass: {
      incident: 'mass_expiry',
      warning: 'Many fares ended at once: such ends wait.',
    },
  },
  route_added: {
    feeds: ROUTES,
    label: 'route added',
    about: 'The list of routes has the route, and did not have it before.',
    tone: 'good',
    sentences: [
      'New route: {route}, first seen {today} ({codes})',
      'Route is back: {route}, first seen on {firstSeen} ({codes})',
    ],
  },
  route_removed: {
    feeds: ROUTES,
    label: 'route removed',
    about: 'The list of routes does not have the route any more.',
    tone: 'bad',
    sentences: ['Route is gone: {route}, first seen on {firstSeen} ({codes})'],
  },
  route_gained_availability: {
    feeds: ROUTES,
    label: 'route can be booked',
    about: 'The list of routes with availability has the route, and did not have it before.',
    tone: 'good',
    sentences: ['Route can be booked: {route} ({codes})'],
  },
  route_lost_availability: {
    feeds: ROUTES,
    label: 'route cannot be booked any more',
    about: 'The list of routes with availability does not have the route any more.',
    tone: 'warn',
    sentences: ['Route cannot be booked any more: {route} ({codes})'],
  },
  place_changed: {
    feeds: ROUTES,
    label: 'place changed',
    about: 'The code, the city or the country of a place changed.',
    tone: 'warn',
    sentences: ['Place changed: {placeBefore} is now {place}'],
  },
} as const satisfies Readonly<Record<string, ChangeKind>>

export function hasPrices(fare: ReadFare): boolean {
  return legsOf(fare).every(({ price }) => price !== null)
}

export function samePrices(one: ReadFare, other: ReadFare): boolean {
  return everyLeg(one, other, (a, b) => sameMoney(a.price, b.price))
}

/** Whether two readings show the same availability by leg, and the same flights. */
export function isSameFlight(one: ReadFare, other: ReadFare): boolean {
  return everyLeg(one, other, isSameLeg)
}

export function isSameLeg(one: ReadLeg, other: ReadLeg): boolean {
  return !LEG_TESTS.some((differs) => differs(one, other))
}

export function everyLeg(one: ReadFare, other: ReadFare, test: LegTest): boolean {
  const others = legsOf(other)
  return legsOf(one).every((leg, at) => others[at] === undefined || test(leg, others[at]))
}

type Table = typeof CHANGE_KINDS
type Name = keyof Table
type InFeed<F> = { [K in Name]: F extends Table[K]['feeds'][number] ? K : never }[Name]
type Having<F> = { [K in Name]: Table[K] extends F ? K : never }[Name]
type KeysOf<T> = T extends unknown ? keyof T : never

export type RouteChangeKind = InFeed<'route'>
export type AvailabilityChangeKind = InFeed<'availability'>
export type WatchChangeKind = InFeed<'watch'>
export type FareRecordKind = Exclude<WatchChangeKind, RouteChangeKind>
export type ConfirmedKind = Having<{ readonly shownBy: object }>
export type HeldKind = Having<{ readonly mass: object }>
export type MassKind = Table[HeldKind]['mass']['incident']
export type Contradiction = KeysOf<
  Table[Having<{ readonly contradictions: object }>]['contradictions']
>

/** What the table says of a kind. */
export function kindOf(name: Name): ChangeKind {
  return CHANGE_KINDS[name]
}

/** The kinds for which something holds, in the order of the table. */
function kindsWhere<N extends Name>(holds: (kind: ChangeKind) => unknown): readonly N[] {
  return namesOf(CHANGE_KINDS).filter((name) => holds(kindOf(name))) as N[]
}

/** The kinds of records in the feed of route changes. */
export const ROUTE_CHANGE_KINDS = kindsWhere<RouteChangeKind>(({ feeds }) =>
  feeds.includes('route'),
)
/** The kinds of records in the feed of availability changes. Before `first_seen` nothing was believed of the fare. */
export const AVAILABILITY_CHANGE_KINDS = kindsWhere<AvailabilityChangeKind>(({ feeds }) =>
  feeds.includes('availability'),
)
/** The kinds of records in the feed of a reseller: `watch_started` takes the place of `first_seen`. */
export const WATCH_CHANGE_KINDS = kindsWhere<WatchChangeKind>(({ feeds }) =>
  feeds.includes('watch'),
)
/** The kinds of changes of a fare that a check can confirm. */
export const FARE_CHANGE_KINDS = kindsWhere<ConfirmedKind>(({ shownBy }) => shownBy)
/** The kinds of changes that no market makes to many fares at once: a mass of them waits. */
export const HELD_KINDS = kindsWhere<HeldKind>(({ mass }) => mass)
/** The incidents that a mass of changes opens, and what each holds. */
export const HELD_BY = Object.fromEntries(
  HELD_KINDS.map((kind) => [CHANGE_KINDS[kind].mass.incident, kind]),
) as Readonly<Record<MassKind, HeldKind>>
export const MASS_KINDS = namesOf(HELD_BY)

/** What the table says of a mass. */
export function massOf(kind: MassKind): NonNullable<ChangeKind['mass']> {
  return CHANGE_KINDS[HELD_BY[kind]].mass
}

export function isRouteKind(kind: string): kind is RouteChangeKind {
  return (ROUTE_CHANGE_KINDS as readonly string[]).includes(kind)
}

/** The type of the message about a record: fare.became_available, route.added, place.changed. */
export function messageType(kind: WatchChangeKind): string {
  return isRouteKind(kind) ? kind.replace('_', '.') : `fare.${kind}`
}

export function isHeldKind(kind: string): kind is HeldKind {
  return (HELD_KINDS as readonly string[]).includes(kind)
}

/** What confirms each contradiction, and the kind of the change that it leads to. */
export const CONTRADICTED = Object.fromEntries(
  FARE_CHANGE_KINDS.flatMap((kind) =>
    Object.entries(kindOf(kind).contradictions ?? {}).map(([name, needed]) => [
      name,
      { kind, needed },
    ]),
  ),
) as Readonly<Record<Contradiction, { readonly kind: ConfirmedKind; readonly needed: Needed }>>
/**
 * How a complete reading contradicts the belief. The first that applies counts, so a flight that changes its identity
 * with every answer delays no loss. A price is `far` unless it has the same currency and differs by at most a tenth.
 */
export const CONTRADICTIONS = namesOf(CONTRADICTED)

const LEG_TESTS = FARE_CHANGE_KINDS.flatMap((kind) => kindOf(kind).shownBy?.leg ?? [])

/** How one leg of a reading contradicts what is believed of it, prices apart; null if it agrees, or says nothing. */
export function legContradiction({ was, is }: LegStep): Contradiction | null {
  if (is.belief === 'unknown') return null
  const shows = (contradiction: Contradiction) =>
    kindOf(CONTRADICTED[contradiction].kind).shownBy?.leg?.(was, is) === true
  return CONTRADICTIONS.find(shows) ?? null
}

/** The kinds of the changes between two beliefs, of which something was believed before. */
export function kindsBetween(before: ReadFare, after: ReadFare): readonly ConfirmedKind[] {
  const [was, is] = [legsOf(before), legsOf(after)]
  const found = FARE_CHANGE_KINDS.filter((kind) => {
    const { leg, fare } = kindOf(kind).shownBy ?? {}
    if (fare !== undefined) return fare(before, after)
    return is.some((one, at) => was[at] !== undefined && leg?.(was[at], one) === true)
  })
  const whole = found.find((kind) => kindOf(kind).includesAll)
  if (whole !== undefined) return [whole]
  return found.filter((kind) => !found.some((other) => other === kindOf(kind).includedIn))
}
