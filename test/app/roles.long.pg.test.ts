import { expect, onTestFinished } from 'vitest'
import { createEndpoint } from '../../src/delivery/endpoints/change-endpoints.ts'
import { createSealer } from '../../src/delivery/endpoints/sealer.ts'
import type { ResellerId } from '../../src/platform/base/reseller-id.ts'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { appendRecords, startReceiver } from '../delivery/delivery-fixtures.ts'
import { NO_CHATS } from '../delivery/message-fixtures.ts'
import { trackFare } from '../fares/fare-fixtures.ts'
import { startVerifyServer } from '../fares/verify-server.ts'
import { countedChecks, makeDue, untilReady } from '../fares/worker-fixtures.ts'
import { startInTest } from '../support/child-process.ts'
import { runCommand } from '../support/run-command.ts'
import { it } from '../support/test-database.ts'
import { until } from '../support/until.ts'
import { cells, resellerWith } from '../watches/watch-fixtures.ts'

const KEY = 'a-key-of-this-test-0123456789abcdef'
const TARGETS = {
  urls: { allowHttp: true, allowedNetworks: ['127.0.0.0/8'] },
  publicUrl: undefined,
  chatHosts: NO_CHATS,
  email: { smtpUrl: undefined, from: undefined },
}
const NOTHING = { checks: 0, runs: 0, delivered: 0 }

/** What the processes have done. */
async function done(db: Db) {
  const { rows } = await sql<{ runs: number; delivered: number }>`
    select (select count(*) from sync_run where finished_at is not null) as runs,
           (select count(*) from delivery where state = 'delivered') as delivered
  `.execute(db)
  return { checks: await countedChecks(db), ...(rows[0] ?? { runs: 0, delivered: 0 }) }
}

it('roles run apart: each process does its part, a missing one is named, and a pause holds all', async ({
  db,
  databaseUrl,
}) => {
  const upstream = await startVerifyServer()
  onTestFinished(() => upstream.close())
  const { url: target } = await startReceiver()
  const resellerId = await resellerWith(db, [cells({ reference: 'A' })])
  const owner = { db, resellerId: resellerId as ResellerId }
  await createEndpoint(owner, { sealer: createSealer(KEY), targetRules: TARGETS }, { target })
  await trackFare(db)
  await appendRecords(db, { resellerId, reference: 'A' }, [{}])
  const env = {
    DATABASE_URL: databaseUrl,
    UPSTREAM_BASE_URL: upstream.url,
    UPSTREAM_REQUESTS_PER_SECOND: '20',
    ADMIN_PORT: '0',
    WEBHOOK_ALLOW_HTTP: 'on',
    WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
    ENCRYPTION_KEY: KEY,
  }
  const farewatch = (line: string) => runCommand(line.split(' '), env)
  const start = async (roles: string) => {
    const worker = startInTest(['worker', '--roles', roles], env)
    await untilReady(worker)
  }
  await makeDue(db)

  await farewatch('pause --reason maintenance')
  await start('sync')
  await start('check')
  const status = await farewatch('status --database')
  expect(status.stdout).toContain(
    'checks_paused: No fare is checked, as operators have paused it: maintenance.',
  )
  expect(status.stdout).toContain('role_missing: No process has these roles: deliver.')
  expect(await done(db)).toEqual(NOTHING)

  await farewatch('resume checks syncs')
  await until('a check and a list', async () => {
    const { checks, runs } = await done(db)
    return checks > 0 && runs > 0
  })
  expect((await done(db)).delivered).toBe(0)

  await farewatch('resume')
  await start('deliver')
  await until('the delivery', async () => (await done(db)).delivered === 1)
  expect((await farewatch('status --database')).stdout).not.toContain('role_missing')
  const { stdout } = await farewatch('audit list --json')
  const actions = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { action: string })
  expect(actions.map(({ action }) => action)).toEqual(['resume', 'resume', 'pause'])
})
