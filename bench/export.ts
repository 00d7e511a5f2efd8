/**
 * Measures exports of many rows: time, bytes, and the peak memory of the process that writes them (Linux only). The reader
 * keeps nothing. The first line is the same command with nothing to write. `sql --raw` is COPY
 * alone, so it is the floor of the others.
 *
 *   node bench/export.ts [routes] [changes of routes]
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { acquireEmbeddedPostgres } from '../src/embedded/postgres.ts'
import { findPlace } from '../src/embedded/postgres-place.ts'
import { createLogger } from '../src/platform/base/logger.ts'
import { type Db, openDatabase, sql } from '../src/platform/db/database.ts'
import { migrate } from '../src/platform/db/migrate.ts'

const ROUTES = Number(process.argv[2] ?? 1_000_000)
const CHANGES = Number(process.argv[3] ?? 2_000_000)
const PLACES = 4_000
const MAIN = path.join(import.meta.dirname, '../src/cli/main.ts')

const log = createLogger({
  level: 'silent',
  scrub: (text) => text,
  destination: { write: () => undefined },
})

/** Rows in random order, as after years of changes; two thirds are available. */
async function seedRoutes(db: Db): Promise<void> {
  const at = new Date('2026-01-01T00:00:00Z')
  const pair = sql`(n % ${sql.lit(PLACES)})::text, (${sql.lit(PLACES)} + n / ${sql.lit(PLACES)})::text`
  const numbers = sql`generate_series(0, ${sql.lit(ROUTES - 1)}) n order by random()`
  await sql`
    insert into sync_run (list, status, baseline, fetched_at, finished_at)
    values ('routes', 'applied', true, ${at}, ${at})
  `.execute(db)
  await sql`
    insert into route_version (departure_id, destination_id, valid_from, added_by)
    select ${pair}, ${at}::timestamptz, 1 from ${numbers}
  `.execute(db)
  await sql`
    insert into route_availability_version (departure_id, destination_id, available, valid_from)
    select ${pair}, n % 3 > 0, ${at}::timestamptz from ${numbers}
  `.execute(db)
  await sql`
    insert into place_version (place_id, iata, city, country, valid_from)
    select n::text, 'X' || n, 'City ' || n, 'Country ' || n % 90, ${at}
      from generate_series(0, ${PLACES + Math.ceil(ROUTES / PLACES)}::int) n
  `.execute(db)
  await sql`vacuum (analyze) route_version, route_availability_version, place_version`.execute(db)
}

function peakMb(pid: number | undefined): number {
  const kb = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return Number(kb) / 1024
}

/** Additions of routes, a second apart. */
async function seedChanges(db: Db): Promise<void> {
  await sql`
    insert into route_change (seq, kind, departure_id, destination_id, after, first_missed_at, recorded_at, sync_run_id)
    select n, 'route_added', (n % 4000)::text, (n / 4000)::text, '{"available": null}', at, at, 1
      from generate_series(1, ${CHANGES}::int) n, lateral (select '2025-02-01'::timestamptz + n * interval '1 second' as at) t
  `.execute(db)
  await sql`update feed_head set last_seq = ${CHANGES} where feed = 'route'`.execute(db)
  await sql`vacuum (analyze) route_change`.execute(db)
}

async function exportOnce(databaseUrl: string, args: readonly string[]): Promise<void> {
  const start = performance.now()
  const child = spawn(process.execPath, [MAIN, ...args], {
    env: { ...process.env, DATABASE_URL: databaseUrl, UPSTREAM_BASE_URL: 'http://127.0.0.1:9' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const seen = { bytes: 0, lines: 0, peakMb: 0 }
  child.stdout.on('data', (chunk: Buffer) => {
    seen.bytes += chunk.length
    seen.lines += chunk.reduce((lines, byte) => lines + (byte === 10 ? 1 : 0), 0)
    seen.peakMb = Math.max(seen.peakMb, peakMb(child.pid))
  })
  const [code] = await once(child, 'close')
  const seconds = ((performance.now() - start) / 1000).toFixed(1)
  console.log(
    `${args.join(' ').padEnd(56)} exit ${code} ${String(seen.lines).padStart(9)} lines ` +
      `${(seen.bytes / 1e6).toFixed(1).padStart(6)} MB ${seconds.padStart(5)} s  peak ${seen.peakMb.toFixed(0)} MB`,
  )
}

const home = await mkdtemp(path.join(os.tmpdir(), 'farewatch-bench-'))
const postgres = await acquireEmbeddedPostgres({ home, log })
const database = openDatabase({ url: postgres.url, applicationName: 'bench', log })
try {
  await migrate(database.db)
  await seedRoutes(database.db)
  console.log(
    `load average ${os
      .loadavg()
      .map((load) => load.toFixed(1))
      .join(' ')}`,
  )
  for (const args of [
    '--format csv --as-of 1990-01-01',
    '--format csv',
    '--format json',
    '--format csv --list with-availability',
  ])
    await exportOnce(postgres.url, ['routes', 'export', ...args.split(' ')])
  await seedChanges(database.db)
  const changes = 'select * from farewatch.route_changes'
  await exportOnce(postgres.url, ['sql', '--raw', changes])
  await exportOnce(postgres.url, ['sql', '--csv', changes])
  for (const format of ['csv', 'jsonl', 'parquet'])
    await exportOnce(postgres.url, ['export', 'route_changes', '--format', format, '--to', '-'])
  console.log(
    `load average ${os
      .loadavg()
      .map((load) => load.toFixed(1))
      .join(' ')}`,
  )
} finally {
  await database.close()
  const { directory } = await findPlace(home)
  await postgres.release()
  await rm(directory, { recursive: true, force: true })
  await rm(home, { recursive: true, force: true })
}
