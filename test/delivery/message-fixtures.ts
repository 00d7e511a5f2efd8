import type { ChatHosts } from '../../src/delivery/formats/chats.ts'
import type { Message, Target } from '../../src/delivery/formats/format.ts'
import type { Flight } from '../../src/feeds/change-shapes.ts'

/** A target without secrets, headers and template. */
export const TARGET: Target = {
  endpointId: 'e',
  address: 'https://receiver.example/hooks',
  secrets: [],
  headers: {},
  template: null,
}

export const NO_CHATS: ChatHosts = { slack: [], teams: [], discord: [], telegram: [], ntfy: [] }

/** A flight as records show it. */
export const OUT: Flight = {
  airline: { iata: 'LV', name: 'Llevant Airways' },
  numbers: [1579],
  departure: endAt('PMI', '2026-11-24 10:25'),
  arrival: endAt('BCN', '2026-11-24 11:20'),
  stops: [],
  site: null,
}

export function endAt(iata: string, localTime: string): Flight['departure'] {
  return { place: { iata, id: null, city: null, country: null }, localTime, zone: null, at: null }
}

export function flownBy(name: string): Flight {
  return { ...OUT, airline: { iata: null, name } }
}

/** A message that a fare sold out, with this airline, reference and number. */
export function soldOut({
  airline = OUT.airline.name,
  reference = 'A-1',
  seq = 1,
}: {
  readonly airline?: string
  readonly reference?: string
  readonly seq?: number
} = {}): Message {
  const flight = flownBy(airline)
  const price = { amount: '348.81', currency: 'EUR' }
  const recordedAt = '2026-11-22T13:00:00.000Z'
  return {
    deliveryId: `0190a7c0-0000-7000-8000-${String(seq).padStart(12, '0')}`,
    type: 'fare.became_unavailable',
    timestamp: recordedAt,
    data: {
      seq,
      kind: 'became_unavailable',
      reason: 'sold_out',
      list: 'summer',
      reference,
      flightId: '101',
      returnFlightId: null,
      before: { state: 'bookable', outbound: { belief: 'available', flight }, return: null, price },
      after: {
        state: 'not_bookable',
        outbound: { belief: 'unavailable', flight: null },
        return: null,
        price: null,
      },
      recordedAt,
    },
  }
}

export const SOLD_OUT =
  'PMI → BCN, 24 Nov 10:25, Llevant Airways 1579: sold out (was 348.81 EUR) [summer / A-1]'
