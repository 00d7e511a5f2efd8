/**
 * @import { AnyRoute, Change, Side } from './answers.ts'
 * @import { Belief, Digest, Fare, Flight, LastFlight, Leg, PlaceChange, Price, RecordFlights, RoutePlace, WebhookEndpoint } from './api-types.ts'
 * @import { Level } from './parts.js'
 */
import { eventText } from '../delivery/formats/event-text.ts'
import { textOf, texts } from './texts.js'
import { localText } from './times.js'
import { termsText, vocabulary } from './vocabulary.js'

/**
 * A price as text, or null.
 * @param {Price | null | undefined} price
 */
export function priceText(price) {
  return price ? `${price.amount}\u00A0${price.currency}` : null
}

/**
 * Why a belief is shown as unknown; of unusable answers also their reason.
 * @param {{ hiddenReason: string | null, lastReason: string | null }} shown
 */
export function hiddenText({ hiddenReason, lastReason }) {
  const text = textOf(vocabulary.hidden, hiddenReason)
  return hiddenReason === 'unanswered' ? `${text}: ${lastReason?.replaceAll('_', ' ')}` : text
}

/**
 * What something is about: a short title, and the rest of what is known.
 * @typedef {{ title: string, detail: string }} Subject
 */

/** @param {Flight} flight @returns {Subject} */
function flightSubject({ departure, arrival, airline, numbers }) {
  const nameOf = (/** @type {Flight['departure']} */ { place: { iata, city, id } }) =>
    iata ?? city ?? id
  return {
    title: `${nameOf(departure)} → ${nameOf(arrival)}`,
    detail: `${localText(departure.localTime)}, ${airline.name} ${numbers.join('/')}`,
  }
}

/** What each passenger of a leg costs: "58.61 EUR an adult, 29.31 EUR a child". @param {Leg['passengerPrices']} [prices] */
export function eachText(prices) {
  const groups = [prices?.nonResidents, prices?.residents]
  const each = groups.flatMap((group, i) =>
    Object.entries(group ?? {}).flatMap(([type, price]) =>
      price === null ? [] : [texts.each(priceText(price) ?? '', type, i === 1)],
    ),
  )
  return each.join(', ')
}

/**
 * The flight of a leg: "PMI → BCN, 24 Nov 2026, 10:25, Llevant Airways 1579".
 * @param {Flight | null | undefined} flight
 */
export function flightText(flight) {
  if (!flight) return null
  const { title, detail } = flightSubject(flight)
  return `${title}, ${detail}`
}

/**
 * What a record or a state is about: its flights, or the id that was asked for.
 * @param {{ before?: Side | null | undefined, after?: Side | null | undefined, belief?: Belief | Fare, flights?: Partial<RecordFlights>,
 *   lastFlight?: LastFlight | null, route?: AnyRoute | null, place?: PlaceChange, flightId?: string | null,
 *   reference?: string | null }} record
 * @returns {Subject}
 */
export function subjectOf(record, terms = termsText(record)) {
  const { before, after, belief, flights, lastFlight, route, place } = record
  const { flightId, reference } = record
  if (route) return routeSubject(route)
  if (place) return { title: place.after.iata || place.id, detail: place.after.city }
  const flightOf = (/** @type {'outbound' | 'return'} */ leg) =>
    [after, before, belief].map((view) => view?.[leg]?.flight).find(Boolean) ??
    flights?.[leg] ??
    lastFlight?.[leg]
  const outbound = flightOf('outbound')
  const back = flightOf('return')
  const unusual = terms === termsText({}) ? '' : terms
  if (!outbound) {
    return { title: flightId ? texts.flight(flightId) : (reference ?? ''), detail: unusual }
  }
  const { title, detail } = flightSubject(outbound)
  const parts = [detail, back && flightText(back), unusual].filter(Boolean)
  return { title, detail: parts.join('; ') }
}

/** @param {AnyRoute} route @returns {Subject} */
function routeSubject({ departure, destination, eitherDirection }) {
  const ends = [departure, destination].map((end) =>
    typeof end === 'string' ? { code: end, city: '' } : { code: codeOf(end), city: end.city },
  )
  const cities = ends.flatMap(({ city }) => city || [])
  const title = ends.map(({ code }) => code).join(eitherDirection ? ' ⇄ ' : ' → ')
  return { title, detail: cities.join(' – ') }
}

