import { expect } from 'vitest'
import type { VERIFY_FAULTS } from '../../../src/sandbox/faults/verify-faults.ts'
import type { Price } from '../../../src/sandbox/world/wire.ts'
import { type FaultCase, flightOf, honestly, jsonOf, said } from './fault-case.ts'

export const VERIFY_CASES: Record<keyof typeof VERIFY_FAULTS, FaultCase[]> = {
  'available-without-flight': [
    {
      at: 'verify',
      outcome: said(undefined, undefined),
      heard: (heard, { open, sold }) =>
        expect(jsonOf(heard)).toEqual({ [open]: { available: true }, [sold]: { available: true } }),
    },
  ],
  'unavailable-with-flight': [
    {
      at: 'verify',
      outcome: said(undefined, undefined),
      heard: (heard, { open, sold, flight }) =>
        expect(jsonOf(heard)).toEqual({
          [open]: { available: false, flight },
          [sold]: { available: false, flight: expect.objectContaining({ id: expect.any(Number) }) },
        }),
    },
  ],
  'another-flight': [
    {
      at: 'verify',
      outcome: said(true, true),
      heard: (heard, { open, sold, flight }) => {
        const other = flightOf(heard, open)
        expect(other.from).not.toEqual(flight.from)
        expect([open, sold]).not.toContain(String(other.id))
        expect(flightOf(heard, sold)).toEqual(other)
      },
    },
  ],
  'id-missing': [
    {
      at: 'verify',
      outcome: said(undefined, false),
      heard: (heard, { sold }) => expect(jsonOf(heard)).toEqual({ [sold]: { available: false } }),
    },
    {
      at: 'verify',
      parameters: { flight: 'return' },
      outcome: said(true, undefined),
      heard: (heard, { open, flight }) =>
        expect(jsonOf(heard)).toEqual({ [open]: { available: true, flight } }),
    },
  ],
  'extra-ids': [
    {
      at: 'verify',
      outcome: honestly,
      heard: (heard, { result }) => {
        expect(jsonOf(heard)).toMatchObject({ ...result, 'not-asked': { available: false } })
        expect(Object.keys(jsonOf(heard) as object).length).toBe(4)
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
      outcome: honestly,
      heard: (heard, { open, flight }) => {
        const { dates, duration } = flightOf(heard, open)
        expect(dates).toEqual(flight.dates)
        expect(duration.seconds).toBe(flight.duration.seconds + 3600)
      },
    },
  ],
  'all-unavailable': [
    {
      at: 'verify',
      outcome: said(false, false),
      heard: (heard, { open, sold }) =>
        expect(jsonOf(heard)).toEqual({
          [open]: { available: false },
          [sold]: { available: false },
        }),
    },
  ],
}

function price(form: string, look: (odd: Price, honest: Price) => void): FaultCase {
  return {
    at: 'verify',
    parameters: { form },
    outcome: honestly,
    heard: (heard, { open, flight }) => look(flightOf(heard, open).price, flight.price),
  }
}
