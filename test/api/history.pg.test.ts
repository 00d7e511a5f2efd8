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

  const [start, gain, loss, end, since] = await Promise.all(
    [added, gained, lost, removed, back].map(({ runId }) => at(db, runId)),
  )
  const items = [
    ['existence', null, since, null],
    ['availability', false, loss, end],
    ['availability', true, gain, loss],
    ['existence', null, start, end],
  ].map(([of, available, validFrom, validTo]) => ({ of, available, validFrom, validTo }))
  const ends = { departure: place('PMI'), destination: place('MAD') }
  expect(status).toBe(200)
  expect(body).toEqual({ ...ends, live: true, since, available: null, items, next: null })
})

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
