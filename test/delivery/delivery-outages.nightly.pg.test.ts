import type { ServerResponse } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, onTestFinished } from 'vitest'
import { createEndpoint } from '../../src/delivery/endpoints/change-endpoints.ts'
import { createSealer } from '../../src/delivery/endpoints/sealer.ts'
import type { ResellerId } from '../../src/platform/base/reseller-id.ts'
import { type Db, openDatabase, sql } from '../../src/platform/db/database.ts'
import { startChaosPostgres } from '../chaos/chaos-postgres.ts'
import { startWorker, untilReady } from '../fares/worker-fixtures.ts'
import type { RunningCommand } from '../support/child-process.ts'
import { silentLog } from '../support/silent-log.ts'
import { it } from '../support/test-database.ts'
import { until } from '../support/until.ts'
import { cells, resellerWith } from '../watches/watch-fixtures.ts'
import { appendRecords, type Receiver, startReceiver } from './delivery-fixtures.ts'
import { NO_CHATS } from './message-fixtures.ts'

const KEY = 'a-key-of-this-test-0123456789abcdef'
const POLICY = { allowHttp: true, allowedNetworks: ['127.0.0.1/32'] }
const A = { reference: 'A' }

async function startDelivering(databaseUrl: string): Promise<RunningCommand> {
  const worker = startWorker({
    databaseUrl,
    upstreamUrl: 'http://127.0.0.1:9',
    settings: {
      ENCRYPTION_KEY: KEY,
      WEBHOOK_ALLOW_HTTP: 'on',
      WEBHOOK_ALLOWED_NETWORKS: POLICY.allowedNetworks.join(),
    },
  })
  await untilReady(worker)
  return worker
}

/** An endpoint of a new reseller at the receiver. */
async function prepare(db: Db, { url }: Receiver): Promise<{ resellerId: number; id: string }> {
  const resellerId = await resellerWith(db, [cells(A)])
  const targetRules = {
    urls: POLICY,
    chatHosts: NO_CHATS,
    email: { smtpUrl: undefined, from: undefined },
    publicUrl: undefined,
  }
  const { id } = await createEndpoint(
    { db, resellerId: resellerId as ResellerId },
    { sealer: createSealer(KEY), targetRules },
    { target: url },
  )
  return { resellerId, id }
}

async function deliveries(db: Db): Promise<{ state: string; attempts: number }[]> {
  return db.selectFrom('delivery').select(['state', 'attempts']).orderBy('seq').execute()
}

async function allDelivered(db: Db, count: number): Promise<boolean> {
  const rows = await deliveries(db).catch(() => [])
  return rows.length === count && rows.every(({ state }) => state === 'delivered')
}

// Fault: The database is away for a minute.
it('a database that is away for a minute loses no delivery, and what was answered meanwhile is not sent again', async () => {
  const postgres = await startChaosPostgres()
  onTestFinished(() => postgres.close())
  const databaseUrl = await postgres.createDatabase('farewatch_delivery_test')
  const database = openDatabase({ url: databaseUrl, applicationName: 'test', log: silentLog })
  onTestFinished(() => database.close())
  const { db } = database
  const waiting: ServerResponse[] = []
  const receiver = await startReceiver((_, res) => {
    if (receiver.received.length === 1) waiting.push(res)
    else res.end()
  })
  const { resellerId } = await prepare(db, receiver)
  await startDelivering(databaseUrl)
  await appendRecords(db, { resellerId, ...A }, [{}, {}])
  await receiver.arrived(1)
  // A claim that a crash undoes is made again, and its delivery is sent again.
  await sql`checkpoint`.execute(db)

  await postgres.crash()
  waiting[0]?.end()
  await delay(60_000)
  await postgres.start()
  await until('all deliveries', () => allDelivered(db, 2))
  await sql`select 1`.execute(db)
  await appendRecords(db, { resellerId, ...A }, [{}])
  await until('the next delivery', () => allDelivered(db, 3))

  expect(new Set(receiver.received.flatMap(({ ids }) => ids)).size).toBe(3)
  expect(receiver.received).toHaveLength(3)
})
