import { describe, expect } from 'vitest'
import { sql } from '../../src/platform/db/database.ts'
import { it } from '../support/test-database.ts'
import {
  availability,
  changes,
  fetchedAt,
  intervals,
  manyRoutes,
  routes,
  sync,
} from './sync-fixtures.ts'

const LIST = { list: 'with-availability' } as const

describe('with-availability lists', () => {
  it('a list fails and is retryable while there are no routes', async ({ db }) => {
    const outcome = await sync(db, routes('PMI-MAD'), LIST)

    expect(outcome).toMatchObject({
      status: 'failed',
      reason: { code: 'sync.no_routes_yet', retryable: true },
    })
  })

  it('the first list gives every live route its availability and records no changes', async ({
    db,
  }) => {
    await sync(db, routes('PMI-MAD', 'PMI-BCN'))
    expect(await availability(db)).toEqual({ 'PMI-BCN': null, 'PMI-MAD': null })

    const outcome = await sync(db, routes('PMI-MAD', 'NOT-OURS'), LIST)

    expect(outcome).toMatchObject({ status: 'applied', baseline: true, live: 1, unknownPairs: 1 })
    expect(await availability(db)).toEqual({ 'PMI-BCN': false, 'PMI-MAD': true })
    expect(await changes(db)).toEqual([])
  })

  it('a gain is applied at once, and a loss when it is confirmed', async ({ db }) => {
    await sync(db, routes('PMI-MAD', 'PMI-BCN'))
    const first = await sync(db, routes('PMI-MAD'), LIST)

    const moved = await sync(db, routes('PMI-BCN'), LIST)
    expect(moved).toMatchObject({ gained: 1, lost: 0, pendingAbsences: 1, live: 2 })
    const confirmed = await sync(db, routes('PMI-BCN'), LIST)

    expect(confirmed).toMatchObject({ status: 'applied', gained: 0, lost: 1, live: 1 })
    expect(await availability(db)).toEqual({ 'PMI-BCN': true, 'PMI-MAD': false })
    expect(await changes(db)).toMatchObject([
      {
        seq: 1,
        kind: 'route_gained_availability',
        of: 'PMI-BCN',
        before: { available: false },
        after: { available: true },
        runId: moved.runId,
      },
      {
        seq: 2,
        kind: 'route_lost_availability',
        of: 'PMI-MAD',
        before: { available: true },
        after: { available: false },
        lastSeenAt: await fetchedAt(db, first.runId),
        firstMissedAt: await fetchedAt(db, moved.runId),
        runId: confirmed.runId,
      },
    ])
  })

  it('intervals of availability lie within the interval of their route', async ({ db }) => {
    const added = await sync(db, routes('PMI-MAD', 'PMI-BCN'))
    const first = await sync(db, routes('PMI-MAD', 'PMI-BCN'), LIST)
    await sync(db, routes('PMI-BCN'), LIST)
    const lost = await sync(db, routes('PMI-BCN'), LIST)
    const back = await sync(db, routes('PMI-BCN', 'PMI-MAD'), LIST)

    const { rows } = await sql`
      select available, valid_from as from, valid_to as to
        from farewatch.route_availability_history
       where (departure_id, destination_id) = ('PMI', 'MAD')
       order by valid_from
    `.execute(db)
    const [seenAt, lostAt, backAt] = await Promise.all(
      [first, lost, back].map(({ runId }) => fetchedAt(db, runId)),
    )
    expect(rows).toEqual([
      { available: true, from: seenAt, to: lostAt },
      { available: false, from: lostAt, to: backAt },
      { available: true, from: backAt, to: null },
    ])
    expect(await intervals(db, 'PMI-MAD')).toEqual([
      { from: await fetchedAt(db, added.runId), to: null },
    ])
  })

  it('a held list never counts as a loss', async ({ db }) => {
    const all = manyRoutes(40)
    await sync(db, all)
    await sync(db, all, LIST)
    await sync(db, all.slice(0, 30), LIST)
    await sync(db, all.slice(0, 30), LIST)

    const normal = await sync(db, all.slice(0, 39), LIST)

    expect(normal).toMatchObject({ status: 'applied', lost: 0, pendingAbsences: 1, live: 40 })
  })

  it('a repeated list is read again after the routes have changed', async ({ db }) => {
    await sync(db, routes('PMI-MAD'))
    const bytes = routes('PMI-MAD', 'PMI-BCN')
    await sync(db, bytes, LIST)
    expect(await sync(db, bytes, LIST)).toMatchObject({ status: 'unchanged' })
    await sync(db, routes('PMI-MAD', 'PMI-BCN'))

    const outcome = await sync(db, bytes, LIST)

    expect(outcome).toMatchObject({ status: 'applied', gained: 1, unknownPairs: 0 })
    expect(await availability(db)).toEqual({ 'PMI-BCN': true, 'PMI-MAD': true })
  })

  it('a new route that was never available records no loss', async ({ db }) => {
    await sync(db, routes('PMI-MAD'))
    await sync(db, routes('PMI-MAD'), LIST)
    await sync(db, routes('PMI-MAD', 'PMI-BCN'))

    await sync(db, routes('PMI-MAD'), LIST)

    expect(await availability(db)).toEqual({ 'PMI-BCN': false, 'PMI-MAD': true })
    expect((await changes(db)).map((change) => change.kind)).toEqual(['route_added'])
  })

  it('the availability of a route ends with the route', async ({ db }) => {
    await sync(db, routes('PMI-MAD', 'PMI-BCN'))
    await sync(db, routes('PMI-MAD', 'PMI-BCN'), LIST)
    await sync(db, routes('PMI-BCN'))
    await sync(db, routes('PMI-BCN'))
    expect(await changes(db)).toMatchObject([
      { kind: 'route_removed', before: { available: true } },
    ])

    await sync(db, routes('PMI-BCN', 'PMI-MAD'))

    expect(await availability(db)).toEqual({ 'PMI-BCN': true, 'PMI-MAD': null })
  })

  it('a list that lacks more than 15 % of the available routes is held', async ({ db }) => {
    const all = manyRoutes(40)
    await sync(db, all)
    await sync(db, all, LIST)

    const outcome = await sync(db, all.slice(0, 30), LIST)

    expect(outcome).toMatchObject({ status: 'held', reason: { code: 'mass_absence' }, live: 40 })
  })

  it('a list of unknown pairs alone is held', async ({ db }) => {
    await sync(db, routes('PMI-MAD'))

    expect(await sync(db, routes('AAA-BBB'), LIST)).toMatchObject({ status: 'held' })
    expect(await availability(db)).toEqual({ 'PMI-MAD': null })
  })
})
