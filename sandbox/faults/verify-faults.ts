import type { PassengerPrices, Price, Site } from '../world/wire.ts'
import { defineFault } from './fault-kind.ts'
import { oneOf } from './fault-parameters.ts'
import { changeFlights, jsonFault, type ResultContext } from './json-fault.ts'

const HOUR_SECONDS = 3600
const ODD_PRICES = {
  negative: (price: Price) => ({ ...price, total: `-${price.total}` }),
  nan: (price: Price) => ({ ...price, total: 'NaN' }),
  currency: (price: Price) => ({ ...price, currency: 'USD' }),
  decimals: (price: Price) => ({ ...price, total: `${price.total}5` }),
  sum: (price: Price) => ({ ...price, total: (Number(price.total) + 1).toFixed(2) }),
  // A cache that ignores the passengers.
  single: (price: Price) => ({ ...price, total: singleOf(price).toFixed(2) }),
  categories: (price: Price) => ({
    ...price,
    residents: swapped(price.residents),
    nonResidents: swapped(price.nonResidents),
  }),
}
type PriceForm = keyof typeof ODD_PRICES
const PRICE_FORMS = Object.keys(ODD_PRICES) as PriceForm[]

const OTHER_SITE: Site = {
  id: 900,
  name: 'Cobalt Fares',
  url: 'https://cobalt.sandbox.invalid/',
  logo: 'https://cobalt.sandbox.invalid/logo.png',
}

/** What upstreams add to an answer that is none. */
const MEMBERS = {
  message: 'temporarily unavailable',
  reason: 'timeout',
  success: false,
  retryAfter: 30,
  partial: true,
}
const MEMBER_NAMES = ['message', 'reason', 'success', 'retryAfter', 'partial'] as const

/** Faults of verify results: well-formed JSON, or nearly, with a wrong meaning. */
export const VERIFY_FAULTS = {
  'available-without-flight': jsonFault({
    summary: '`available: true` without a flight',
    result: (_result, context) => forEach(context, () => ({ available: true })),
  }),
  'unavailable-with-flight': jsonFault({
    summary: '`available: false` with a flight',
    result: (_result, context) =>
      forEach(context, (id) => ({ available: false, flight: context.flightOf(id) })),
  }),
  'another-flight': jsonFault({
    summary: 'another flight, which can be booked, under the id',
    result: (_result, context) => {
      const flight = context.requested.otherFlight()
      return flight && forEach(context, () => ({ available: true, flight }))
    },
  }),
  'id-missing': jsonFault({
    summary: 'nothing about one of the requested flights',
    parameters: { flight: oneOf('outbound', 'return') },
    result: (result, { requested, flight }) => {
      const missing = requested.ids[flight === 'outbound' ? 0 : 1]
      if (missing === undefined) return undefined
      return Object.fromEntries(Object.entries(result).filter(([id]) => id !== missing))
    },
  }),
  'extra-ids': jsonFault({
    summary: 'two flights more that were not requested',
    result: (result, { requested }) => {
      const flight = requested.otherFlight()
      const extra = flight === undefined ? {} : { [flight.id]: { available: true, flight } }
      return { ...result, ...extra, '7': { available: false } }
    },
  }),
  'odd-prices': jsonFault({
    summary:
      'prices negative, no number, in dollars, with three decimals, unlike the sum, for one passenger, of other categories',
    parameters: { form: oneOf('in-turn', ...PRICE_FORMS) },
    result: (result, { form, occurrence }) => {
      const name = form === 'in-turn' ? PRICE_FORMS[occurrence % PRICE_FORMS.length] : form
      const odd = ODD_PRICES[name ?? 'nan']
      return changeFlights(result, (flight) => ({ ...flight, price: odd(flight.price) }))
    },
  }),
  'other-site': jsonFault({
    summary: 'another site sells each flight',
    result: (result) => changeFlights(result, (flight) => ({ ...flight, site: OTHER_SITE })),
  }),
  'swapped-legs': jsonFault({
    summary: 'a bookable flight of two under the id of the other',
    result: (result, { requested: { ids } }) => {
      const entries = ids.map((id, at) => {
        const other = result[ids[1 - at] ?? '']
        return other?.available
          ? [id, { available: true, flight: { ...other.flight, id: Number(id) } }]
          : [id, result[id]]
      })
      const isPair = ids.length === 2 && ids.some((id) => result[id]?.available)
      return isPair ? Object.fromEntries(entries) : undefined
    },
  }),
  'frozen-answers': defineFault({
    summary: 'the first answer to each question, with its Date, from then on',
    endpoints: ['verify'],
    corrupt: ({ answer, url, kept, now }) => {
      const dated = { ...answer, headers: { ...answer.headers, date: now.toUTCString() } }
      const frozen = kept.get(url) ?? dated
      kept.set(url, frozen)
      return { answer: frozen }
    },
  }),
  'unknown-member': jsonFault({
    summary: '`available: false` for every flight, with an unknown member',
    parameters: { member: oneOf(...MEMBER_NAMES), at: oneOf('entry', 'top') },
    result: (_result, { member, at, ...context }) => {
      const odd = { [member]: MEMBERS[member] }
      const entries = forEach(context, () => ({ available: false, ...(at === 'entry' ? odd : {}) }))
      return at === 'entry' ? entries : { ...entries, ...odd }
    },
  }),
  'odd-duration': jsonFault({
    summary: 'a duration an hour too long',
    result: (result) =>
      changeFlights(result, ({ duration, ...flight }) => ({
        ...flight,
        duration: { ...duration, seconds: duration.seconds + HOUR_SECONDS },
      })),
  }),
  'all-unavailable': jsonFault({
    summary: '`available: false` for every flight',
    result: (_result, context) => forEach(context, () => ({ available: false })),
  }),
}

function forEach({ requested }: ResultContext, entryOf: (id: string) => object): object {
  return Object.fromEntries(requested.ids.map((id) => [id, entryOf(id)]))
}

/** The price of one passenger. */
function singleOf({ residents, nonResidents, total }: Price): number {
  const each = [residents, nonResidents].flatMap((prices) => Object.values(prices))
  return each.find((amount) => amount !== null) ?? Number(total)
}

/** A price for each type that was not requested, and none for each that was. */
function swapped({ adult, child, infant }: PassengerPrices): PassengerPrices {
  const swap = (amount: number | null) => (amount === null ? 9.99 : null)
  return { adult: swap(adult), child: swap(child), infant: swap(infant) }
}