/** What a record says, with what its price means. @param {Change} record */
export function changeText(record) {
  const year = new Date().getFullYear()
  return eventText(/** @type {Parameters<typeof eventText>[0]} */ (record), { year })
}

/** A route with its availability, or a place with its attributes. @param {Side | null | undefined} state */
export function routeText(state) {
  if (!state) return 'The route does not exist.'
  if (state.available === undefined)
    return `${state.iata || texts.none} ${state.city}, ${state.country}`
  if (state.available === null) return 'Whether the route can be booked is not known.'
  return state.available ? 'The route can be booked.' : 'The route cannot be booked.'
}

/** The code of a place; its id, if it has none. @param {Pick<RoutePlace, 'iata' | 'id'>} place */
export function codeOf({ iata, id }) {
  return iata || id
}

/** @param {string | undefined} state */
export function stateName(state) {
  return textOf(vocabulary.states, state ?? 'unknown')
}

/** @param {string | undefined} state @returns {Level} */
export function stateLevel(state) {
  return state === 'bookable' ? 'good' : state === 'not_bookable' ? 'bad' : 'idle'
}

/** The sign of a change, and how good it is: a price that falls is good news. @param {Change} record @returns {{ level: Level, sign?: string }} */
export function changeMark({ kind, before, after }) {
  if (kind === 'price_changed') {
    return Number(after?.price?.amount) > Number(before?.price?.amount)
      ? { level: 'warn', sign: '↑' }
      : { level: 'good', sign: '↓' }
  }
  const sign = CHANGE_SIGNS[kind] ?? (kind.endsWith('_changed') ? '~' : undefined)
  const level = vocabulary.kinds[kind]?.tone ?? 'warn'
  return sign === undefined ? { level } : { level: level === 'warn' ? 'idle' : level, sign }
}

/** @type {Record<string, string>} */
const CHANGE_SIGNS = {
  route_added: '+',
  route_removed: '−',
}

/** The feed of a record: of routes, of all fares, or of a reseller's watches. @param {{ kind: string, watchId?: string | null }} record */
export function feedOf({ kind, watchId }) {
  if (watchId !== undefined) return 'watch'
  return vocabulary.kinds[kind]?.feeds.includes('route') ? 'route' : 'fare'
}

/** What people call an endpoint. @param {WebhookEndpoint} endpoint */
export function endpointName({ description, format }) {
  return description || format
}

/** @param {WebhookEndpoint} endpoint @returns {{ level: Level, text: string }} */
export function endpointState({ enabled, disabledReason, failingSince, lastSuccessAt }) {
  if (!enabled) {
    return { level: 'bad', text: textOf(texts.endpoints.disabledReasons, disabledReason) }
  }
  if (failingSince !== null) return { level: 'warn', text: 'failing' }
  return lastSuccessAt === null
    ? { level: 'idle', text: 'nothing was sent yet' }
    : { level: 'good', text: 'works' }
}

/** How an attempt ended. @param {{ outcome: string, status: number | null }} attempt */
export function attemptText({ outcome, status }) {
  return texts.deliveries.attempt(textOf(texts.outcomes, outcome), status)
}

/** Which records an endpoint receives, and when. @param {WebhookEndpoint} endpoint */
export function receivesText({ kinds, reasons, lists, rules, digest }) {
  const isFiltered = [kinds, reasons, lists, rules].some((filter) => filter !== null)
  const which = isFiltered ? 'the records chosen below' : 'all records'
  return digest === null ? which : `${which}, ${textOf(texts.endpointForm.digests, paceOf(digest))}`
}

/** How often messages are joined. @param {Digest | null} digest */
export function paceOf(digest) {
  if (digest === null) return 'now'
  return digest.type === 'daily' ? digest.type : digest.every
}

/** The kinds of the records that endpoints receive. */
export function watchKinds() {
  const { kinds } = vocabulary
  return Object.keys(kinds).filter((kind) => kinds[kind]?.feeds.includes('watch'))
}
