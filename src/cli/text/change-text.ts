import { printable } from './text-format.ts'

/** What a change shows of a fare, before or after: the shape of the feed's `before` and `after`. */
interface ShownFare {
  readonly pair: string
  readonly outbound: ShownLeg
  readonly return: ShownLeg | null
  readonly price: { readonly amount: string; readonly currency: string } | null
}

interface ShownLeg {
  readonly belief: string
  readonly flight: {
    readonly from: string
    readonly to: string
    readonly airline: string
    readonly numbers: readonly number[]
    readonly departsAt: string
  } | null
}

export interface ShownChange {
  readonly kind: string
  readonly fareId?: number
  readonly flightId?: string
  readonly before: unknown
  readonly after: unknown
}

const WORDS: Readonly<Record<string, string>> = {
  became_available: 'can be booked',
  became_unavailable: 'SOLD OUT',
  price_changed: 'price',
  itinerary_changed: 'new itinerary',
  identity_changed: 'another flight under the same id',
  expired: 'expired',
}

/** A change as a line that a person understands: which flight, what happened, at what price. */
export function changeSentence(change: ShownChange): string {
  const { kind } = change
  const was = change.before as ShownFare
  const is = change.after as ShownFare
  const words = kind === 'legs_changed' ? legsText(is) : (WORDS[kind] ?? kind)
  const flight = flightText(is, was) ?? unseenText(change)
  return printable(`${flight}  ${words}${priceText(kind, was, is)}`)
}

function unseenText({ flightId, fareId }: ShownChange): string {
  return flightId === undefined ? `fare ${fareId ?? '?'}` : `flight ${flightId}`
}

function flightText(is: ShownFare, was: ShownFare): string | undefined {
  const out = is.outbound.flight ?? was.outbound.flight
  const back = is.return?.flight ?? was.return?.flight
  if (out === null) return undefined
  const arrow = is.return === null ? '→' : '⇄'
  const until = back === null || back === undefined ? '' : ` – ${back.departsAt}`
  return `${out.from} ${arrow} ${out.to} ${out.airline} ${out.numbers.join('/')} ${out.departsAt}${until}`
}

function priceText(kind: string, was: ShownFare, is: ShownFare): string {
  const now = is.price === null ? '' : `${is.price.amount} ${is.price.currency}`
  const then = was.price === null ? '' : `${was.price.amount} ${was.price.currency}`
  if (kind === 'price_changed') return ` ${then} → ${now}`
  if (kind === 'became_available' && now !== '') return `, ${now}`
  if (kind === 'became_unavailable' && then !== '') return `, was ${then}`
  return ''
}

function legsText({ outbound, return: back }: ShownFare): string {
  if (back === null) return outbound.belief === 'unavailable' ? 'not available' : outbound.belief
  return `outbound ${outbound.belief}, return ${back.belief}`
}
