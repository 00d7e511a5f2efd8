import { textOf, texts } from './texts.js'
import { localText } from './times.js'

/**
 * A price as text, or null.
 * @param {{ amount: string, currency: string } | null | undefined} price
 */
export function priceText(price) {
  return price ? `${price.amount}\u00A0${price.currency}` : null
}

/**
 * Why a belief is shown as unknown; of unusable answers also their reason.
 * @param {{ hiddenReason: string, lastReason: string | null }} shown
 */
export function hiddenText({ hiddenReason, lastReason }) {
  const text = textOf(texts.hidden, hiddenReason)
  return hiddenReason === 'unanswered' ? `${text}: ${lastReason?.replaceAll('_', ' ')}` : text
}

/**
 * What something is about: a short title, and the rest of what is known.
 * @typedef {{ title: string, detail: string }} Subject
 */

/** @param {any} flight @returns {Subject} */
function flightSubject({ departure, arrival, airline, numbers }) {
  const nameOf = (/** @type {any} */ { place: { iata, city, id } }) => iata ?? city ?? id
  return {
    title: `${nameOf(departure)} → ${nameOf(arrival)}`,
    detail: `${localText(departure.localTime)}, ${airline.name} ${numbers.join('/')}`,
  }
}

/** What each passenger of a leg costs: "58.61 EUR an adult, 29.31 EUR a child". @param {any} prices */
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
 * @param {any} flight
 */
export function flightText(flight) {
  if (!flight) return null
  const { title, detail } = flightSubject(flight)
  return `${title}, ${detail}`
}

/**
 * What a record or a state is about: its flights, or the id that was asked for.
 * @param {any} record
 * @returns {Subject}
 */
export function subjectOf(record) {
  const { before, after, belief, flights, lastFlight } = record
  const { flightId, reference, passengers } = record
  const views = [after, before, belief].filter(Boolean)
  const flightOf = (/** @type {'outbound' | 'return'} */ leg) =>
    views.map((view) => view[leg]?.flight).find(Boolean) ?? flights?.[leg] ?? lastFlight?.[leg]
  const outbound = flightOf('outbound')
  const back = flightOf('return')
  const mix = passengers ? mixText(passengers) : ''
  if (!outbound) {
    return { title: flightId ? texts.flight(flightId) : (reference ?? ''), detail: mix }
  }
  const { title, detail } = flightSubject(outbound)
  const parts = [detail, back && flightText(back), mix].filter(Boolean)
  return { title, detail: parts.join('; ') }
}

/**
 * For whom a fare is, unless it is for one adult: "2 adults, 1 resident child".
 * @param {any} passengers
 */
function mixText({ nonResidents, residents }) {
  const counted = [nonResidents, residents].flatMap((group, i) =>
    Object.entries(group)
      .filter(([, count]) => count > 0)
      .map(([type, count]) => texts.travellers(count, type, i === 1)),
  )
  const text = counted.join(', ')
  return text === texts.travellers(1, 'adults', false) ? '' : text
}

/** The step between two prices of one currency: " (+10 %)". @param {any} before @param {any} after */
function stepText(before, after) {
  if (before.currency !== after.currency || !(Number(before.amount) > 0)) return ''
  const percent = Math.round((100 * after.amount) / before.amount - 100)
  return percent === 0 ? '' : ` (${percent > 0 ? '+' : '−'}${Math.abs(percent)}\u00A0%)`
}

/** @param {any} record */
export function changeText({ kind, reason, before, after }) {
  const was = priceText(before?.price)
  const is = priceText(after?.price)
  if (kind === 'price_changed') {
    if (!is || !was) return texts.kinds.price_changed
    return `${texts.priceMoved(was, is)}${stepText(before.price, after.price)}`
  }
  if (kind === 'legs_changed') {
    // In an old record of a fare with one leg this is its first state.
    return after?.return
      ? `${texts.kinds.legs_changed}: ${pairText(after.pair)}`
      : pairText(after?.pair)
  }
  if (kind === 'became_available') return is ? texts.bookableFor(is) : texts.kinds.became_available
  if (kind === 'became_unavailable') {
    const text = textOf(texts.reasons, reason ?? 'unknown')
    return `${text}${was ? `, ${texts.was(was)}` : ''}`
  }
  if (kind === 'expired') return reason ? textOf(texts.reasons, reason) : texts.kinds.expired
  if (kind === 'watch_started' || kind === 'first_seen')
    return `${textOf(texts.kinds, kind)}: ${pairText(after?.pair)}${is ? `, ${is}` : ''}`
  return textOf(texts.kinds, kind)
}

/** @param {string | undefined} pair */
export function pairText(pair) {
  return textOf(texts.pairs, pair ?? 'unknown')
}

/** @param {string | undefined} pair @returns {import('./parts.js').Level} */
export function pairLevel(pair) {
  return pair === 'bookable' ? 'good' : pair === 'not_bookable' ? 'bad' : 'idle'
}

/** @param {{ kind: string }} record @returns {import('./parts.js').Level} */
export function changeLevel({ kind }) {
  if (kind === 'became_available' || kind === 'route_added') return 'good'
  if (kind === 'became_unavailable' || kind === 'route_removed') return 'bad'
  if (kind === 'route_gained_availability') return 'good'
  return ['expired', 'watch_started', 'first_seen'].includes(kind) ? 'idle' : 'warn'
}

/** The feed of a record: of routes, of all fares, or of a reseller's watches. @param {any} record */
export function feedOf({ kind, watchId }) {
  if (kind.startsWith('route_') || kind.startsWith('place_')) return 'route'
  return watchId === undefined ? 'fare' : 'watch'
}

/** What people call an endpoint. @param {any} endpoint */
export function endpointName({ description, format }) {
  return description || format
}

/** @param {any} endpoint @returns {{ level: import('./parts.js').Level, text: string }} */
export function endpointState({ enabled, disabledReason, failingSince, lastSuccessAt }) {
  if (!enabled) {
    const level = disabledReason === 'unconfirmed' ? 'idle' : 'bad'
    return { level, text: textOf(texts.endpoints.disabledReasons, disabledReason) }
  }
  if (failingSince !== null) return { level: 'warn', text: texts.endpoints.failing }
  return lastSuccessAt === null
    ? { level: 'idle', text: texts.endpoints.nothingSent }
    : { level: 'good', text: texts.endpoints.works }
}

/** How an attempt ended. @param {{ outcome: string, status: number | null }} attempt */
export function attemptText({ outcome, status }) {
  return texts.deliveries.attempt(textOf(texts.outcomes, outcome), status)
}

/** Which records an endpoint receives, and when. @param {any} endpoint */
export function receivesText({ kinds, reasons, lists, rules, digest }) {
  const isFiltered = [kinds, reasons, lists, rules].some((filter) => filter !== null)
  const which = isFiltered ? texts.endpoints.chosen : texts.endpoints.everything
  return digest === null
    ? which
    : `${which}, ${textOf(texts.endpointForm.digests, digest.every ?? 'daily')}`
}

/** The kinds of the records that endpoints receive. */
export const WATCH_KINDS = Object.keys(texts.kinds).filter(
  (kind) => feedOf({ kind }) !== 'route' && kind !== 'first_seen',
)
