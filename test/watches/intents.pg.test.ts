import { describe, expect } from 'vitest'
import { createRandom } from '../../bench/schedule/random.ts'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { available, record, trackFare, watchFare } from '../fares/fare-fixtures.ts'
import { readFareRecords } from '../feeds/fare-records.ts'
import { it } from '../support/test-database.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

interface Wanted {
  readonly below?: number
  readonly paid?: number
  readonly percent?: number
  readonly lowDays?: number
}

/** A reseller with a watch that wants this of the prices of a fare without a check. */
async function watchFor(db: Db, { below, paid, percent, lowDays }: Wanted) {
  const fare = await trackFare(db)
  const reseller = await watchFare(db, 'ana', fare)
  await sql`
    update watch
       set price_below_amount = ${below ?? null}, price_below_currency = ${below ? 'EUR' : null},
           paid_amount = ${paid ?? null}, paid_currency = ${paid ? 'EUR' : null},
           price_drop_percent = ${percent ?? null}, new_low_days = ${lowDays ?? null}
     where reseller_id = ${reseller}
  `.execute(db)
  return { fare, reseller }
}

/** Records prices. @param agoMs how long ago the last of them was seen. */
async function showPrices(
  db: Db,
  fare: number,
  prices: readonly number[],
  { everyMs = 10_000, agoMs = 5_000 } = {},
) {
  const last = Date.now() - agoMs
  for (const [i, price] of prices.entries()) {
    const at = new Date(last - (prices.length - 1 - i) * everyMs)
    await record(db, fare, at, available(price.toFixed(2)))
  }
}

const feedOf = (db: Db, reseller: number) =>
  readFareRecords({ db }, reseller, { after: 0, limit: 1_000 })

/** What is notified of each price, by the rule as people say it. */
function notified(prices: readonly number[], isMet: (price: number) => boolean, target: number) {
  let isNotified = false
  return prices.map((price) => {
    const isNew = isMet(price) && !isNotified
    isNotified = isMet(price) || (isNotified && price < 1.01 * target)
    return isNew
  })
}

/** Prices around 100, each another and at most a twentieth from the one before: one answer is enough for it. */
function walk(seed: number, length: number): number[] {
  const { uniform } = createRandom(seed)
  let price = 104
  const prices = Array.from({ length }, () => {
    const wanted = price * (0.96 + 0.08 * uniform())
    price = Math.round(100 * Math.min(112, Math.max(92, wanted))) / 100
    return price
  })
  return [...new Set(prices)]
}

describe('what a watch wants of a price', () => {
  it('a target is notified when the price falls below it, and again after it was a hundredth above', async ({
    db,
  }) => {
    const prices = walk(1, 40)
    const { fare, reseller } = await watchFor(db, { below: 100, paid: 120, percent: 12.5 })

    await showPrices(db, fare, prices)

    const below = notified(prices, (price) => price < 100, 100)
    const drop = notified(prices, (price) => price <= 105, 105)
    const expected = prices.flatMap((price, i) => {
      const intents = [below[i] ? 'priceBelow' : '', drop[i] ? 'priceDrop' : ''].filter(Boolean)
      const saving = drop[i] ? (120 - price).toFixed(2) : null
      return i === 0 || intents.length > 0 ? [{ amount: price.toFixed(2), intents, saving }] : []
    })
    const records = await feedOf(db, reseller)
    expect(expected.length).toBeGreaterThan(2)
    expect(
      records.map(({ after, intents, saving }) => {
        return { amount: after?.price?.amount, intents, saving: saving?.amount ?? null }
      }),
    ).toEqual(expected)
  })

  it('a new low is notified when the history covers its days, and each lower price again', async ({
    db,
  }) => {
    const { fare, reseller } = await watchFor(db, { lowDays: 3 })

    // The first is four days old at the fourth price.
    await showPrices(db, fare, [100, 98, 99, 97, 98, 96.5], { everyMs: DAY_MS })

    const intents = (await feedOf(db, reseller)).map(({ after, intents: met }) => [
      after?.price?.amount,
      ...met,
    ])
    expect(intents).toContainEqual(['96.50', 'newLowDays'])
    expect(intents).not.toContainEqual(['99.00', 'newLowDays'])
  })

  it('a fare that is below the target when its watch starts says so at once', async ({ db }) => {
    const { fare, reseller } = await watchFor(db, { below: 100 })

    await showPrices(db, fare, [95, 94])

    const records = await feedOf(db, reseller)
    expect(records.map(({ kind, intents }) => [kind, ...intents])).toEqual([
      ['watch_started', 'priceBelow'],
    ])
  })
})

describe('a record of a price', () => {
  it('shows before the price that was notified last', async ({ db }) => {
    const fare = await trackFare(db)
    const reseller = await watchFare(db, 'ana', fare, { percent: '2' })

    await showPrices(db, fare, [100, 100.5, 101, 101.5, 102, 102.5])

    const [, step] = await feedOf(db, reseller)
    expect(step?.before?.price).toEqual({ amount: '100.00', currency: 'EUR' })
    expect(step?.before?.outbound.price).toBeNull()
    expect(step?.after?.price).toEqual({ amount: '102.00', currency: 'EUR' })
  })

  it('has its context among the days before', async ({ db }) => {
    const fare = await trackFare(db)
    const reseller = await watchFare(db, 'ana', fare)
    const prices = [100, 101, 102, 103, 104, 105, 106, 107, 108, 109, 110, 100.5]

    await showPrices(db, fare, prices, { everyMs: DAY_MS })

    const last = (await feedOf(db, reseller)).at(-1)?.context
    expect(last).toMatchObject({ lowest: false })
    expect(last?.prices).toBeGreaterThanOrEqual(12)
    // The first price was that of two UTC days.
    expect(last?.percentile).toBe(Math.floor(200 / (last?.prices ?? 0)))
  })

  it('has no percentile of fewer than ten days', async ({ db }) => {
    const fare = await trackFare(db)
    const reseller = await watchFare(db, 'ana', fare)

    await showPrices(db, fare, [100, 99], { everyMs: DAY_MS })

    const last = (await feedOf(db, reseller)).at(-1)?.context
    expect(last).toMatchObject({ lowest: true, percentile: null })
    expect(last?.prices).toBeLessThanOrEqual(3)
  })
})
