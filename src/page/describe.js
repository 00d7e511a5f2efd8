/**
 * @import { AnyRoute, Change, Side } from './answers.ts'
 * @import { Belief, Digest, Fare, Flight, LastFlight, Leg, PlaceChange, Price, RecordFlights, RoutePlace, WebhookEndpoint } from './api-types.ts'
 * @import { Level } from './parts.js'
 */
import { textOf, texts } from './texts.js'
import { dayText, localText } from './times.js'
import { phrase, termsText, vocabulary } from './vocabulary.js'

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

/** The sentence of a record, with what its price means. @param {Change} record */
export function changeText(record) {
  return [eventText(record), ...notesOf(record)].join(', ')
}

/** @param {Change} record */
function notesOf({ intents = [], saving, context }) {
  const { notes } = vocabulary
  const isKnown = context?.percentile != null
  const rank = isKnown && (context.lowest ? notes.lowest : notes.percentile)
  const low = intents.includes('newLowDays') && !(isKnown && context.lowest) && notes.newLow
  const [prices, percentile] = [String(context?.prices), String(context?.percentile)]
  const values = { saving: priceText(saving), prices, percentile }
  const texts = [notes.saving, rank, low].map((note) => note && phrase([note], values))
  return texts.filter(Boolean)
}

/** A route with its availability, or a place with its attributes. @param {Side | null | undefined} state */
export function routeText(state) {
  if (!state) return 'The route does not exist.'
  if (state.available === undefined)
    return `${state.iata || texts.none} ${state.city}, ${state.country}`
  if (state.available === null) return 'Whether the route can be booked is not known.'
  return state.available ? 'The route can be booked.' : 'The route cannot be booked.'
}

/** The values of a sentence about a route or a place. @param {Change} record */
function routeValues({ route, place, firstSeenAt, detectedAt = '' }) {
  const nameOf = (/** @type {PlaceChange['after']} */ { iata, city, country }) =>
    `${city} (${iata}), ${country}`
  const ends = route && [route.departure, route.destination]
  return {
    route: ends?.map((end) => end.city || codeOf(end)).join(' – '),
    codes: ends?.map(codeOf).join('–'),
    today: firstSeenAt && firstSeenAt < detectedAt ? undefined : 'today',
    firstSeen: firstSeenAt && dayText(new Date(firstSeenAt)),
    place: place && nameOf(place.after),
    placeBefore: place && nameOf(place.before),
  }
}

/** @param {Change} record */
function eventText(record) {
  const { kind, reason, before, after } = record
  const known = vocabulary.kinds[kind]
  if (known === undefined) return textOf({}, kind)
  const values = {
    state: stateText(after),
    reason: vocabulary.reasons[reason ?? ''] ?? known.label,
    leg: lostLeg(after),
    before: flightsBefore(before, after),
    price: priceText(after?.price),
    was: priceText(before?.price),
    site: sitesText(after),
    siteBefore: sitesText(before),
    ...stepOf(before?.price, after?.price),
    ...routeValues(record),
  }
  return phrase(known.sentences, values) ?? known.label
}

/** The state of a fare, with its price if it can be booked. @param {Side | null | undefined} fare */
function stateText(fare) {
  if (!fare?.outbound) return undefined
  const { state, outbound, return: back, price } = fare
  return phrase(vocabulary.states[state ?? '']?.sentences ?? [], {
    price: priceText(price),
    outbound: textOf(vocabulary.beliefs, outbound.belief),
    return: back && textOf(vocabulary.beliefs, back.belief),
  })
}

/** The names of the sites that sell a fare. @param {Side | null | undefined} fare */
function sitesText(fare) {
  const names = [fare?.outbound, fare?.return].flatMap((leg) => leg?.flight?.site?.name ?? [])
  return [...new Set(names)].join(' and ') || undefined
}

/** The code of a place; its id, if it has none. @param {Pick<RoutePlace, 'iata' | 'id'>} place */
export function codeOf({ iata, id }) {
  return iata || id
}

/** Which of two flights was lost, if one was. @param {Side | null | undefined} fare */
function lostLeg(fare) {
  if (!fare?.return || fare.return.belief === fare.outbound?.belief) return undefined
  return vocabulary.legs[fare.outbound?.belief === 'unavailable' ? 'outbound' : 'return']
}

/** The flights before a change, if they read otherwise. @param {Side | null | undefined} before @param {Side | null | undefined} after */
function flightsBefore(before, after) {
  const [was, is] = [before, after].map((fare) => {
    const { title, detail } = subjectOf({ after: fare })
    return title && `${title}, ${detail}`
  })
  return was === is ? undefined : was
}

/** The amount before a step of the price in one currency, by its direction, and by how much. @param {Price | null | undefined} was @param {Price | null | undefined} is */
function stepOf(was, is) {
  if (!was || !is || was.currency !== is.currency) return {}
  const step = Number(is.amount) / Number(was.amount) - 1
  const share = Math.abs(step)
  const percent = share >= 0.005 && Number.isFinite(share) ? (100 * share).toFixed() : undefined
  return { percent, [step > 0 ? 'risenFrom' : 'fallenFrom']: was.amount }
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
