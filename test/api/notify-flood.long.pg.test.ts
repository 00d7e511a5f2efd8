import { readFileSync } from 'node:fs'
import pg from 'pg'
import { expect, onTestFinished } from 'vitest'
import { sql } from '../../src/platform/db/database.ts'
import { revokeApiKey } from '../../src/resellers/api-keys.ts'
import { it } from '../support/test-database.ts'
import { startApiProcess } from './api-process.ts'
import { appendRecords } from './append-records.ts'
import { openEvents } from './event-client.ts'
import { fareOf, listWith, newCaller, watch } from './reseller-calls.ts'

const STREAMS = 20
const HEAP_MB = 512
const LIMIT_MB = 400

function megabytes(pid: number | undefined): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Math.round(Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) / 1024)
}

// Fault: A login of an analyst sends forged notifications by the thousand. At most one read in 250 ms follows false ones;
// streams and revocations go on.
it('forged notifications of any login cost the API little, and streams and revocations go on', async ({
  db,
  databaseUrl,
}) => {
  const { api, url } = await startApiProcess(databaseUrl, {
    NODE_OPTIONS: `--max-old-space-size=${HEAP_MB}`,
    API_REQUESTS_PER_SECOND: '1000',
  })
  const ana = await newCaller(db, url.origin, 'ana')
  await listWith(ana, 'summer', [watch('A-1'), watch('B-1', { flightId: '102' })])
  const fares = [await fareOf(db, '101'), await fareOf(db, '102')]
  const streams = await Promise.all(
    Array.from({ length: STREAMS }, () =>
      openEvents(`${url.origin}/api/v1/watch-changes/stream`, { key: ana.key }),
    ),
  )
  const forger = new pg.Client({ connectionString: databaseUrl })
  // The end of the test's database ends it too.
  forger.on('error', () => undefined)
  await forger.connect()
  onTestFinished(() => forger.end())

  for (const topic of ['key', 'watch', 'route', 'due', 'no such topic']) {
    await forger.query(
      `select count(pg_notify('farewatch', $1 || ' ' || i)) from generate_series(1, 20000) i`,
      [topic],
    )
  }
  const end = performance.now() + 2_000
  while (performance.now() < end) {
    await forger.query(`select pg_notify('farewatch', t) from unnest($1::text[]) t`, [
      ['key 1', `watch ${ana.resellerId}`, 'route', 'schedule', 'upstream', 'watch x', ''],
    ])
  }
  await appendRecords(db, { resellerId: ana.resellerId, fares, count: 3, padding: 0 })

  await Promise.all(streams.map((stream) => stream.events(3)))
  expect(api.child.exitCode).toBeNull()
  expect(megabytes(api.child.pid)).toBeLessThan(LIMIT_MB)
  const { rows } = await sql<{ id: number }>`
    select id from api_key where reseller_id = ${ana.resellerId}
  `.execute(db)
  for (const { id } of rows) await revokeApiKey(db, id)
  // Each ends with the problem of its key.
  const ends = await Promise.all(streams.map((stream) => stream.rest()))
  expect(ends.every((blocks) => blocks.at(-1)?.event === 'problem')).toBe(true)
})
