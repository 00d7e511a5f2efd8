import { expect, onTestFinished } from 'vitest'
import { openDatabase, sql } from '../../src/platform/db/database.ts'
import { startFarewatch } from '../support/child-process.ts'
import { silentLog } from '../support/silent-log.ts'
import { it } from '../support/test-database.ts'
import { until } from '../support/until.ts'

const READ = /^farewatch_system_gauges_read_timestamp_seconds /m

it('gauges whose reading waits for a lock keep their last values, and the instant of that reading', async ({
  databaseUrl,
}) => {
  const env = { UPSTREAM_BASE_URL: 'http://127.0.0.1:9', ADMIN_PORT: '0' }
  const worker = startFarewatch(['worker', '--roles', 'deliver'], {
    ...env,
    DATABASE_URL: databaseUrl,
  })
  onTestFinished(() => void worker.child.kill('SIGKILL'))
  const metrics = await until(
    'the start',
    () => /"metrics":"([^"]+)"/.exec(worker.stdout())?.[1] ?? false,
  )
  const scrape = async () => (await fetch(metrics)).text()
  await until('a reading', async () => READ.test(await scrape()))
  const name = { applicationName: 'holder', log: silentLog, maxConnections: 1 }
  const holder = openDatabase({ url: databaseUrl, ...name })
  onTestFinished(() => holder.close())
  await sql`begin; lock table delivery in access exclusive mode`.execute(holder.db)

  await until('a reading that failed', async () => {
    await scrape()
    return worker.stdout().includes('cannot read the gauges of the whole system')
  })
  const during = await scrape()
  await sql`rollback`.execute(holder.db)

  expect(during).toMatch(READ)
  expect(during).toMatch(/^farewatch_webhook_dead/m)
  expect(during).toMatch(/^farewatch_routes_live/m)
})
