import { expect } from 'vitest'
import { sql, type Tx } from '../../src/platform/db/database.ts'
import { inTransaction, selectOne } from '../../src/platform/db/transaction.ts'
import { lockWatchesOf } from '../../src/resellers/resellers.ts'
import { available, record } from '../fares/fare-fixtures.ts'
import { startApi } from '../support/api-server.ts'
import { it } from '../support/test-database.ts'
import { until } from '../support/until.ts'
import { fareOf, listWith, newCaller, watch } from './reseller-calls.ts'
import { ONE_ADULT } from './verify-fixture.ts'

/** How many locks are awaited in this database. */
async function countWaiting(tx: Tx): Promise<number> {
  const { waiting } = await selectOne(
    sql<{ waiting: number }>`
      select count(*) as waiting from pg_locks
       where not granted and database = (select oid from pg_database where datname = current_database())
    `,
    tx,
  )
  return waiting
}

// Fault: One key sends many `/watch-changes` without `wait`, or verifies of kept answers.
it('polls that do not wait and verifies of a kept answer are handled two at a time for each key', async ({
  db,
}) => {
  const base = await startApi(db)
  const ana = await newCaller(db, base, 'ana')
  const ben = await newCaller(db, base, 'ben')
  await listWith(ana, 'l', [watch('A')])
  await record(db, await fareOf(db, '101'), new Date(), available())
  const paths = [
    '/watch-changes?wait=0',
    `/flights/fares/verify?flightId=1&${ONE_ADULT}&maxAge=60`,
  ].flatMap((path) => [path, path, path])

  const { answers, waiting } = await inTransaction(db, async (tx) => {
    await sql`lock table watch_change, verify_result in access exclusive mode`.execute(tx)
    const answers = paths.map((path) => ana.get(path))
    await until('two requests wait for the lock', async () => {
      return (await countWaiting(tx)) >= 2
    })
    // Time in which further requests of the key would reach the database, as those of another key do.
    for (let i = 0; i < 5; i += 1) expect((await ben.get('/watch-lists')).status).toBe(200)
    return { answers, waiting: await countWaiting(tx) }
  })

  expect(waiting).toBe(2)
  expect((await Promise.all(answers)).map(({ status }) => status)).toEqual(paths.map(() => 200))
})

// Fault: The writes of one reseller wait for the database.
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
    await until('a write waits for the lock', async () => {
      return (await countWaiting(tx)) > 0
    })
    expect((await save(ben, 'B')).status).toBe(200)
    expect((await ben.get('/watch-lists/l/watches')).body.items).toHaveLength(1)
    return { writes, waiting: await countWaiting(tx) }
  })

  expect(waiting).toBe(1)
  expect(new Set((await Promise.all(writes)).map(({ status }) => status))).toEqual(new Set([200]))
})
