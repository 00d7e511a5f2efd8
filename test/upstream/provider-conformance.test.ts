import { FARES_PROVIDER } from '../../src/upstream/fares/fares-provider.ts'
import type { Place } from '../../src/upstream/route-list.ts'
import { CSV_PROVIDER, type Offer } from './csv-provider.ts'
import { describeProvider, type Sent } from './provider-conformance.ts'
import { flight } from './verify-fixtures.ts'

describeProvider(() => ({
  provider: FARES_PROVIDER,
  list: json,
  available: (airlines) =>
    json(
      Object.fromEntries(
        Object.entries(airlines).map(([id, name]) => {
          const airline = { id: 7, name, twoLetterCode: 'T1' }
          return [id, { available: true, flight: flight({ id: Number(id), airline }) }]
        }),
      ),
    ),
  unavailable: (flightId) => json({ [flightId]: { available: false } }),
}))

describeProvider(() => ({
  provider: CSV_PROVIDER,
  list: (routes) => ({
    contentType: 'text/csv',
    body: routes.map((route) => `${cells(route.departure)},${cells(route.destination)}\n`).join(''),
  }),
  available: (airlines) => {
    const offers = Object.entries(airlines).map(([ref, carrier]) => offerOf(ref, carrier))
    return json({ offers })
  },
  unavailable: (ref) => json({ offers: [{ ref, seats: 0 }] }),
}))

function json(value: unknown): Sent {
  return { contentType: 'application/json', body: JSON.stringify(value) }
}

function cells({ id, iata, city, country }: Place): string {
  return [id, iata, city, country].join()
}

function offerOf(ref: string, carrier: string): Offer {
  const times = ['2026-07-20 08:00', '2026-07-20 09:30'] as const
  const sold = { carrier, number: 11, ends: ['PMI', 'MAD'] as const, times, cents: 8_450 }
  return { ref, seats: 3, flight: sold }
}
