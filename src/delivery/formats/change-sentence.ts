import type { Flight } from '../../feeds/change-shapes.ts'
import type { WatchChange } from '../../feeds/watch-record.ts'
import { type Money, toCents } from '../../platform/base/money.ts'
import { cleanText, nameText } from '../../platform/base/text.ts'
import { type QuestionInput, termsText } from '../../upstream/question.ts'

/** A record of a feed, as far as its sentence needs it. */
export interface ShownChange extends QuestionInput {
  readonly kind: string
  readonly reason?: string | null
  readonly fareId?: number
  readonly flights?: WatchChange['flights']
  readonly before: unknown
  readonly after: unknown
}

/** The shape of a record's `before` and `after`. */
interface ShownFare {
  readonly pair: string
  readonly outbound: ShownLeg
  readonly return: ShownLeg | null
  readonly price: Money | null
}

interface ShownLeg {
  readonly belief: string
  readonly flight: ShownFlight | null
}

type ShownFlight = Pick<Flight, 'from' | 'to' | 'airline' | 'numbers' | 'departsAt'>

const MAX_CHARS = 400
const MAX_NUMBERS = 6
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

/** Words for the reasons of losses and ends. A loss for an unknown reason may be a departure. */
const REASON_WORDS: Readonly<Record<string, string>> = {
  sold_out: 'sold out',
  sales_closed: 'sales closed',
  departed: 'departed',
  departs_on_passed: 'no longer watched, its departure date has passed',
  never_available: 'no longer watched, not available in 30 days',
}

const BELIEF_WORDS: Readonly<Record<string, string>> = {
  available: 'available',
  unavailable: 'not available',
  unknown: 'not known',
}

/**
 * A record as a line of plain text for people: the flight, what happened, the price. Names of the upstream are text
 * in it: they hold no line end, no link, no mention, and nothing that changes the direction of writing.
 * @param year the year in which it is read. Dates of other years show theirs.
 * @example changeSentence(record, 2026) // 'PMI → BCN, 24 Nov 10:25, Llevant Airways 1579: sold out (was 348.81 EUR)'
 */
export function changeSentence(change: ShownChange, year: number): string {
  // The first record of a watch has no state before.
  const before = (change.before ?? null) as ShownFare | null
  const after = change.after as ShownFare
  const fare = fareText(after, before, year) ?? lastFareText(change, year) ?? idText(change)
  const terms = termsText(change)
  const whom = terms === '' ? '' : `, for ${terms}`
  return cleanText(`${fare}${whom}: ${eventText(change, { before, after, year })}`, MAX_CHARS)
}

function fareText(is: ShownFare, was: ShownFare | null, year: number): string | undefined {
  const out = is.outbound.flight ?? was?.outbound.flight
  if (!out) return undefined
  const back = is.return?.flight ?? was?.return?.flight
  const route = `${nameText(out.from)} ${is.return === null ? '→' : '⇄'} ${nameText(out.to)}`
  const flights = back
    ? `${flightText(out, year)}, back ${flightText(back, year)}`
    : flightText(out, year)
  return `${route}, ${flights}`
}

/** The flights that an earlier record showed, of a change whose states show none. */
function lastFareText({ flights }: ShownChange, year: number): string | undefined {
  const leg = (flight: ShownFlight | null) => ({ belief: 'unknown', flight })
  const outbound = leg(shownFlight(flights?.outbound))
  const back = flights?.return ? leg(shownFlight(flights.return)) : null
  return fareText({ pair: 'unknown', outbound, return: back, price: null }, null, year)
}

function shownFlight(flight: WatchChange['flights']['outbound'] | undefined): ShownFlight | null {
  if (!flight) return null
  const { airline, numbers, departure, arrival } = flight
  const nameOf = ({ place: { code, city, id } }: typeof departure) => code ?? city ?? id ?? '?'
  return {
    from: nameOf(departure),
    to: nameOf(arrival),
    airline: airline.name,
    numbers,
    departsAt: departure.localTime,
  }
}

