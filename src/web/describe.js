import { textOf, texts } from './texts.js'

/**
 * A price as text, or null.
 * @param {{ amount: string, currency: string } | null | undefined} price
 */
export function priceText(price) {
  return price ? `${price.amount} ${price.currency}` : null
}

/**
 * The flight of a leg: "PMI → BCN 24 Nov 10:25, Llevant Airways 1579".
 * @param {any} flight
 */
export function flightText(flight) {
  if (!flight) return null
  const { from, to, airline, numbers, departsAt } = flight
  return `${from} → ${to} ${departsAt}, ${airline} ${numbers.join('/')}`
}

/**
 * What a record or a state is about: its flights, or the id that was asked for.
 * @param {any} record
 */
export function subjectText({ before, after, flightId, belief, reference }) {
  const views = [after, before, belief].filter(Boolean)
  const found = views.map((view) => flightText(view.outbound?.flight)).find(Boolean)
  const back = views.map((view) => flightText(view.return?.flight)).find(Boolean)
  const outbound = found ?? (flightId ? texts.flight(flightId) : (reference ?? ''))
  return back ? `${outbound} + ${back}` : outbound
}

/** @param {any} record */
export function changeText({ kind, reason, before, after }) {
  const was = priceText(before?.price)
  const is = priceText(after?.price)
  if (kind === 'price_changed')
    return is && was ? texts.priceMoved(was, is) : texts.kinds.price_changed
  if (kind === 'became_available') return is ? texts.bookableFor(is) : texts.kinds.became_available
  if (kind === 'became_unavailable') {
    const text = textOf(texts.reasons, reason ?? 'unknown')
    return `${text}${was ? `, ${texts.was(was)}` : ''}`
  }
  if (kind === 'expired') return reason ? textOf(texts.reasons, reason) : texts.kinds.expired
  if (kind === 'watch_started')
    return `${texts.kinds.watch_started}: ${pairText(after?.pair)}${is ? `, ${is}` : ''}`
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
  return kind === 'expired' || kind === 'watch_started' ? 'idle' : 'warn'
}

/** The feed of a record: of routes, of all fares, or of a reseller's watches. @param {any} record */
export function feedOf({ kind, watchId }) {
  if (kind.startsWith('route_') || kind === 'place_changed') return 'route'
  return watchId === undefined ? 'fare' : 'watch'
}
