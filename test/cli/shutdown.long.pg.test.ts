import http from 'node:http'
import { describe, expect, onTestFinished } from 'vitest'
import { sql } from '../../src/platform/db/database.ts'
import { addressesOf, logLines, startInTest } from '../support/child-process.ts'
import { listenLocally } from '../support/local-server.ts'
import { it } from '../support/test-database.ts'
import { until } from '../support/until.ts'
import { aWorld, queueOf, STORES } from './operator-fixtures.ts'

/** An upstream that accepts every request and answers none. */
async function silentUpstream(): Promise<{ url: string; asked: () => number }> {
  let asked = 0
  const server = http.createServer(() => {
    asked += 1
  })
  const { url, close } = await listenLocally(server)
  onTestFinished(close)
  return {
    url,
    asked: () => asked,
  }
}

describe.each(STORES)('a worker with its queue in %s that gets SIGTERM', (store) => {
  it('releases the running sync within its grace time and exits with 0', async ({
    databaseUrl,
  }) => {
    const world = await aWorld(databaseUrl, store)
    const upstream = await silentUpstream()
    const worker = startInTest(['worker'], {
      ...world.env,
      UPSTREAM_BASE_URL: upstream.url,
      ADMIN_PORT: '0',
    })
    await until('a question', () => upstream.asked() > 0)

    worker.child.kill('SIGTERM')

    expect(await worker.ended).toBe(0)
    const lines = logLines(worker)
    const { notStopped, ...last } = { notStopped: undefined, ...lines.at(-1) }
    expect(lines.filter(({ msg }) => msg === 'stopping')).toHaveLength(1)
    expect(lines.filter(({ msg }) => msg === 'a part did not stop in time')).toEqual([])
    expect(last).toMatchObject({ msg: 'stopped', level: 'info', tookMs: expect.any(Number) })
    expect(notStopped).toBeUndefined()
    const counts = await queueOf(world).counts('route-sync')
    expect(counts).toMatchObject({ active: 0, failed: 0 })
    expect(counts.waiting + counts.delayed).toBeGreaterThan(0)
  })
})

it('a service whose database a newer version migrates ends in order with a sentence, if the new schema would break it', async ({
  db,
  databaseUrl,
}) => {
  const upstream = await silentUpstream()
  const worker = startInTest(['worker'], {
    DATABASE_URL: databaseUrl,
    UPSTREAM_BASE_URL: upstream.url,
    ADMIN_PORT: '0',
  })
  await addressesOf(worker)

  await sql`insert into migration_note values ('9999_newer', false)`.execute(db)

  expect(await worker.ended).toBe(1)
  expect(worker.stderr()).toContain('the database has schema 9999_newer of a newer farewatch')
  expect(logLines(worker).at(-1)).toMatchObject({ msg: 'stopped' })
})
