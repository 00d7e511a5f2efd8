import type { PassengerPrices, Price } from '../world/wire.ts'
import { oneOf } from './fault-parameters.ts'
import { inFlights, type ResultScene, shapeFault } from './shape-fault.ts'

const HOUR_SECONDS = 3600
const ODD_PRICES = {
  negative: (price: Price) => ({ ...price, total: `-${price.total}` }),
  nan: (price: Price) => ({ ...price, total: 'NaN' }),
  currency: (price: Price) => ({ ...price, currency: 'USD' }),
  decimals: (price: Price) => ({ ...price, total: `${price.total}5` }),
  sum: (price: Price) => ({ ...price, total: (Number(price.total) + 1).toFixed(2) }),
  categories: (price: Price) => ({
    ...price,
    residents: swapped(price.residents),
    nonResidents: swapped(price.nonResidents),
  }),
}
type PriceForm = keyof typeof ODD_PRICES
const PRICE_FORMS = Object.keys(ODD_PRICES) as PriceForm[]

/** Faults of verify results: JSON of the right form, or nearly, that says what is not so. */
export const VERIFY_FAULTS = {
  'available-without-flight': shapeFault({
    summary: 'available: true without a flight',
    parameters: {},
    result: (_result, _none, scene) => forEach(scene, () => ({ available: true })),
  }),
  'unavailable-with-flight': shapeFault({
    summary: 'available: false beside a flight',
    parameters: {},
    result: (_result, _none, scene) =>
      forEach(scene, (id) => ({ available: false, flight: scene.flightOf(id) })),
  }),
  'another-flight': shapeFault({
    summary: 'another flight, that can be booked, under the id',
    parameters: {},
    result: (_result, _none, scene) => {
      const flight = scene.asked.otherFlight()
      return flight && forEach(scene, () => ({ available: true, flight }))
    },
  }),
  'id-missing': shapeFault({
    summary: 'nothing about one of the flights that were asked',
    parameters: { flight: oneOf('outbound', 'return') },
    result: (result, { flight }, { asked }) => {
      const missing = asked.ids[flight === 'outbound' ? 0 : 1]
      if (missing === undefined) return undefined
      return Object.fromEntries(Object.entries(result).filter(([id]) => id !== missing))
    },
  }),
  'extra-ids': shapeFault({
    summary: 'two flights that nobody asked for, one of each kind, beside those that were',
    parameters: {},
    result: (result, _none, { asked }) => {
      const flight = asked.otherFlight()
      const extra = flight === undefined ? {} : { [flight.id]: { available: true, flight } }
      return { ...result, ...extra, 'not-asked': { available: false } }
    },
  }),
  'odd-prices': shapeFault({
    summary:
      'prices negative, no number, in dollars, with three decimals, unlike the sum, of others',
    parameters: { form: oneOf('in-turn', ...PRICE_FORMS) },
    result: (result, { form }, { turn }) => {
      const now = form === 'in-turn' ? PRICE_FORMS[turn % PRICE_FORMS.length] : form
      const odd = ODD_PRICES[now ?? 'nan']
      return inFlights(result, (flight) => ({ ...flight, price: odd(flight.price) }))
    },
  }),
  'odd-duration': shapeFault({
    summary: 'a duration an hour longer than from departure to arrival',
    parameters: {},
    result: (result) =>
      inFlights(result, ({ duration, ...flight }) => ({
        ...flight,
        duration: { ...duration, seconds: duration.seconds + HOUR_SECONDS },
      })),
  }),
  'all-unavailable': shapeFault({
    summary: 'well formed, and not available, whatever was asked',
    parameters: {},
    result: (_result, _none, scene) => forEach(scene, () => ({ available: false })),
  }),
}

function forEach({ asked }: ResultScene, entryOf: (id: string) => object): object {
  return Object.fromEntries(asked.ids.map((id) => [id, entryOf(id)]))
}

/** A price for each type that was not asked for, and none for each that was. */
function swapped({ adult, child, infant }: PassengerPrices): PassengerPrices {
  const swap = (amount: number | null) => (amount === null ? 9.99 : null)
  return { adult: swap(adult), child: swap(child), infant: swap(infant) }
}
