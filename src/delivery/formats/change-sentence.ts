import type { Belief, Flight } from '../../feeds/change-shapes.ts'
import type { RouteRecord, WatchChange } from '../../feeds/watch-record.ts'
import { type Money, sameMoney, sumMoney, toCents } from '../../platform/base/money.ts'
import { cleanText, nameText } from '../../platform/base/text.ts'
import { phrase, plain, VOCABULARY } from '../../platform/base/vocabulary.ts'
import { type QuestionInput, termsText } from '../../upstream/question.ts'

/** A record of a feed, as far as its sentence needs it. */
export interface ShownChange extends QuestionInput {
  readonly kind: string
  readonly reason?: string | null
  readonly fareId?: number
  readonly flights?: WatchChange['flights']
  /** Null of the first record of a watch. */
  readonly before: Belief | null
  readonly after: Belief | null
  /** Missing in records of older versions. */
  readonly intents?: readonly string[]
  readonly saving?: Money | null
  readonly context?: WatchChange['context']
}

/** A record about a route or a place: only these have a run. */
export type ShownRouteChange = Omit<RouteRecord, 'seq' | 'generation'>

const { kinds: KINDS, states, beliefs, reasons: REASONS } = VOCABULARY
/** Records of other versions may have other codes. */
const STATES: Readonly<Record<string, (typeof states)[keyof typeof states]>> = states
const BELIEFS: Readonly<Record<string, string>> = beliefs

const MAX_CHARS = 400
const MAX_NUMBERS = 6
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

/**
 * A record as a line of plain text for people: the flight, what happened, the price. Names of the upstream are text
 * in it: they hold no line end, no link, no mention, and nothing that changes the direction of writing.
 * @param year the year in which it is read. Dates of other years show theirs.
 * @example changeSentence(record, 2026) // 'PMI → BCN, 24 Nov 10:25, Llevant Airways 1579: sold out (was 348.81 EUR)'
 */
export function changeSentence(change: ShownChange | ShownRouteChange, year: number): string {
  if ('runId' in change) return cleanText(routeText(change, year), MAX_CHARS)
  const { before } = change
  const after = change.after as Belief
  const fare = fareText(after, before, year) ?? lastFareText(change, year) ?? idText(change)
  const terms = termsText(change)
  const whom = terms === '' ? '' : `, for ${terms}`
  const event = eventText(change, { before, after, year })
  return cleanText([`${fare}${whom}: ${event}`, ...notesOf(change)].join(', '), MAX_CHARS)
}

/** @example 'New route: Palma – Oslo, first seen today (PMI–OSL)' */
function routeText(record: ShownRouteChange, year: number): string {
  const { kind, route, place, firstSeenAt, detectedAt } = record
  const join = (text: (place: ShownPlace) => string) =>
    route ? `${text(route.departure)} – ${text(route.destination)}` : undefined
  const codeOf = ({ iata, id = '?' }: ShownPlace) => nameText(iata || id)
  // Records of messages that wait are JSON.
  const [seen, now] = [new Date(firstSeenAt ?? 0), new Date(detectedAt)]
  const values = {
    route: join((end) => nameText(end.city || codeOf(end))),
    codes: join(codeOf)?.replace(' – ', '–'),
    today: seen < now ? undefined : 'today',
    firstSeen: dayText(seen.toISOString(), year),
    place: place && placeName(place.after),
    placeBefore: place && placeName(place.before),
  }
  return phrase(KINDS[kind]?.sentences ?? [], values) ?? plain(kind)
}

interface ShownPlace {
  readonly id?: string
  readonly iata: string
  readonly city: string
  readonly country: string
}

/** @example 'Palma (PMI), Spain' */
function placeName({ iata, city, country }: ShownPlace): string {
  return nameText(`${city || '?'} (${iata || 'no code'}), ${country || '?'}`)
}

/** What the price means to the reseller: below what it paid, and among the prices of the fare before. */
function notesOf({ intents = [], saving, context }: ShownChange): string[] {
  const { notes } = VOCABULARY
  const isKnown = context !== undefined && context !== null && context.percentile !== null
  const rank = isKnown && (context.lowest ? notes.lowest : notes.percentile)
  const low = intents.includes('newLowDays') && !(isKnown && context.lowest) && notes.newLow
  const values = {
    saving: saving ? moneyText(saving) : undefined,
    prices: String(context?.prices),
    percentile: String(context?.percentile),
  }
  return [notes.saving, rank, low].flatMap((note) => (note && phrase([note], values)) || [])
}

function fareText(is: Belief, was: Belief | null, year: number): string | undefined {
  const out = is.outbound.flight ?? was?.outbound.flight
  if (!out) return undefined
  const back = is.return?.flight ?? was?.return?.flight ?? null
  return flightsText({ out, back, arrow: is.return === null ? '→' : '⇄' }, year)
}

interface ShownFlights {
  readonly out: Flight
  readonly back: Flight | null
  readonly arrow: string
}

function flightsText({ out, back, arrow }: ShownFlights, year: number): string {
  const route = `${placeText(out.departure)} ${arrow} ${placeText(out.arrival)}`
  const flights = back
    ? `${flightText(out, year)}, back ${flightText(back, year)}`
    : flightText(out, year)
  return `${route}, ${flights}`
}

/** The flights that an earlier record showed, of a change whose states show none. */
function lastFareText({ flights }: ShownChange, year: number): string | undefined {
  if (!flights?.outbound) return undefined
  const { outbound: out, return: back } = flights
  return flightsText({ out, back, arrow: back === null ? '→' : '⇄' }, year)
}

