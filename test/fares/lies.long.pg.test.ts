import { describe, expect } from 'vitest'
import { readDetectionDelays } from '../../src/views/detection-delays.ts'
import { seeded } from '../soak/run-soak.ts'
import { it } from '../support/test-database.ts'
import { UNAVAILABLE } from './answers.ts'
import {
  HOLD_SECONDS,
  laneSeconds,
  openWorld,
  sold,
  type Upstream,
  type World,
  type WorldRecord,
} from './lies-world.ts'

const FARES = 90
/** By then each fare is known, and its first loss confirmed. */
const KNOWN = 120
/** In so many seconds each fare is checked twice. */
const TWO_CHECKS = 80

/** The records after a second; those before are the first that is known of each fare. */
async function recordsSince(world: World, second: number): Promise<WorldRecord[]> {
  return (await world.records()).filter(({ recordedAt }) => recordedAt > second)
}

function kindsOf(records: readonly WorldRecord[]): Record<string, number> {
  const groups = Map.groupBy(records, ({ kind }) => kind)
  return Object.fromEntries([...groups].map(([kind, all]) => [kind, all.length]))
}

const allSold: Upstream = (fare) => sold(fare)
const lostBelow =
  (count: number): Upstream =>
  (fare) =>
    fare < count ? UNAVAILABLE : sold(fare)

describe('an upstream that shows sold-out fares as available for 40 s', () => {
  it('gives no record, and its incidents close: no fare stays held', async ({ databaseUrl }) => {
    const honest = lostBelow(40)
    const world = await openWorld(databaseUrl, FARES)
    await world.runUntil(KNOWN, honest)
    expect(await world.shown()).toEqual([
      { pair: 'bookable', hidden: null, fares: 50 },
      { pair: 'not_bookable', hidden: null, fares: 40 },
    ])
    const before = await world.shown()
    await world.runUntil(KNOWN + 40, allSold)
    expect(await world.openIncidents()).toEqual(['mass_gain'])
    await world.runUntil(KNOWN + 40 + HOLD_SECONDS + laneSeconds(40), honest)

    expect(await recordsSince(world, KNOWN)).toEqual([])
    expect(await world.openIncidents()).toEqual([])
    expect(await world.shown()).toEqual(before)
  })
})

describe('40 of 90 fares that truly sell out at once', () => {
  it('are shown as held, age, and are recorded when their hold ends, with the delay that it made', async ({
    databaseUrl,
  }) => {
    const world = await openWorld(databaseUrl, FARES)
    await world.runUntil(KNOWN, allSold)
    await world.runUntil(KNOWN + TWO_CHECKS, lostBelow(40))
    expect(await world.shown()).toEqual([
      { pair: 'bookable', hidden: null, fares: 50 },
      { pair: 'unknown', hidden: 'held', fares: 40 },
    ])
    expect(Math.max(...(await world.lastGoodChecks((fare) => fare < 40)))).toBeLessThanOrEqual(
      KNOWN,
    )
    expect(await recordsSince(world, KNOWN)).toEqual([])

    const atLatest = KNOWN + TWO_CHECKS + HOLD_SECONDS + laneSeconds(40)
    await world.runUntil(atLatest, lostBelow(40))
    const records = await recordsSince(world, KNOWN)
    expect(kindsOf(records)).toEqual({ became_unavailable: 40 })
    for (const { fare, heldSince, recordedAt } of records) {
      expect(fare).toBeLessThan(40)
      expect(recordedAt - (heldSince ?? 0)).toBeLessThanOrEqual(HOLD_SECONDS + laneSeconds(40))
    }
    expect(await world.shown()).toEqual([
      { pair: 'bookable', hidden: null, fares: 50 },
      { pair: 'not_bookable', hidden: null, fares: 40 },
    ])
    const [delay] = await readDetectionDelays(world.db)
    expect(delay?.changes).toBe(40)
    expect(delay?.atMostSeconds.p50).toBeGreaterThanOrEqual(HOLD_SECONDS)
    expect(delay?.midpointSeconds.p50).toBeGreaterThanOrEqual(HOLD_SECONDS)
  })

  it('are recorded at once where an operator closes the incident, and nothing of later with them', async ({
    databaseUrl,
  }) => {
    const world = await openWorld(databaseUrl, FARES)
    await world.runUntil(KNOWN, allSold)
    await world.runUntil(KNOWN + TWO_CHECKS, lostBelow(40))
    await world.close('mass_loss')
    const closedAt = world.second()
    await world.runUntil(closedAt + laneSeconds(40), lostBelow(40))
    expect(kindsOf(await recordsSince(world, KNOWN))).toEqual({ became_unavailable: 40 })

    const truth = lostBelow(40)
    const cents: Upstream = (fare) => (fare < 40 ? UNAVAILABLE : sold(fare, '10000.00'))
    await world.runUntil(closedAt + 69, truth)
    const honestUntil = world.second()
    await world.runUntil(honestUntil + 60, () => UNAVAILABLE)
    await world.runUntil(honestUntil + 120, truth)
    await world.runUntil(honestUntil + 180, cents)
    await world.runUntil(honestUntil + 180 + TWO_CHECKS, truth)

    expect(await recordsSince(world, honestUntil)).toEqual([])
  })
})

