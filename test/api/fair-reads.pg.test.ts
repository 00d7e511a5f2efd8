import { expect } from 'vitest'
import { sql } from '../../src/platform/db/database.ts'
import { inTransaction, selectOne } from '../../src/platform/db/transaction.ts'
import { available, record } from '../fares/fare-fixtures.ts'
import { startApi } from '../support/api-server.ts'
import { it } from '../support/test-database.ts'
import { until } from '../support/until.ts'
import { fareOf, listWith, newCaller, watch } from './reseller-calls.ts'
import { ONE_ADULT } from './verify-fixture.ts'

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
    const waitsForLock = sql<{ waiting: number }>`
      select count(*) as waiting from pg_locks where not granted and database = (
        select oid from pg_database where datname = current_database())
    `
    await until('two requests wait for the lock', async () => {
      return (await selectOne(waitsForLock, tx)).waiting >= 2
    })
    // Time in which further requests of the key would reach the database, as those of another key do.
    for (let i = 0; i < 5; i += 1) expect((await ben.get('/watch-lists')).status).toBe(200)
    return { answers, ...(await selectOne(waitsForLock, tx)) }
  })

  expect(waiting).toBe(2)
  expect((await Promise.all(answers)).map(({ status }) => status)).toEqual(paths.map(() => 200))
})
