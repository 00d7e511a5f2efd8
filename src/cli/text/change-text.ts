import { printable } from './text-format.ts'

/** The shape of a change's `before` and `after` in the feeds. */
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
  watch_started: 'watch started',
}

/** A change as one line: the flight, what happened, the price. */
export function changeSentence(change: ShownChange): string {
  const { kind } = change
  // The first record of a watch has no state before.
  const was = change.before as ShownFare | null
  const is = change.after as ShownFare
  const words = kind === 'legs_changed' ? legsText(is) : (WORDS[kind] ?? kind)
  const flight = flightText(is, was) ?? idText(change)
  return printable(`${flight}  ${words}${priceText(kind, was, is)}`)
}

function idText({ flightId, fareId }: ShownChange): string {
  return flightId === undefined ? `fare ${fareId ?? '?'}` : `flight ${flightId}`
}

function flightText(is: ShownFare, was: ShownFare | null): string | undefined {
  const out = is.outbound.flight ?? was?.outbound.flight
  const back = is.return?.flight ?? was?.return?.flight
  if (!out) return undefined
  const arrow = is.return === null ? '→' : '⇄'
  const until = back ? ` – ${back.departsAt}` : ''
  return `${out.from} ${arrow} ${out.to} ${out.airline} ${out.numbers.join('/')} ${out.departsAt}${until}`
}

function priceText(kind: string, was: ShownFare | null, is: ShownFare): string {
  const [before, after] = [amountText(was), amountText(is)]
  if (kind === 'price_changed') return ` ${before} → ${after}`
  if (kind === 'became_unavailable' && before !== '') return `, was ${before}`
  if (kind === 'watch_started') return `, ${after === '' ? is.pair.replace('_', ' ') : after}`
  return kind === 'became_available' && after !== '' ? `, ${after}` : ''
}

function amountText(fare: ShownFare | null): string {
  return fare?.price ? `${fare.price.amount} ${fare.price.currency}` : ''
}

function legsText({ outbound, return: back }: ShownFare): string {
  if (back === null) return outbound.belief === 'unavailable' ? 'not available' : outbound.belief
  return `outbound ${outbound.belief}, return ${back.belief}`
}
