import { describe, expect } from 'vitest'
import { readFeedPage } from '../../src/feeds/watch-feed-queries.ts'
import type { RouteRecord } from '../../src/feeds/watch-record.ts'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { type ChosenRoutes, changeReseller, createReseller } from '../../src/resellers/resellers.ts'
import { disableReseller } from '../../src/watches/change-watches.ts'
import { it } from '../support/test-database.ts'
import { NO_GUARD, place, route, routes, sync } from './sync-fixtures.ts'

const AT_ONCE = { guard: NO_GUARD, confirmations: 1 }
const PMI_MAD_AND_BACK = { departure: 'MAD', destination: 'PMI', eitherDirection: true }
const AVAILABLE = { list: 'with-availability', ...AT_ONCE } as const

async function resellerOf(db: Db, chosen: ChosenRoutes | null, name = 'northwind') {
  const { id } = await createReseller(db, name)
  await changeReseller(db, name, { routes: chosen })
  return id
}

async function recordsOf(db: Db, resellerId: number): Promise<RouteRecord[]> {
  const page = { resellerId, after: undefined, limit: 1_000, filter: {} }
  const { items } = await readFeedPage({ db }, page)
  return items as unknown as RouteRecord[]
}

const SIGNS: Readonly<Record<string, string>> = {
  route_added: '+',
  route_removed: '-',
  route_gained_availability: 'can be booked ',
  route_lost_availability: 'cannot be booked ',
}

/** Records as '+PMI-MAD', in the order of the feed. */
async function feedOf(db: Db, resellerId: number): Promise<string[]> {
  const records = await recordsOf(db, resellerId)
  return records.map(({ kind, route: shown, place: changed }) => {
    const pair = `${shown?.departure.iata}-${shown?.destination.iata}`
    return shown ? `${SIGNS[kind]}${pair}` : `${changed?.before.city} > ${changed?.after.city}`
  })
}

describe('changes of routes in the feeds of resellers', () => {
  it('the baseline and a disabled reseller have no records', async ({ db }) => {
    const disabled = await resellerOf(db, { countries: ['Spain'] }, 'disabled')
    const enabled = await resellerOf(db, { countries: ['Spain'] }, 'enabled')
    await disableReseller(db, disabled)

    await sync(db, routes('PMI-MAD'))
    await sync(db, routes('PMI-MAD', 'PMI-BCN'))

    expect(await feedOf(db, disabled)).toEqual([])
    expect(await feedOf(db, enabled)).toEqual(['+PMI-BCN'])
  })

  it('a route that can be booked, and cannot any more, is recorded', async ({ db }) => {
    const resellerId = await resellerOf(db, { places: ['MAD'] })
    await sync(db, routes('PMI-MAD', 'PMI-BCN'))
    await sync(db, routes('PMI-BCN'), AVAILABLE)

    await sync(db, routes('PMI-BCN', 'PMI-MAD'), AVAILABLE)
    await sync(db, routes('PMI-BCN'), AVAILABLE)

    expect(await feedOf(db, resellerId)).toEqual([
      'can be booked PMI-MAD',
      'cannot be booked PMI-MAD',
    ])
  })

  it('a pair of codes under other ids has no record, in one list or in the next ones', async ({
    db,
  }) => {
    const resellerId = await resellerOf(db, { places: ['PMI', 'MAD'] })
    const renumbered = { ...route('PMI-MAD'), destination: place('9', { iata: 'MAD' }) }
    await sync(db, routes('PMI-MAD', 'PMI-BCN'))
    await sync(db, routes('PMI-MAD', 'PMI-BCN'), AVAILABLE)

    await sync(db, [renumbered, route('PMI-BCN')], { guard: NO_GUARD })
    await sync(db, [renumbered, route('PMI-BCN')], AVAILABLE)
    await sync(db, [renumbered, route('PMI-BCN')], { guard: NO_GUARD })
    await sync(db, routes('PMI-MAD', 'PMI-BCN'), AT_ONCE)

    expect(await feedOf(db, resellerId)).toEqual([])
    const { rows } = await sql<{ n: number }>`select count(*) as n from route_change`.execute(db)
    expect(rows[0]?.n).toBeGreaterThan(3)
  })

  it('a record shows when the pair was listed first, so that a return differs from a new route', async ({
    db,
  }) => {
    const resellerId = await resellerOf(db, { pairs: [PMI_MAD_AND_BACK] })
    await sync(db, routes('PMI-BCN'))
    await sync(db, routes('PMI-BCN', 'PMI-MAD'), AT_ONCE)
    await sync(db, routes('PMI-BCN'), AT_ONCE)
    await sync(db, routes('PMI-BCN', 'PMI-MAD'), AT_ONCE)

    const [added, removed, back] = await recordsOf(db, resellerId)

    expect(added).toMatchObject({
      schemaVersion: 4,
      watchId: null,
      list: null,
      reference: null,
      route: {
        departure: { id: 'PMI', iata: 'PMI', city: 'City PMI', country: 'Spain' },
        destination: { id: 'MAD', iata: 'MAD', city: 'City MAD', country: 'Spain' },
      },
      runId: 2,
    })
    const first = added?.firstSeenAt?.getTime() ?? 0
    expect(first).toBeGreaterThanOrEqual(added?.detectedAt.getTime() ?? 0)
    expect(removed?.firstSeenAt?.getTime()).toBe(first)
    expect(back?.firstSeenAt?.getTime()).toBe(first)
    expect(first).toBeLessThan(back?.detectedAt.getTime() ?? 0)
  })

  it('a place that changes is recorded for its places, countries and pairs, before and after', async ({
    db,
  }) => {
    const chosen: ChosenRoutes[] = [
      { places: ['MAD'] },
      { countries: ['Portugal'] },
      { pairs: [{ departure: 'PMI', destination: 'MAD' }] },
    ]
    const resellers = []
    for (const [i, one] of chosen.entries()) resellers.push(await resellerOf(db, one, `R${i}`))
    const other = await resellerOf(db, { places: ['PMI'] }, 'other')
    const moved = {
      ...route('PMI-MAD'),
      destination: place('MAD', { city: 'Elvas', country: 'Portugal' }),
    }
    await sync(db, routes('PMI-MAD'))

    await sync(db, [moved], AT_ONCE)

    for (const one of resellers) expect(await feedOf(db, one)).toEqual(['City MAD > Elvas'])
    expect(await feedOf(db, other)).toEqual([])
  })
})
