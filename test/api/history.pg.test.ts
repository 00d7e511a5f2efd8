import { describe, expect } from 'vitest'
import type { Db } from '../../src/platform/db/database.ts'
import { fetchedAt, NO_GUARD, place, route, routes, sync } from '../routes/sync-fixtures.ts'
import { ask, bearer, newKeyText, startApi } from '../support/api-server.ts'
import { it } from '../support/test-database.ts'

const LISTED = { list: 'with-availability', guard: NO_GUARD, confirmations: 1 } as const
const SURE = { guard: NO_GUARD, confirmations: 1 } as const

async function anApi(db: Db) {
  const base = await startApi(db)
  const headers = bearer(await newKeyText(db))
  return (path: string) => ask(`${base}/api/v1/${path}`, { headers })
}

/** The valid time of a run's list, as the API writes it. */
async function at(db: Db, runId: number): Promise<string> {
  return (await fetchedAt(db, runId)).toISOString()
}

describe('the history of a route', () => {
  it('a route has the intervals of its existence and its availability, newest first', async ({
    db,
  }) => {
    const added = await sync(db, routes('PMI-MAD', 'PMI-BCN'))
    const gained = await sync(db, routes('PMI-MAD', 'PMI-BCN'), LISTED)
    const lost = await sync(db, routes('PMI-BCN'), LISTED)
    const removed = await sync(db, routes('PMI-BCN'), SURE)
    const back = await sync(db, routes('PMI-MAD', 'PMI-BCN'), SURE)
    const get = await anApi(db)

    const { status, body } = await get('routes/PMI/MAD/history')

    expect(status).toBe(200)
    expect(body).toEqual({
      departure: place('PMI'),
      destination: place('MAD'),
      live: true,
      since: await at(db, back.runId),
      available: null,
      items: [
        { of: 'existence', available: null, validFrom: await at(db, back.runId), validTo: null },
        {
          of: 'availability',
          available: false,
          validFrom: await at(db, lost.runId),
          validTo: await at(db, removed.runId),
        },
        {
          of: 'availability',
          available: true,
          validFrom: await at(db, gained.runId),
          validTo: await at(db, lost.runId),
        },
        {
          of: 'existence',
          available: null,
          validFrom: await at(db, added.runId),
          validTo: await at(db, removed.runId),
        },
      ],
      next: null,
    })
  })

  it('a removed route has a history too', async ({ db }) => {
    await sync(db, routes('PMI-MAD', 'PMI-BCN'))
    await sync(db, routes('PMI-BCN'), SURE)
    const get = await anApi(db)

    const { body } = await get('routes/PMI/MAD/history')

    expect(body).toMatchObject({ live: false, since: null, available: null })
    expect(body.items).toHaveLength(1)
  })

  it('a history is read page by page, each interval once', async ({ db }) => {
    for (let i = 0; i < 3; i += 1) {
      await sync(db, routes('PMI-MAD', 'PMI-BCN'), SURE)
      await sync(db, routes('PMI-BCN'), SURE)
    }
    const get = await anApi(db)
    const whole = (await get('routes/PMI/MAD/history')).body.items as unknown[]

    const seen: unknown[] = []
    for (let query = '?limit=2'; ; ) {
      const { body } = await get(`routes/PMI/MAD/history${query}`)
      seen.push(...(body.items as unknown[]))
      if (body.next === null) break
      query = `?limit=2&cursor=${encodeURIComponent(String(body.next))}`
    }

    expect(whole).toHaveLength(3)
    expect(seen).toEqual(whole)
  })

  it('a history refuses the cursor of another route', async ({ db }) => {
    await sync(db, routes('PMI-MAD', 'PMI-BCN'))
    await sync(db, routes('PMI-MAD', 'PMI-BCN'), LISTED)
    const get = await anApi(db)
    const { body } = await get('routes/PMI/MAD/history?limit=1')

    const other = await get(`routes/PMI/BCN/history?limit=1&cursor=${String(body.next)}`)

    expect(other.body).toMatchObject({ status: 400, code: 'request.invalid_cursor' })
  })

  it('a route that no list ever had has no history', async ({ db }) => {
    await sync(db, routes('PMI-MAD'))
    const get = await anApi(db)

    expect((await get('routes/MAD/PMI/history')).body).toMatchObject({
      status: 404,
      code: 'not_found',
      detail: 'no list ever had a route from "MAD" to "PMI"',
    })
  })
})

