import { describe, expect } from 'vitest'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { selectOne } from '../../src/platform/db/transaction.ts'
import { createApiKey } from '../../src/resellers/api-keys.ts'
import { createReseller } from '../../src/resellers/resellers.ts'
import { questionWith } from '../../src/upstream/question.ts'
import { available, gone, passSeconds, record } from '../fares/fare-fixtures.ts'
import { ask, bearer, startApi } from '../support/api-server.ts'
import { it } from '../support/test-database.ts'
import { fareOf, itemsOf } from './reseller-calls.ts'
import { seedApi } from './seed.ts'

/** Two answers that it is gone. */
async function loseFare(db: Db, fareId: number): Promise<void> {
  for (const _ of [1, 2]) {
    await passSeconds(db, 20)
    await record(db, fareId, new Date(), gone)
  }
}

describe('a record, its evidence and its deliveries', () => {
  it('shows a reseller the answer behind its record and where the record was sent', async ({
    db,
  }) => {
    const { keys } = await seedApi(db)
    const fareId = await fareOf(db, '101')
    await loseFare(db, fareId)
    const { id } = await createReseller(db, 'without watches')
    const { text: newcomer } = await createApiKey(db, { resellerId: id })
    const base = await startApi(db)
    const get = (path: string, key = keys.alpha) =>
      ask(`${base}/api/v1${path}`, { headers: bearer(key) })

    const evidence = await get('/watch-changes/2/evidence')
    const sent = itemsOf(await get('/deliveries?seq=1'))
    const others = itemsOf(await get('/deliveries?seq=1', keys.beta))
    const withoutAnswer = await get('/watch-changes/1/evidence')
    const beyondItsFeed = await get('/watch-changes/2/evidence', newcomer)
    const missing = await get('/watch-changes/99/evidence')

    expect(evidence.body).toMatchObject({ status: 200, latencyMs: 12 })
    expect(evidence.body.answer).toBe('{"kind":"unavailable"}')
    expect(withoutAnswer.body).toEqual({ status: null, latencyMs: null, answer: null })
    expect(sent).toMatchObject([
      {
        seq: 1,
        state: 'dead',
        format: 'webhook',
        target: 'receiver.example/…ares',
        lastAttempt: { status: 503, outcome: 'http_5xx' },
      },
    ])
    expect(others).toEqual([])
    expect(beyondItsFeed.status).toBe(404)
    expect(missing.status).toBe(404)
  })

  it('shows an operator the earlier changes of all fares, and one fare with its history', async ({
    db,
  }) => {
    const { keys } = await seedApi(db)
    const fareId = await fareOf(db, '101')
    await loseFare(db, fareId)
    await record(db, fareId, new Date(), available('77.70'))
    const base = await startApi(db)
    const get = (path: string) => ask(`${base}/api/v1${path}`, { headers: bearer(keys.operator) })

    const page = await get('/availability-changes?after=1&limit=1')
    const evidence = await get('/availability-changes/2/evidence')
    const found = itemsOf(await get('/fares?flightId=101'))
    const fare = await get(`/fares/${fareId}`)

    expect(page.body).toMatchObject({ seq: 2, head: 3, items: [{ kind: 'became_unavailable' }] })
    expect(evidence.body.answer).toBe('{"kind":"unavailable"}')
    expect(found).toEqual([{ fareId, ...questionWith({ flightId: '101' }), watchers: 2 }])
    expect(fare.body).toMatchObject({
      state: 'bookable',
      price: { amount: '77.70', currency: 'EUR' },
      watchers: 2,
    })
    const changes = fare.body.changes as { seq: number }[]
    expect(changes.map(({ seq }) => seq)).toEqual([3, 2, 1])
  })

  it('a page without records ends at the head, so that no reader asks for what is missing again and again', async ({
    db,
  }) => {
    const { keys } = await seedApi(db)
    await loseFare(db, await fareOf(db, '101'))
    const base = await startApi(db)
    const { head } = await selectOne(
      sql<{ head: number }>`
        update feed_head set last_seq = last_seq + 1 where feed = 'availability' returning last_seq as head`,
      db,
    )

    const page = await ask(`${base}/api/v1/availability-changes?after=${head - 1}`, {
      headers: bearer(keys.operator),
    })

    expect(page.body).toMatchObject({ items: [], seq: head, head })
  })

  it('shows an operator where a change of a fare was sent, by reseller', async ({ db }) => {
    const { keys } = await seedApi(db)
    const fareId = await fareOf(db, '101')
    await loseFare(db, fareId)
    await sql`update delivery set seq = 2, previous_seq = 1`.execute(db)
    const base = await startApi(db)
    const get = (seq: number, key = keys.operator) =>
      ask(`${base}/api/v1/availability-changes/${seq}/deliveries`, { headers: bearer(key) })

    expect(itemsOf(await get(1))).toEqual([])
    expect(itemsOf(await get(2))).toMatchObject([{ reseller: 'alpha', seq: 2, state: 'dead' }])
    expect((await get(2, keys.alpha)).status).toBe(403)
  })
})
