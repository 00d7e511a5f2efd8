import type { Belief, Flight } from '../../feeds/change-shapes.ts'
import type { RouteRecord, WatchChange } from '../../feeds/watch-record.ts'
import { type Money, toCents } from '../../platform/base/money.ts'
import { nameText } from '../../platform/base/text.ts'
import { phrase, plain, VOCABULARY } from '../../platform/base/vocabulary.ts'

/*
 * What happened, in words. The page runs this file, so all that it imports must run in a browser.
 */

/** A record of a fare, as far as these words need it. */
export interface ShownEvent {
  readonly kind: string
  readonly reason?: string | null
  /** Null of the first record of a watch. */
  readonly before: Belief | null
  readonly after: Belief | null
  /** Missing in records of older versions. */
  readonly intents?: readonly string[]
  readonly saving?: Money | null
  readonly context?: WatchChange['context']
}

/** A record about a route or a place: only these have a run. */
export type ShownRouteChange = Omit<RouteRecord, 'seq'>

const { kinds: KINDS, states, beliefs, reasons: REASONS } = VOCABULARY
/** Records of other versions may have other codes. */
const STATES: Readonly<Record<string, (typeof states)[keyof typeof states]>> = states
const BELIEFS: Readonly<Record<string, string>> = beliefs

const MAX_NUMBERS = 6
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

interface Reader {
  /** The year in which it is read. Dates of other years show theirs. */
  readonly year: number
  /** What follows the price of a fare, such as who sells it. */
  readonly offer?: (fare: Belief) => string
}

/**
 * What a record says, with what its price means to the reseller.
 * @example 'sold out (was 348.81 EUR)'
 * @example 'New route: Palma – Oslo, first seen today (PMI–OSL)'
 */
export function eventText(change: ShownEvent | ShownRouteChange, reader: Reader): string {
  const known = KINDS[change.kind]
  if (known === undefined) return plain(change.kind)
  const isRoute = 'runId' in change
  const values = isRoute ? routeValues(change, reader) : fareValues(change, reader)
  const text = phrase(known.sentences, values) ?? known.label
  return [text, ...(isRoute ? [] : notesOf(change))].join(', ')
}

/** Operators' records of routes have the ids of the places alone. */
function routeValues(record: ShownRouteChange, { year }: Reader) {
  const { route, place, firstSeenAt, detectedAt } = record
  const join = (text: (place: ShownPlace) => string) =>
    route ? `${text(route.departure)} – ${text(route.destination)}` : undefined
  const codeOf = ({ iata, id = '?' }: ShownPlace) => nameText(iata || id)
  // Records of messages that wait are JSON.
  const [seen, now] = [new Date(firstSeenAt ?? 0), new Date(detectedAt)]
  return {
    route: join((end) => nameText(end.city || codeOf(end))),
    codes: join(codeOf)?.replace(' – ', '–'),
    today: seen < now ? undefined : 'today',
    firstSeen: dayText(seen.toISOString(), year),
    place: place && placeName(place.after),
    placeBefore: place && placeName(place.before),
  }
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
function notesOf({ intents = [], saving, context }: ShownEvent): string[] {
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

/** The flights of a fare, as they are or as they were; undefined if none is known. */
export function fareText(is: Belief, was: Belief | null, year: number): string | undefined {
  const out = is.outbound.flight ?? was?.outbound.flight
  const back = is.return?.flight ?? was?.return?.flight
  return flightsText({ out, back, arrow: is.return === null ? '→' : '⇄' }, year)
}

interface ShownFlights {
  readonly out?: Flight | null | undefined
  readonly back?: Flight | null | undefined
  readonly arrow: string
}

export function flightsText({ out, back, arrow }: ShownFlights, year: number): string | undefined {
  if (!out) return undefined
  const route = `${placeText(out.departure)} ${arrow} ${placeText(out.arrival)}`
  const returning = back ? `, back ${flightText(back, year)}` : ''
  return `${route}, ${flightText(out, year)}${returning}`
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

function fareValues(change: ShownEvent, reader: Reader) {
  const { kind, reason, before } = change
  const after = change.after as Belief
  return {
    state: stateText(after, reader),
    reason: REASONS[reason ?? ''] ?? KINDS[kind]?.label,
    leg: lostLegText(after),
    before: flightBefore(change, reader),
    price: priceText(after, reader),
    was: before?.price ? moneyText(before.price) : undefined,
    site: sitesText(after),
    siteBefore: before === null ? undefined : sitesText(before),
    ...stepOf(before?.price, after.price),
  }
}

/** The state of a fare now, with its price if it can be booked. */
function stateText(fare: Belief, reader: Reader): string {
  const { state, outbound, return: back } = fare
  const beliefOf = ({ belief }: Belief['outbound']) => BELIEFS[belief] ?? belief
  const values = {
    price: priceText(fare, reader),
    outbound: beliefOf(outbound),
    return: back === null ? undefined : beliefOf(back),
  }
  return phrase((STATES[state] ?? states.unknown).sentences, values) ?? plain(state)
}

function priceText(fare: Belief, { offer = () => '' }: Reader): string | undefined {
  return fare.price ? `${moneyText(fare.price)}${offer(fare)}` : undefined
}

/** Which of two flights was lost; undefined if both were, or if there is one. */
function lostLegText({ outbound, return: back }: Belief): string | undefined {
  if (back === null || back.belief === outbound.belief) return undefined
  return VOCABULARY.legs[outbound.belief === 'unavailable' ? 'outbound' : 'return']
}

/** The amount before a step of the price in one currency, by its direction, and by how much unless that is less than half a percent. */
function stepOf(was?: Money | null, is?: Money | null) {
  if (!was || !is || was.currency !== is.currency) return {}
  const isUp = toCents(is.amount) > toCents(was.amount)
  const share = Math.abs(Number(is.amount) / Number(was.amount) - 1)
  const percent = share >= 0.005 && Number.isFinite(share) ? (100 * share).toFixed() : undefined
  return { percent, [isUp ? 'risenFrom' : 'fallenFrom']: was.amount }
}

/** The names of the sites that sell its flights; undefined if none is known. */
export function sitesText({ outbound, return: back }: Belief): string | undefined {
  const names = [outbound, back].flatMap((leg) => leg?.flight?.site?.name ?? [])
  return [...new Set(names.map(nameText))].join(' and ') || undefined
}

/** The flights before the change; undefined if they read as now. */
function flightBefore({ before, after }: ShownEvent, { year }: Reader): string | undefined {
  const [was, is] = [before, after].map((fare) => (fare ? fareText(fare, null, year) : undefined))
  return was === is ? undefined : was
}

function moneyText({ amount, currency }: Money): string {
  return `${amount} ${currency}`
}
