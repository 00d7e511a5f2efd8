import { zoneOf } from '../platform/airports/airports.ts'
import {
  CONTRADICTED,
  type HeldKind,
  hasPrices,
  isHeldKind,
  legContradiction,
} from '../platform/base/change-kinds.ts'
import type { FareChangeKind } from '../platform/base/kinds.ts'
import { zoneOffsetMs } from '../platform/base/local-time.ts'
import { toCents } from '../platform/base/money.ts'
import type { FlightSummary } from '../upstream/observation.ts'
import { isSame, isWithin, type LegPair, pairsOf, type Reading } from './answer.ts'
import { type FareState, isRecent } from './state.ts'

/**
 * More flights show a kind of change at once than a market changes. It may be of one airline, or of one difference:
 * then only its flights, or those that differ so, are part of it.
 */
export interface Mass {
  readonly kind: HeldKind
  readonly airline: string | null
  readonly difference: string | null
}

/** What the answers of other fares say about this one. */
export interface MassContext {
  /** The masses that go on now. */
  readonly masses: readonly Mass[]
  /** When an operator last released what waited then, by kind. */
  readonly releasedAt: ReadonlyMap<string, Date>
}

/** What an answer shows of one flight, as masses count it. */
export interface AskedLeg {
  readonly leg: 'outbound' | 'return'
  /** Whether the leg was believed available: then it can be lost or change, else it can be gained. */
  readonly isAvailable: boolean
  /** The kind of change that the answer would make; null where it shows what is believed. */
  readonly shows: HeldKind | null
  /** Whether it shows what a held record has replaced: what was recorded counts no longer then. */
  readonly isReturn: boolean
  /** When the first answer began that showed the change, without one in between that agreed. */
  readonly since: string
  /** The airline and the numbers of the flight that is known; null where none is. */
  readonly airline: string | null
  readonly numbers: string | null
  /** What else the change may have in common with those of other flights. */
  readonly differences: readonly string[]
}

/**
 * What an answer shows of each leg. A leg of which nothing was believed is left out: it can be part of no mass. Prices
 * that change by at most a fifth show no change here: a tax or a sale changes all prices of an airline together. A
 * return to what a held record has replaced shows none either: the way back from a lie that was recorded would wait as
 * the lie did.
 */
export function askedLegs(state: FareState, reading: Reading): AskedLeg[] {
  const { candidate, lastFlights } = state
  const isReturn = isHeldReturn(state, reading)
  return pairsOf(state.belief, reading.view).flatMap((pair) => {
    const { leg, was, is } = pair
    if (is.belief === 'unknown' || was.belief === 'unknown') return []
    const shows = isReturn ? null : shownBy(pair)
    const isSameKind = candidate !== null && CONTRADICTED[candidate.contradiction].kind === shows
    const flight = was.flight ?? lastFlights[leg]
    return [
      {
        leg,
        isAvailable: was.belief === 'available',
        shows,
        isReturn,
        since: isSameKind ? candidate.since : reading.at,
        airline: flight && airlineOf(flight),
        numbers: flight && numbersOf(flight),
        differences: shows === null ? [] : differencesOf(pair),
      },
    ]
  })
}

function airlineOf({ airlineCode, airline }: FlightSummary): string {
  return airlineCode ?? airline
}

function numbersOf(flight: FlightSummary): string {
  return `${airlineOf(flight)} ${flight.numbers.join(' ')}`
}

function shownBy(pair: LegPair): HeldKind | null {
  const contradiction = legContradiction(pair)
  const kind = contradiction && CONTRADICTED[contradiction].kind
  if (kind !== null && isHeldKind(kind)) return kind
  return isLargeStep(pair) ? 'price_changed' : null
}

function isLargeStep({ was, is }: LegPair): boolean {
  return was.price !== null && is.price !== null && !isWithin(was.price, is.price, 20n)
}

/** Whether a reading shows what one of these records has replaced lately. */
export function returnsTo(
  replaced: FareState['replaced'],
  { view, at }: Pick<Reading, 'view' | 'at'>,
): boolean {
  return replaced.some((one) => isRecent(one, at) && isSame(one.view, view))
}

/** Whether a reading shows what a held record has replaced. */
export function isHeldReturn({ replaced }: FareState, reading: Reading): boolean {
  return returnsTo(
    replaced.filter(({ held }) => held),
    reading,
  )
}

/** Whether the change of a kind that a reading shows is part of one of the masses. */
export function isPartOfMass(
  state: FareState,
  args: {
    readonly kind: FareChangeKind
    readonly reading: Reading
    readonly masses: readonly Mass[]
  },
): boolean {
  const masses = args.masses.filter(({ kind }) => kind === args.kind)
  if (masses.length === 0) return false
  // No step can be seen from no price: it waits with the others.
  if (args.kind === 'price_changed' && !hasPrices(state.belief)) return true
  const legs = askedLegs(state, args.reading).filter(({ shows }) => shows === args.kind)
  return masses.some(({ airline, difference }) =>
    legs.some(
      (leg) =>
        (airline === null || leg.airline === airline) &&
        (difference === null || leg.differences.includes(difference)),
    ),
  )
}

const MINUTE_MS = 60_000

/** What a flight differs in from the one that is believed, as text: equal texts are equal differences. */
function differencesOf({ was, is }: LegPair): string[] {
  const found: (string | null)[] = [priceFactor(was.price, is.price)]
  if (was.flight !== null && is.flight !== null) {
    found.push(
      ...shiftsOf('departure', [was.flight.departsAt, is.flight.departsAt], was.flight.from),
      ...shiftsOf('arrival', [was.flight.arrivesAt, is.flight.arrivesAt], was.flight.to),
      missingLeg(was.flight.numbers, is.flight.numbers),
    )
  }
  return found.filter((difference) => difference !== null)
}

/** The shift of a local time in minutes, and whether it is the offset of the place's own zone. */
function shiftsOf(
  end: 'departure' | 'arrival',
  [from, to]: readonly [from: string, to: string],
  place: string,
): string[] {
  const [before, after] = [localMs(from), localMs(to)]
  if (before === after) return []
  const shift = `${end} ${(after - before) / MINUTE_MS} min`
  const zone = zoneOf(place)
  if (zone === undefined) return [shift]
  const offset = zoneOffsetMs(zone, before)
  return Math.abs(after - before) === Math.abs(offset) ? [shift, `${end} by its zone`] : [shift]
}

function localMs(local: string): number {
  return Date.parse(`${local.replace(' ', 'T')}:00Z`)
}

function missingLeg(was: readonly number[], is: readonly number[]): string | null {
  if (is.length !== was.length - 1) return null
  const at = was.findIndex((number, i) => number !== is[i])
  const isMissing = is.every((number, i) => number === was[i < at ? i : i + 1])
  if (!isMissing) return null
  return `leg ${at === was.length - 1 ? 'last' : at + 1} missing`
}

/** A price in another currency, or one that changes beyond a half, as a factor of two digits. */
function priceFactor(was: LegPair['was']['price'], is: LegPair['is']['price']): string | null {
  if (was === null || is === null || isWithin(was, is, 50n)) return null
  if (was.currency !== is.currency) return `price in ${is.currency}`
  const factor = Number(toCents(is.amount)) / Number(toCents(was.amount))
  return Number.isFinite(factor) ? `price × ${factor.toPrecision(2)}` : null
}
