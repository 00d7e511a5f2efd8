import { expect } from 'vitest'
import type { Db } from '../../src/platform/db/database.ts'
import { createApiKey } from '../../src/resellers/api-keys.ts'
import { createReseller } from '../../src/resellers/resellers.ts'
import { gone, passSeconds, record } from '../fares/fare-fixtures.ts'
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

it('a record, its evidence and its deliveries shows a reseller the answer behind its record and where the record was sent', async ({
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
