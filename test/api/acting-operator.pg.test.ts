import { describe, expect } from 'vitest'
import { createReseller } from '../../src/resellers/resellers.ts'
import { ask, bearer, newKeyText, startApi } from '../support/api-server.ts'
import { it } from '../support/test-database.ts'

const forReseller = (key: string, name: string) => ({
  ...bearer(key),
  'farewatch-reseller': encodeURIComponent(name),
})

describe('an operator that calls for a reseller', () => {
  it('is that reseller, with the scopes of its own key', async ({ db }) => {
    const base = await startApi(db)
    await createReseller(db, 'Ana Süd')
    const ben = await createReseller(db, 'ben')
    const operator = await newKeyText(db)
    const reader = await newKeyText(db, { scopes: ['read'] })
    const own = await newKeyText(db, { resellerId: ben.id })
    const create = (key: string, name: string) =>
      ask(`${base}/api/v1/watch-lists`, {
        method: 'POST',
        headers: { ...forReseller(key, name), 'content-type': 'application/json' },
        body: JSON.stringify({ name: 'summer' }),
      })
    const lists = async (headers: Record<string, string>) =>
      (await ask(`${base}/api/v1/watch-lists`, { headers })).body

    const made = await create(operator, 'Ana Süd')
    const refused = await create(reader, 'Ana Süd')
    const unknown = await create(operator, 'unknown')

    expect(made.status).toBe(201)
    expect(refused).toMatchObject({ status: 403, body: { code: 'access.missing_scope' } })
    expect(unknown).toMatchObject({ status: 404, body: { code: 'not_found', missing: 'reseller' } })
    expect(await lists(forReseller(reader, 'Ana Süd'))).toMatchObject({
      items: [{ name: 'summer' }],
    })
    expect(await lists(forReseller(operator, 'ben'))).toMatchObject({ items: [] })
    // The key of a reseller calls for itself, whatever the header says.
    expect(await lists(forReseller(own, 'Ana Süd'))).toMatchObject({ items: [] })
    expect(await lists(bearer(operator))).toMatchObject({ code: 'access.resellers_only' })
  })

  it('repeats a request for one reseller alone', async ({ db }) => {
    const base = await startApi(db)
    await createReseller(db, 'ana')
    await createReseller(db, 'ben')
    const operator = await newKeyText(db)
    const create = (name: string) =>
      ask(`${base}/api/v1/watch-lists`, {
        method: 'POST',
        headers: {
          ...forReseller(operator, name),
          'content-type': 'application/json',
          'idempotency-key': 'one',
        },
        body: JSON.stringify({ name: 'summer' }),
      })

    const [first, again, other] = [await create('ana'), await create('ana'), await create('ben')]

    expect([first.status, again.status]).toEqual([201, 201])
    expect(other).toMatchObject({ body: { code: 'request.other_repeated' } })
  })
})
