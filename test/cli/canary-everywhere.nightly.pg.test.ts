import { gzipSync } from 'node:zlib'
import { describe, expect, onTestFinished } from 'vitest'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { selectOne } from '../../src/platform/db/transaction.ts'
import { call, EVERY } from '../api/calls.ts'
import { callByCommand, failAJob, meetEveryFault } from '../faults/canary-faults.ts'
import {
  addressesOf,
  type CanaryFixture,
  fetched,
  startCanaryFixture,
} from '../faults/canary-fixture.ts'
import { type Finding, findSecret, SEARCHED_SECRET } from '../faults/secret-search.ts'
import { databaseFindings, redisFindings } from '../faults/store-findings.ts'
import { bearer } from '../support/api-server.ts'
import {
  freePort,
  hasRedisServer,
  startRedisServer,
  stopRedisServer,
} from '../support/redis-tier.ts'
import { it } from '../support/test-database.ts'
import { until } from '../support/until.ts'

const READING = [
  ['runs', 'list', '--json'],
  ['runs', 'show', '1', '--json'],
  ['fares', 'show', '1', '--json'],
  ['changes', '--json'],
  ['routes', 'export', '--format', 'json'],
  ['config', '--json'],
  ['sql', 'select * from farewatch.sync_runs', '--json'],
  ['sql', `select '${SEARCHED_SECRET.replaceAll("'", "''")}'::int`],
]

/** Runs commands three at a time. */
async function runAll(fixture: CanaryFixture, commands: readonly string[][]): Promise<void> {
  const left = [...commands]
  const next = async (): Promise<void> => {
    const args = left.shift()
    if (args === undefined) return
    await fixture.run(...args)
    await next()
  }
  await Promise.all([next(), next(), next()])
}

/** Requests to the API and the admin servers, some of them with the credential. */
async function askApi(fixture: CanaryFixture): Promise<void> {
  const [ofApi, ofWorker] = [await addressesOf(fixture.api), await addressesOf(fixture.worker)]
  const made = await fixture.run('keys', 'create', '--operator', '--json')
  const { key } = JSON.parse(made.stdout) as { key: string }
  const base = new URL(ofApi.api ?? '').origin
  const secret = new URLSearchParams({ accessToken: SEARCHED_SECRET })
  for (const [id, operation] of EVERY) {
    const answers = [
      await call(base, operation, { key }),
      await call(base, operation, { key: 'x' }),
    ]
    for (const { text, headers } of answers) {
      fixture.findings.push({ where: id, content: `${JSON.stringify([...headers])}\n${text}` })
    }
  }
  const paths = ['/api/v1/openapi.json', '/nowhere', `/api/v1/status?${secret}`, `/%zz?${secret}`]
  const urls = [ofApi.metrics, ofApi.health, ofWorker.metrics, ofWorker.health]
  for (const url of [...urls, ...paths.map((path) => `${base}${path}`)]) {
    fixture.findings.push(await fetched(url, { headers: bearer(key) }))
  }
}

async function endInOrder({ worker, api, findings }: CanaryFixture): Promise<void> {
  for (const [name, service] of Object.entries({ worker, api })) {
    service.child.kill('SIGTERM')
    expect(await service.ended).toBe(0)
    findings.push({ where: `${name} log`, content: `${service.stdout()}\n${service.stderr()}` })
  }
}

async function storeFindings(db: Db, redisUrl: string | undefined): Promise<Finding[]> {
  const inRedis = redisUrl === undefined ? [] : await redisFindings(redisUrl)
  return [...(await databaseFindings(db)), ...inRedis]
}

/** The searched places must not be empty, or the search would prove nothing. */
async function expectFullStores(db: Db): Promise<void> {
  const kept = await selectOne(
    sql<Record<string, number>>`
      select (select count(*) from evidence) as evidence, (select count(*) from snapshot_part) as snapshots,
             (select count(*) from sync_run where reason like '%[redacted]%') as runs
    `,
    db,
  )
  expect(Object.entries(kept).filter(([, count]) => Number(count) === 0)).toEqual([])
}

async function theRedis(): Promise<string> {
  const port = await freePort()
  const server = await startRedisServer(port)
  onTestFinished(() => stopRedisServer(server))
  return `redis://127.0.0.1:${port}`
}

describe('the credential of the upstream, whatever the upstream does with it', () => {
  it.for(['PostgreSQL', 'Redis'])(
    'is in nothing that is output or stored, with the queue in %s',
    {
      timeout: 240_000,
    },
    async (queue, { db, databaseUrl, skip }) => {
      if (queue === 'Redis' && !hasRedisServer()) skip('no redis-server on this machine')
      const redisUrl = queue === 'Redis' ? await theRedis() : undefined
      const fixture = await startCanaryFixture(db, { databaseUrl, redisUrl })
      await addressesOf(fixture.worker)
      await until('routes and fares', async () => {
        const { rows } = await sql`
        select from evidence, sync_run where status = 'applied' limit 1
      `.execute(db)
        return rows.length > 0
      })

      await meetEveryFault(fixture)
      await failAJob(fixture)
      await askApi(fixture)
      // The place of the queue makes no difference to a command.
      if (queue === 'PostgreSQL') {
        await callByCommand(fixture)
        await runAll(fixture, READING)
      }
      const whileRunning = await storeFindings(db, redisUrl)
      await endInOrder(fixture)
      const afterwards = await storeFindings(db, redisUrl)

      expect(findSecret([...fixture.findings, ...whileRunning, ...afterwards])).toEqual([])
      const output = fixture.findings.map(({ content }) => String(content)).join('\n')
      expect(output).toContain('[redacted]')
      await expectFullStores(db)

      // The search finds a planted credential.
      await sql`
      insert into evidence (hash, body) values ('planted', ${gzipSync(SEARCHED_SECRET)})
    `.execute(db)
      expect(findSecret(await databaseFindings(db))).toEqual([
        'table farewatch_private.evidence.body: raw',
      ])
    },
  )
})