describe('an upstream that shows a third of 300 fares as sold out for 5 min', () => {
  it('gives no record, whichever third it is', async ({ databaseUrl }) => {
    const known = 300
    const lying =
      (twentieths: number): Upstream =>
      (fare) =>
        fare % 20 < twentieths ? UNAVAILABLE : sold(fare)
    const world = await openWorld(databaseUrl, 300)
    await world.runUntil(known, allSold)
    await world.runUntil(known + 60, lying(8))
    expect(await world.openIncidents()).toEqual(['mass_loss'])
    await world.runUntil(known + 300, lying(7))
    await world.runUntil(known + 300 + 2 * TWO_CHECKS, allSold)

    expect(await recordsSince(world, known)).toEqual([])
    expect(await world.shown()).toEqual([{ pair: 'bookable', hidden: null, fares: 300 }])
  })
})

describe('36 fares whose prices jump with every answer', () => {
  it('delay the true prices of 17 others by one hold at most', async ({ databaseUrl }) => {
    const random = seeded(5)
    const jumping = (amount: string): Upstream => {
      return (fare) => {
        if (fare < 36) return sold(fare, (50 + 200 * random()).toFixed(2))
        return fare < 53 ? sold(fare, amount) : sold(fare)
      }
    }
    const world = await openWorld(databaseUrl, FARES)
    await world.runUntil(KNOWN, allSold)
    await world.runUntil(KNOWN + 60, jumping('100.00'))
    expect(await world.openIncidents()).toEqual(['mass_price_change'])
    const atLatest = KNOWN + 60 + TWO_CHECKS + HOLD_SECONDS + laneSeconds(53)
    await world.runUntil(atLatest, jumping('140.00'))

    const others = (await recordsSince(world, KNOWN))
      .filter(({ fare }) => fare >= 36)
      .toSorted((a, b) => a.fare - b.fare)
    expect(others.map(({ fare, amount }) => [fare, amount])).toEqual(
      Array.from({ length: 17 }, (_, n) => [36 + n, '140.00']),
    )
  })
})

describe('what a reseller receives of an upstream that shows 60 of its 90 fares as sold out', () => {
  const started = Array.from({ length: FARES }, () => 'watch_started')

  it('for 5 min is nothing', async ({ databaseUrl }) => {
    const world = await openWorld(databaseUrl, FARES)
    await world.runUntil(KNOWN, allSold)
    await world.runUntil(KNOWN + 300, lostBelow(60))
    expect((await world.shown()).find(({ hidden }) => hidden === 'held')?.fares).toBeGreaterThan(20)
    await world.runUntil(KNOWN + 300 + TWO_CHECKS, allSold)

    expect(await world.feed()).toEqual({ kinds: started, isDense: true })
    expect(await world.shown()).toEqual([{ pair: 'bookable', hidden: null, fares: FARES }])
  })

  it('for 30 min is each loss once, ten minutes late, and each return without a second hold', async ({
    databaseUrl,
  }) => {
    const world = await openWorld(databaseUrl, FARES)
    await world.runUntil(KNOWN, allSold)
    const recordedBy = KNOWN + TWO_CHECKS + HOLD_SECONDS + laneSeconds(60)
    await world.runUntil(recordedBy, lostBelow(60))
    const losses = Array.from({ length: 60 }, () => 'became_unavailable')
    expect(await world.feed()).toEqual({ kinds: [...started, ...losses], isDense: true })
    await world.runUntil(KNOWN + 1_800, lostBelow(60))
    await world.runUntil(KNOWN + 1_800 + TWO_CHECKS, allSold)

    const gains = Array.from({ length: 60 }, () => 'became_available')
    expect(await world.feed()).toEqual({ kinds: [...started, ...losses, ...gains], isDense: true })
    const returns = (await recordsSince(world, KNOWN)).filter(({ pair }) => pair === 'bookable')
    expect(returns.filter(({ heldSince }) => heldSince !== null)).toEqual([])
    expect(await world.shown()).toEqual([{ pair: 'bookable', hidden: null, fares: FARES }])
  })
})
