import { describe, expect } from 'vitest'
import type { Db } from '../../src/platform/db/database.ts'
import { fetchedAt, NO_GUARD, routes, sync } from '../routes/sync-fixtures.ts'
import { ask, bearer, newKeyText, startApi } from '../support/api-server.ts'
import { it } from '../support/test-database.ts'

const SURE = { guard: NO_GUARD, confirmations: 1 } as const

async function anApi(db: Db) {
  const base = await startApi(db)
  const headers = bearer(await newKeyText(db))
  return (path: string) => ask(`${base}/api/v1/${path}`, { headers })
}

async function at(db: Db, runId: number): Promise<string> {
  return (await fetchedAt(db, runId)).toISOString()
}

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
