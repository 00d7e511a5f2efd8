import { expect, it } from 'vitest'
import { watchPage } from '../../src/views/watch-page.ts'

const NOW = new Date('2026-03-02T12:00:00Z')

const flight = (name: string) => ({
  departure: { place: { iata: 'PMI', city: name }, localTime: '2026-04-01 08:00' },
  arrival: { place: { iata: 'MAD', city: null }, localTime: '2026-04-01 09:20' },
  airline: { iata: null, name },
  numbers: [1],
})

type Given = Parameters<typeof watchPage>

/** A page of a watch with these states; the rest of its shape is not shown. */
function page(name: string, intervals: object[], now = NOW): string {
  const belief = {
    state: 'bookable',
    outbound: { belief: 'available', price: null, flight: flight(name) },
    return: null,
    price: { amount: '90.00', currency: 'EUR' },
  }
  const shown = { belief, lastFlight: null, status: 'followed' } as unknown as Given[0]
  return watchPage(shown, intervals as unknown as Given[1], now)
}

it('a page of a watch shows names of the upstream as text', () => {
  const html = page('<script>"x"</script>', [])

  expect(html).not.toContain('<script')
  expect(html).toContain('&#60;script&#62;')
  expect(html).not.toContain('<svg')
})
