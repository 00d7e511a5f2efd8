import { expect } from 'vitest'
import type { VERIFY_FAULTS } from '../../../sandbox/faults/verify-faults.ts'
import type { Price } from '../../../sandbox/world/wire.ts'
import { answered, type FaultCase, flightOf, jsonOf, unfaulted } from './fault-case.ts'

export const VERIFY_CASES: Record<keyof typeof VERIFY_FAULTS, FaultCase[]> = {
  'available-without-flight': [
    {
      at: 'verify',
      outcome: answered(undefined, undefined),
      received: (received, { open, sold }) =>
        expect(jsonOf(received)).toEqual({
          [open]: { available: true },
          [sold]: { available: true },
        }),
    },
  ],
  'unavailable-with-flight': [
    {
      at: 'verify',
      outcome: answered(undefined, undefined),
      received: (received, { open, sold, flight }) =>
        expect(jsonOf(received)).toEqual({
          [open]: { available: false, flight },
          [sold]: { available: false, flight: expect.objectContaining({ id: expect.any(Number) }) },
        }),
    },
  ],
  'another-flight': [
    {
      at: 'verify',
      outcome: answered(true, true),
      received: (received, { open, sold, flight }) => {
        const other = flightOf(received, open)
        expect(other.from).not.toEqual(flight.from)
        expect([open, sold]).not.toContain(String(other.id))
        expect(flightOf(received, sold)).toEqual(other)
      },
    },
  ],
  'id-missing': [
    {
      at: 'verify',
      outcome: answered(undefined, false),
      received: (received, { sold }) =>
        expect(jsonOf(received)).toEqual({ [sold]: { available: false } }),
    },
    {
      at: 'verify',
      parameters: { flight: 'return' },
      outcome: answered(true, undefined),
      received: (received, { open, flight }) =>
        expect(jsonOf(received)).toEqual({ [open]: { available: true, flight } }),
    },
  ],
  'extra-ids': [
    {
      at: 'verify',
      outcome: unfaulted,
      received: (received, { result }) => {
        expect(jsonOf(received)).toMatchObject({ ...result, 'not-asked': { available: false } })
        expect(Object.keys(jsonOf(received) as object).length).toBe(4)
      },
    },
  ],
  'odd-prices': [
    price('negative', (odd, { total }) => expect(odd.total).toBe(`-${total}`)),
    price('nan', (odd) => expect(odd.total).toBe('NaN')),
    price('currency', (odd, { currency }) => expect(odd.currency).not.toBe(currency)),
    price('decimals', (odd) => expect(odd.total).toMatch(/^\d+\.\d{3}$/)),
    price('sum', (odd, { total }) => expect(Number(odd.total) - Number(total)).toBeCloseTo(1)),
    price('categories', ({ residents, nonResidents }) => {
      expect(residents).toEqual({ adult: 9.99, child: 9.99, infant: 9.99 })
      expect(nonResidents).toEqual({ adult: null, child: 9.99, infant: 9.99 })
    }),
  ],
  'odd-duration': [
    {
      at: 'verify',
      outcome: unfaulted,
      received: (received, { open, flight }) => {
        const { dates, duration } = flightOf(received, open)
        expect(dates).toEqual(flight.dates)
        expect(duration.seconds).toBe(flight.duration.seconds + 3600)
      },
    },
  ],
  'all-unavailable': [
    {
      at: 'verify',
      outcome: answered(false, false),
      received: (received, { open, sold }) =>
        expect(jsonOf(received)).toEqual({
          [open]: { available: false },
          [sold]: { available: false },
        }),
    },
  ],
}

function price(form: string, expectation: (odd: Price, truthful: Price) => void): FaultCase {
  return {
    at: 'verify',
    parameters: { form },
    outcome: unfaulted,
    received: (received, { open, flight }) =>
      expectation(flightOf(received, open).price, flight.price),
  }
}
