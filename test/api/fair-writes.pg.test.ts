import { expect } from 'vitest'
import { sql } from '../../src/platform/db/database.ts'
import { inTransaction, selectOne } from '../../src/platform/db/transaction.ts'
import { lockWatchesOf } from '../../src/resellers/resellers.ts'
import { startApi } from '../support/api-server.ts'
import { it } from '../support/test-database.ts'
import { until } from '../support/until.ts'
import { newCaller, watch } from './reseller-calls.ts'

it('while the writes of one reseller wait for the database, another reads and writes at once', async ({
  db,
}) => {
  // On a busy machine the writes wait for longer than the limit of an ordinary API.
  const base = await startApi(db, { requestLimits: { waitMs: 600_000 } })
  const ana = await newCaller(db, base, 'ana')
  const ben = await newCaller(db, base, 'ben')
  for (const { send } of [ana, ben]) await send('POST', '/watch-lists', { name: 'l' })
  const save = (caller: typeof ana, reference: string) =>
    caller.send('POST', '/watch-lists/l/watches', { watches: [watch(reference)] })

  const { writes, waiting } = await inTransaction(db, async (tx) => {
    await lockWatchesOf(tx, ana.resellerId)
    const writes = Array.from({ length: 30 }, (_, i) => save(ana, `A${i}`))
    const waitsForLock = sql<{ waiting: number }>`
      select count(*) as waiting from pg_locks where not granted and database = (
        select oid from pg_database where datname = current_database())
    `
    await until('a write waits for the lock', async () => {
      return (await selectOne(waitsForLock, tx)).waiting > 0
    })
    expect((await save(ben, 'B')).status).toBe(200)
    expect((await ben.get('/watch-lists/l/watches')).body.items).toHaveLength(1)
    return { writes, ...(await selectOne(waitsForLock, tx)) }
  })

  expect(waiting).toBe(1)
  expect(new Set((await Promise.all(writes)).map(({ status }) => status))).toEqual(new Set([200]))
})