/** @example '24 Nov 10:25, Llevant Airways 1579' */
function flightText({ departsAt, airline, numbers }: ShownFlight, year: number): string {
  const more = numbers.length > MAX_NUMBERS ? '/…' : ''
  return `${dateText(departsAt, year)}, ${nameText(airline)} ${numbers.slice(0, MAX_NUMBERS).join('/')}${more}`
}

/** @example dateText('2026-11-24 10:25', 2026) // '24 Nov 10:25' */
function dateText(local: string, thisYear: number): string {
  const [, year, month, day, time] = /^(\d{4})-(\d\d)-(\d\d) (\d\d:\d\d)$/.exec(local) ?? []
  const name = MONTHS[Number(month) - 1]
  if (name === undefined) return nameText(local)
  return `${Number(day)} ${name}${Number(year) === thisYear ? '' : ` ${year}`} ${time}`
}

function idText({ flightId, returnFlightId, fareId }: ShownChange): string {
  if (flightId === undefined) return `fare ${fareId ?? '?'}`
  const back = returnFlightId ? `, back ${nameText(returnFlightId)}` : ''
  return `flight ${nameText(flightId)}${back}`
}

interface Event {
  readonly before: ShownFare | null
  readonly after: ShownFare
  readonly year: number
}

function eventText({ kind, reason }: ShownChange, event: Event): string {
  const { before, after } = event
  const words = REASON_WORDS[reason ?? '']
  switch (kind) {
    case 'first_seen':
      return `first seen, ${stateText(after)}`
    case 'became_available':
    case 'legs_changed':
      return stateText(after)
    case 'became_unavailable':
      return `${words ?? 'no longer available'}${inBrackets(lostLegText(after), wasText(before))}`
    case 'price_changed':
      return priceText(before?.price ?? null, after.price)
    case 'itinerary_changed':
      return `new times, flight numbers or stops${inBrackets(flightBefore(event))}`
    case 'identity_changed':
      return `another flight in its place${inBrackets(flightBefore(event))}`
    case 'watch_started':
      return `watched from now on, ${stateText(after)}`
    case 'expired':
      return words ?? 'no longer watched'
    default:
      return kind.replaceAll('_', ' ')
  }
}

/** The state of a fare now, with its price if it can be booked. */
function stateText(fare: ShownFare): string {
  if (fare.pair !== 'bookable') return legsText(fare)
  return fare.price === null
    ? 'can be booked, price not known'
    : `can be booked for ${moneyText(fare.price)}`
}

function legsText({ outbound, return: back }: ShownFare): string {
  const out = BELIEF_WORDS[outbound.belief] ?? outbound.belief
  if (back === null) return out === 'not known' ? 'availability not known' : out
  return `outbound flight ${out}, return flight ${BELIEF_WORDS[back.belief] ?? back.belief}`
}

/** Which of two flights was lost; undefined if both were, or if there is one. */
function lostLegText({ outbound, return: back }: ShownFare): string | undefined {
  if (back === null || back.belief === outbound.belief) return undefined
  return outbound.belief === 'unavailable' ? 'outbound flight' : 'return flight'
}

function priceText(before: Money | null, after: Money | null): string {
  if (after === null) return `price not known any more${inBrackets(wasText({ price: before }))}`
  if (before === null) return `price ${moneyText(after)}`
  if (before.currency !== after.currency) {
    return `price ${moneyText(after)} (was ${moneyText(before)})`
  }
  const up = toCents(after.amount) > toCents(before.amount)
  return `price ${up ? 'up' : 'down'} from ${before.amount} to ${moneyText(after)}`
}

/** The flights before the change; undefined if they read as now. */
function flightBefore({ before, after, year }: Event): string | undefined {
  const was = before === null ? undefined : fareText(before, null, year)
  return was === undefined || was === fareText(after, null, year) ? undefined : `was ${was}`
}

function wasText(fare: { readonly price: Money | null } | null): string | undefined {
  return fare?.price ? `was ${moneyText(fare.price)}` : undefined
}

function moneyText({ amount, currency }: Money): string {
  return `${amount} ${currency}`
}

function inBrackets(...parts: readonly (string | undefined)[]): string {
  const known = parts.filter((part) => part !== undefined)
  return known.length === 0 ? '' : ` (${known.join('; ')})`
}
