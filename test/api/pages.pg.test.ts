import { describe, expect } from 'vitest'
import { createApiKey } from '../../src/resellers/api-keys.ts'
import { createReseller } from '../../src/resellers/resellers.ts'
import { addEndpoint, fanOutAll } from '../delivery/delivery-fixtures.ts'
import { available, passSeconds, record } from '../fares/fare-fixtures.ts'
import { ask, bearer, newKeyText, startApi } from '../support/api-server.ts'
import { it } from '../support/test-database.ts'
import { cells, resellerWith } from '../watches/watch-fixtures.ts'
import { fareOf, itemsOf } from './reseller-calls.ts'

type Get = (path: string) => ReturnType<typeof ask>

/** All items of a list, one a page. */
async function walk(get: Get, path: string): Promise<Record<string, unknown>[]> {
  const items: Record<string, unknown>[] = []
  const joint = path.includes('?') ? '&' : '?'
  for (let next: unknown = ''; next !== null; ) {
    const page = await get(
      `${path}${joint}limit=1${next === '' ? '' : `&cursor=${encodeURIComponent(String(next))}`}`,
    )
    expect(page.status).toBe(200)
    expect(itemsOf(page).length).toBeLessThanOrEqual(1)
    items.push(...itemsOf(page))
    next = page.body.next
  }
  return items
}

describe('a list that is longer than its page', () => {
  it('shows a reseller all its keys, and nothing of the keys of others', async ({ db }) => {
    const base = await startApi(db)
    const { id: ana } = await createReseller(db, 'ana')
    const { id: ben } = await createReseller(db, 'ben')
    const made = []
    for (const resellerId of [ana, ben, ana, ben, ana]) {
      made.push({ resellerId, ...(await createApiKey(db, { resellerId })) })
    }
    const own = made.filter(({ resellerId }) => resellerId === ana)
    const as =
      (key = ''): Get =>
      (path) =>
        ask(`${base}/api/v1${path}`, { headers: bearer(key) })

    const shown = await walk(as(own[0]?.text), '/own-keys')

    expect(shown.map(({ prefix }) => prefix)).toEqual(own.map(({ key }) => key.prefix))
    const { next } = (await as(own[0]?.text)('/own-keys?limit=1')).body
    const foreign = await as(made[1]?.text)(`/own-keys?limit=1&cursor=${next}`)
    expect([foreign.status, foreign.body.code]).toEqual([400, 'request.invalid_cursor'])
  })

  it('shows an operator all fares of a flight, those that are watched first', async ({ db }) => {
    const base = await startApi(db)
    const key = await newKeyText(db, { resellerId: null })
    await resellerWith(
      db,
      ['', '201', '202', '203'].map((back) =>
        cells({ reference: `A-${back}`, return_flight_id: back }),
      ),
    )
    await db
      .updateTable('tracked_fare')
      .set({ watchers: 0 })
      .where('return_flight_id', 'in', ['201', '202'])
      .execute()

    const found = await walk(
      (path) => ask(`${base}/api/v1${path}`, { headers: bearer(key) }),
      '/fares?flightId=101',
    )

    const backs = found.map(({ returnFlightId }) => returnFlightId)
    expect(new Set(backs.slice(0, 2))).toEqual(new Set([null, '203']))
    expect(new Set(backs.slice(2))).toEqual(new Set(['201', '202']))
    expect(found).toHaveLength(4)
  })

  it('shows an operator all deliveries of a change, the newest first', async ({ db }) => {
    const base = await startApi(db)
    const key = await newKeyText(db, { resellerId: null })
    for (const name of ['ana', 'ben']) {
      const resellerId = await resellerWith(db, [cells({ reference: 'A-1' })], name)
      await addEndpoint(db, resellerId)
      await addEndpoint(db, resellerId)
    }
    const fareId = await fareOf(db, '101')
    await record(db, fareId, new Date(), available())
    await passSeconds(db, 120)
    await record(db, fareId, new Date(), available('110.00'))
    await fanOutAll(db)

    const sent = await walk(
      (path) => ask(`${base}/api/v1${path}`, { headers: bearer(key) }),
      '/availability-changes/2/deliveries',
    )

    const ids = sent.map(({ id }) => String(id))
    expect(sent).toHaveLength(4)
    expect(ids.every((id, at) => at === 0 || id < String(ids[at - 1]))).toBe(true)
  })
})