function placeText({ place: { iata, city, id } }: Flight['departure']): string {
  return nameText(iata ?? city ?? id ?? '?')
}

/** @example '24 Nov 10:25, Llevant Airways 1579' */
function flightText({ departure, airline, numbers }: Flight, year: number): string {
  const more = numbers.length > MAX_NUMBERS ? '/…' : ''
  const name = `${nameText(airline.name)} ${numbers.slice(0, MAX_NUMBERS).join('/')}${more}`
  return `${dateText(departure.localTime, year)}, ${name}`
}

/** @example dateText('2026-11-24 10:25', 2026) // '24 Nov 10:25' */
function dateText(local: string, thisYear: number): string {
  const isTime = /^\d{4}-\d\d-\d\d \d\d:\d\d$/.test(local)
  const day = isTime ? dayText(local, thisYear) : undefined
  return day === undefined ? nameText(local) : `${day} ${local.slice(11)}`
}

/** @example dayText('2026-11-24', 2026) // '24 Nov' */
function dayText(date: string, thisYear: number): string | undefined {
  const [year, month, day] = date.slice(0, 10).split('-').map(Number)
  const name = MONTHS[(month ?? 0) - 1]
  return name && `${day} ${name}${year === thisYear ? '' : ` ${year}`}`
}

function idText({ flightId, returnFlightId, fareId }: ShownChange): string {
  if (flightId === undefined) return `fare ${fareId ?? '?'}`
  const back = returnFlightId ? `, back ${nameText(returnFlightId)}` : ''
  return `flight ${nameText(flightId)}${back}`
}

interface Event {
  readonly before: Belief | null
  readonly after: Belief
  readonly year: number
}

/** The sentence of the kind, with what the record knows. */
function eventText({ kind, reason }: ShownChange, event: Event): string {
  const known = KINDS[kind]
  if (known === undefined) return plain(kind)
  const { before, after } = event
  const [was, is] = [before?.price ?? undefined, after.price ?? undefined]
  const values = {
    state: stateText(after),
    reason: REASONS[reason ?? ''] ?? known.label,
    leg: lostLegText(after),
    before: flightBefore(event),
    price: is && `${moneyText(is)}${offerText(after)}`,
    was: was && moneyText(was),
    site: sitesText(after),
    siteBefore: before === null ? undefined : sitesText(before),
    ...stepOf(was, is),
  }
  return phrase(known.sentences, values) ?? known.label
}

/** The state of a fare now, with its price if it can be booked. */
function stateText(fare: Belief): string {
  const { state, outbound, return: back, price } = fare
  const beliefOf = ({ belief }: Belief['outbound']) => BELIEFS[belief] ?? belief
  const values = {
    price: price === null ? undefined : `${moneyText(price)}${offerText(fare)}`,
    outbound: beliefOf(outbound),
    return: back === null ? undefined : beliefOf(back),
  }
  return phrase((STATES[state] ?? states.unknown).sentences, values) ?? plain(state)
}

/** Which of two flights was lost; undefined if both were, or if there is one. */
function lostLegText({ outbound, return: back }: Belief): string | undefined {
  if (back === null || back.belief === outbound.belief) return undefined
  return VOCABULARY.legs[outbound.belief === 'unavailable' ? 'outbound' : 'return']
}

/** The amount before a step of the price in one currency, by its direction, and by how much unless that is less than half a percent. */
function stepOf(was: Money | undefined, is: Money | undefined) {
  if (!was || !is || was.currency !== is.currency) return {}
  const isUp = toCents(is.amount) > toCents(was.amount)
  const share = Math.abs(Number(is.amount) / Number(was.amount) - 1)
  const percent = share >= 0.005 && Number.isFinite(share) ? (100 * share).toFixed() : undefined
  return { percent, [isUp ? 'risenFrom' : 'fallenFrom']: was.amount }
}

/**
 * Who sells a fare, and what an adult costs if the price is for more than one.
 * @example ' at Saffron Airlines, 58.61 an adult'
 */
function offerText(fare: Belief): string {
  const sites = sitesText(fare)
  const at = sites === undefined ? '' : ` at ${sites}`
  return `${at}${adultText(fare, 'nonResidents', 'an adult')}${adultText(fare, 'residents', 'a resident adult')}`
}

/** The names of the sites that sell its flights; undefined if none is known. */
function sitesText({ outbound, return: back }: Belief): string | undefined {
  const names = [outbound, back].flatMap((leg) => leg?.flight?.site?.name ?? [])
  return [...new Set(names.map(nameText))].join(' and ') || undefined
}

function adultText(
  { outbound, return: back, price }: Belief,
  group: 'residents' | 'nonResidents',
  name: string,
): string {
  const legs = back === null ? [outbound] : [outbound, back]
  const prices = legs.flatMap(({ passengerPrices }) => passengerPrices?.[group].adult ?? [])
  const sum = prices.length === legs.length ? sumMoney(prices) : null
  return sum === null || sameMoney(sum, price) ? '' : `, ${sum.amount} ${name}`
}

/** The flights before the change; undefined if they read as now. */
function flightBefore({ before, after, year }: Event): string | undefined {
  const was = before === null ? undefined : fareText(before, null, year)
  return was === fareText(after, null, year) ? undefined : was
}

function moneyText({ amount, currency }: Money): string {
  return `${amount} ${currency}`
}