describe('places', () => {
  it('a place has its present and its past attributes', async ({ db }) => {
    const first = await sync(db, routes('PMI-MAD'))
    const renamed = { ...route('PMI-MAD'), destination: place('MAD', { city: 'Madrid' }) }
    const second = await sync(db, [renamed], SURE)
    const get = await anApi(db)

    const { body } = await get('places/MAD')

    const { id: _id, ...before } = place('MAD')
    expect(body).toEqual({
      ...place('MAD', { city: 'Madrid' }),
      items: [
        { ...before, city: 'Madrid', validFrom: await at(db, second.runId), validTo: null },
        {
          ...before,
          validFrom: await at(db, first.runId),
          validTo: await at(db, second.runId),
        },
      ],
      next: null,
    })
  })

  it('a place may have any text as its id', async ({ db }) => {
    const unusual = place('a/b %2F;é', { city: 'Odd' })
    await sync(db, [{ ...route('PMI-MAD'), destination: unusual }])
    const get = await anApi(db)

    expect((await get(`places/${encodeURIComponent(unusual.id)}`)).body).toMatchObject({
      ...unusual,
    })
    expect((await get(`routes/PMI/${encodeURIComponent(unusual.id)}/history`)).status).toBe(200)
  })

  it('a place that no list ever had is not found', async ({ db }) => {
    await sync(db, routes('PMI-MAD'))
    const get = await anApi(db)

    expect((await get('places/pmi')).body).toMatchObject({ status: 404, code: 'not_found' })
  })
})

describe('runs', () => {
  it('runs can be filtered by list and status', async ({ db }) => {
    await sync(db, routes('PMI-MAD'))
    await sync(db, routes('PMI-MAD'))
    await sync(db, [])
    await sync(db, routes('PMI-MAD'), LISTED)
    const get = await anApi(db)
    const runs = async (query: string) =>
      ((await get(`sync-runs?${query}`)).body.items as { runId: number }[]).map(
        ({ runId }) => runId,
      )

    expect(await runs('statuses=held')).toEqual([3])
    expect(await runs('statuses=held,unchanged')).toEqual([3, 2])
    expect(await runs('statuses=applied&list=routes')).toEqual([1])
  })

  it('one run is read with its details', async ({ db }) => {
    await sync(db, routes('PMI-MAD'))
    await sync(db, routes('PMI-MAD', 'PMI-BCN'))
    await sync(db, [])
    const get = await anApi(db)

    expect((await get('sync-runs/2')).body).toMatchObject({
      runId: 2,
      status: 'applied',
      changes: { route_added: 1 },
    })
    expect((await get('sync-runs/3')).body).toMatchObject({ status: 'held' })
    expect((await get('sync-runs/4')).body).toMatchObject({
      status: 404,
      code: 'not_found',
    })
  })
})

describe('the network', () => {
  it('has the changes between two instants, and the routes at the later one, without the first list', async ({
    db,
  }) => {
    const first = await sync(db, routes('PMI-MAD', 'PMI-BCN'), SURE)
    const removed = await sync(db, routes('PMI-MAD'), SURE)
    const added = await sync(db, routes('PMI-MAD', 'MAD-PMI'), SURE)
    const get = await anApi(db)

    const all = await get('routes/difference?from=2000-01-01T00:00:00Z')
    const between = `from=${await at(db, first.runId)}&to=${await at(db, removed.runId)}`
    const early = await get(`routes/difference?${between}`)

    const gone = { departureId: 'PMI', destinationId: 'BCN', added: false }
    const come = { departureId: 'MAD', destinationId: 'PMI', added: true }
    expect(all.body).toMatchObject({
      live: { MAD: ['PMI'], PMI: ['MAD'] },
      changes: [
        { ...gone, at: await at(db, removed.runId) },
        { ...come, at: await at(db, added.runId) },
      ],
    })
    expect(early.body).toMatchObject({ live: { PMI: ['MAD'] }, changes: [gone] })
  })

  it('refuses instants in the wrong order', async ({ db }) => {
    const get = await anApi(db)

    const { status, body } = await get('routes/difference?from=2030-01-01T00:00:00Z')

    expect(status).toBe(400)
    expect(body).toMatchObject({ code: 'request.invalid', parameter: 'from' })
  })

  it('has a position for each place whose code is known, and none for others', async ({ db }) => {
    await sync(db, routes('PMI-Q0X'), SURE)
    const get = await anApi(db)

    const { body } = await get('places')

    expect(body.items).toMatchObject([
      { id: 'PMI', isoCountry: 'ES', latitude: 39.5477, zone: 'Europe/Madrid' },
      { id: 'Q0X', isoCountry: null, latitude: null, longitude: null, zone: null },
    ])
  })
})
