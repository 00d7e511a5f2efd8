import { describe, expect } from 'vitest'
import { it } from '../support/test-database.ts'
import {
  changes,
  fetchedAt,
  intervals,
  livePairs,
  routes,
  routesAsOf,
  sync,
} from './sync-fixtures.ts'

describe('routes lists', () => {
  it('the first accepted list is the baseline: it writes history and records no changes', async ({
    db,
  }) => {
    const outcome = await sync(db, routes('PMI-MAD', 'PMI-BCN'))

    expect(outcome).toMatchObject({
      status: 'applied',
      baseline: true,
      fetched: 2,
      live: 2,
      added: 2,
    })
    expect(await livePairs(db)).toEqual(['PMI-BCN', 'PMI-MAD'])
    expect(await intervals(db, 'PMI-MAD')).toEqual([
      { from: await fetchedAt(db, outcome.runId), to: null },
    ])
    expect(await changes(db)).toEqual([])
  })

  it('an added route is recorded with the two lists between which it appeared', async ({ db }) => {
    const first = await sync(db, routes('PMI-MAD'))

    const second = await sync(db, routes('PMI-MAD', 'MAD-PMI'))

    expect(second).toMatchObject({ status: 'applied', baseline: false, added: 1, live: 2 })
    expect(await changes(db)).toEqual([
      {
        seq: 1,
        kind: 'route_added',
        of: 'MAD-PMI',
        before: null,
        after: { available: null },
        lastSeenAt: await fetchedAt(db, first.runId),
        firstMissedAt: await fetchedAt(db, second.runId),
        runId: second.runId,
      },
    ])
  })

  it('a route is removed only when two accepted lists in a row lack it', async ({ db }) => {
    const first = await sync(db, routes('PMI-MAD', 'PMI-BCN'))

    const missed = await sync(db, routes('PMI-BCN', 'PMI-BCN'))
    expect(missed).toMatchObject({ removed: 0, pendingAbsences: 1, duplicates: 1, live: 2 })
    expect(await changes(db)).toEqual([])

    const confirmed = await sync(db, routes('PMI-BCN'))
    expect(confirmed).toMatchObject({ removed: 1, pendingAbsences: 0, live: 1 })
    expect(await livePairs(db)).toEqual(['PMI-BCN'])
    expect(await changes(db)).toMatchObject([
      {
        seq: 1,
        kind: 'route_removed',
        of: 'PMI-MAD',
        after: null,
        lastSeenAt: await fetchedAt(db, first.runId),
        firstMissedAt: await fetchedAt(db, missed.runId),
        runId: confirmed.runId,
      },
    ])
    expect(await intervals(db, 'PMI-MAD')).toEqual([
      { from: await fetchedAt(db, first.runId), to: await fetchedAt(db, confirmed.runId) },
    ])
  })

  it('a route that is absent once and returns keeps one interval', async ({ db }) => {
    const first = await sync(db, routes('PMI-MAD', 'PMI-BCN'))
    await sync(db, routes('PMI-BCN'))

    const back = await sync(db, routes('PMI-MAD', 'PMI-BCN'))
    await sync(db, routes('PMI-BCN'))

    expect(back).toMatchObject({ returned: 1, pendingAbsences: 0, added: 0 })
    expect(await intervals(db, 'PMI-MAD')).toEqual([
      { from: await fetchedAt(db, first.runId), to: null },
    ])
    expect(await changes(db)).toEqual([])
  })

  it('a repeated list confirms absences once and then changes nothing', async ({ db }) => {
    await sync(db, routes('PMI-MAD', 'PMI-BCN'))
    await sync(db, routes('PMI-BCN'))

    const again = await sync(db, routes('PMI-BCN'))
    const oncemore = await sync(db, routes('PMI-BCN'))

    expect(again).toMatchObject({ status: 'applied', fetched: 1, removed: 1, live: 1 })
    expect(oncemore).toMatchObject({ status: 'unchanged', fetched: 1, removed: 0, live: 1 })
    expect(oncemore.durationsMs).not.toHaveProperty('stage')
  })

  it('a removed route that returns gets a second interval', async ({ db }) => {
    const both = routes('PMI-MAD', 'PMI-BCN')
    await sync(db, both)
    await sync(db, routes('PMI-BCN'))
    const removed = await sync(db, routes('PMI-BCN'))

    const back = await sync(db, both)

    expect(await intervals(db, 'PMI-MAD')).toMatchObject([
      { to: await fetchedAt(db, removed.runId) },
      { from: await fetchedAt(db, back.runId), to: null },
    ])
  })

  it('routes_as_of returns the same routes for a past instant, whatever is applied later', async ({
    db,
  }) => {
    const first = await fetchedAt(db, (await sync(db, routes('PMI-MAD', 'PMI-BCN'))).runId)
    const before = new Date(first.getTime() - 1)
    await sync(db, routes('PMI-BCN', 'PMI-IBZ'))
    const third = await fetchedAt(db, (await sync(db, routes('PMI-BCN', 'PMI-IBZ'))).runId)

    expect(await routesAsOf(db, before)).toEqual([])
    expect(await routesAsOf(db, first)).toEqual(['PMI-BCN', 'PMI-MAD'])
    expect(await routesAsOf(db, new Date(third.getTime() - 1))).toEqual([
      'PMI-BCN',
      'PMI-IBZ',
      'PMI-MAD',
    ])
    expect(await routesAsOf(db, third)).toEqual(['PMI-BCN', 'PMI-IBZ'])
  })

  it('a route is removed after the configured number of confirmations', async ({ db }) => {
    await sync(db, routes('PMI-MAD', 'PMI-BCN'), { confirmations: 1 })

    const outcome = await sync(db, routes('PMI-BCN'), { confirmations: 1 })

    expect(outcome).toMatchObject({ removed: 1, pendingAbsences: 0 })
  })
})
