import { once } from 'node:events'
import { expect, onTestFinished } from 'vitest'
import { openDatabase, sql } from '../../../src/platform/db/database.ts'
import { isDatabaseUnavailable } from '../../../src/platform/db/database-health.ts'
import { silentLog } from '../../support/silent-log.ts'
import { it } from '../../support/test-database.ts'

it('a query on a connection that ended while it was held means that the database is unavailable', async ({
  db,
  databaseUrl,
}) => {
  const other = openDatabase({ url: databaseUrl, applicationName: 'test', log: silentLog })
  onTestFinished(() => other.close())
  const client = await other.pool.connect()
  const ended = once(client, 'error')
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
  await sql`select pg_terminate_backend(${rows[0]?.pid ?? 0})`.execute(db)
  await ended

  const err = await client.query('select 1').catch((thrown: unknown) => thrown)
  client.release(true)

  expect(String(err)).toContain('is not queryable')
  expect(isDatabaseUnavailable(err)).toBe(true)
})
