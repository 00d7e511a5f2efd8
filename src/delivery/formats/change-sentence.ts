import type { Belief } from '../../feeds/change-shapes.ts'
import type { WatchChange } from '../../feeds/watch-record.ts'
import { sameMoney, sumMoney } from '../../platform/base/money.ts'
import { cleanText, nameText } from '../../platform/base/text.ts'
import { type QuestionInput, termsText } from '../../upstream/question.ts'
import {
  eventText,
  fareText,
  flightsText,
  type ShownEvent,
  type ShownRouteChange,
  sitesText,
} from './event-text.ts'

/** A record of a feed, as far as its sentence needs it. */
export interface ShownChange extends ShownEvent, QuestionInput {
  readonly fareId?: number
  readonly flights?: WatchChange['flights']
}

const MAX_CHARS = 400

/**
 * A record as a line of plain text for people: the flight, what happened, the price. Names of the upstream are text
 * in it: they hold no line end, no link, no mention, and nothing that changes the direction of writing.
 * @param year the year in which it is read. Dates of other years show theirs.
 * @example changeSentence(record, 2026) // 'PMI → BCN, 24 Nov 10:25, Llevant Airways 1579: sold out (was 348.81 EUR)'
 */
export function changeSentence(change: ShownChange | ShownRouteChange, year: number): string {
  const event = eventText(change, { year, offer: offerText })
  if ('runId' in change) return cleanText(event, MAX_CHARS)
  const { before } = change
  const after = change.after as Belief
  const fare = fareText(after, before, year) ?? lastFareText(change, year) ?? idText(change)
  const terms = termsText(change)
  const whom = terms === '' ? '' : `, for ${terms}`
  return cleanText(`${fare}${whom}: ${event}`, MAX_CHARS)
}

/** The flights that an earlier record showed, of a change whose states show none. */
function lastFareText({ flights }: ShownChange, year: number): string | undefined {
  const { outbound: out, return: back } = flights ?? {}
  return flightsText({ out, back, arrow: back ? '⇄' : '→' }, year)
}

function idText({ flightId, returnFlightId, fareId }: ShownChange): string {
  if (flightId === undefined) return `fare ${fareId ?? '?'}`
  const back = returnFlightId ? `, back ${nameText(returnFlightId)}` : ''
  return `flight ${nameText(flightId)}${back}`
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
