import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { eur } from './answers.ts'
import { priceMoved } from './price-threshold.ts'

const ANY = { amount: null, percent: null }

describe('the price thresholds of a watch', () => {
  it.each<[string, string, { amount?: string; percent?: string }, boolean]>([
    ['100.00', '100.01', {}, true],
    ['100.00', '100.00', {}, false],
    ['100.00', '100', { amount: '0' }, false],
    ['100.00', '104.99', { amount: '5' }, false],
    ['100.00', '105.00', { amount: '5' }, true],
    ['105.00', '100.00', { amount: '5.00' }, true],
    ['100.00', '100.01', { amount: '0.005' }, true],
    ['100.00', '100.01', { amount: '0.011' }, false],
    ['100.00', '104.99', { percent: '5' }, false],
    ['100.00', '105.00', { percent: '5' }, true],
    ['100.00', '95.00', { percent: '5' }, true],
    ['95.00', '100.00', { percent: '5.26' }, true],
    ['95.00', '100.00', { percent: '5.27' }, false],
    ['0.00', '0.01', { percent: '500' }, true],
    ['100.00', '105.00', { amount: '50', percent: '5' }, true],
    ['100.00', '105.00', { amount: '5', percent: '50' }, true],
    ['100.00', '105.00', { amount: '6', percent: '6' }, false],
    ['0.10', '0.30', { amount: '0.2' }, true],
    ['999999999999.98', '999999999999.99', { amount: '0.01' }, true],
  ])('last notified %s, now %s, thresholds %j: %s', (notified, now, thresholds, expected) => {
    expect(priceMoved(eur(notified), eur(now), { ...ANY, ...thresholds })).toBe(expected)
  })

  it('a price that cannot be compared passes: a first price, another currency, no single price', () => {
    const strict = { amount: '1000000', percent: '1000000' }

    expect(priceMoved(null, eur('100.00'), strict)).toBe(true)
    expect(priceMoved(eur('100.00'), { amount: '100.00', currency: 'USD' }, strict)).toBe(true)
    expect(priceMoved(eur('100.00'), null, strict)).toBe(true)
  })

  it('a rise and a fall by the same amount pass alike', () => {
    const anyCents = fc.integer({ min: 0, max: 10_000_000 })
    const anyAmount = fc.option(anyCents.map((cents) => (cents / 1000).toFixed(3)))
    fc.assert(
      fc.property(anyCents, anyCents, anyAmount, (base, step, amount) => {
        const notified = euros(base + step)
        const up = priceMoved(notified, euros(base + 2 * step), { amount, percent: null })
        const down = priceMoved(notified, euros(base), { amount, percent: null })
        expect(up).toBe(down)
      }),
    )
  })

  it('a price passes from exactly the threshold on', () => {
    const anyCents = fc.integer({ min: 1, max: 1_000_000 })
    fc.assert(
      fc.property(anyCents, anyCents, fc.nat(20_000), (notified, now, hundredths) => {
        const percent = (hundredths / 100).toFixed(2)
        const moved = Math.abs(now - notified)

        const expected = moved > 0 && moved * 10_000 >= hundredths * notified
        expect(priceMoved(euros(notified), euros(now), { amount: null, percent })).toBe(expected)
      }),
      { numRuns: 2_000 },
    )
  })

  it.each(['-1', '1e3', '', '5 %', 'NaN'])('the threshold "%s" is refused', (amount) => {
    expect(() => priceMoved(eur('1.00'), eur('2.00'), { amount, percent: null })).toThrow(
      RangeError,
    )
  })
})

function euros(cents: number) {
  return eur((cents / 100).toFixed(2))
}
