/**
 * Measures routes_as_of at several instants of a long history, for one place and for all, on PostgreSQL with the
 * settings that farewatch gives its embedded server. Prints medians, the slowest, and the plans.
 *
 *   node bench/as-of.ts [routes] [years] [rounds]
 */
import { mkdtemp, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { acquireEmbeddedPostgres } from '../src/embedded/postgres.ts'
import { findPlace } from '../src/embedded/postgres-place.ts'
import { createLogger } from '../src/platform/base/logger.ts'
import {
  type Database,
  type Db,
  openDatabase,
  type RawBuilder,
  sql,
} from '../src/platform/db/database.ts'
import { migrate } from '../src/platform/db/migrate.ts'
import { BEGIN, seedHistory } from './as-of-history.ts'

const ROUTES = Number(process.argv[2] ?? 40_000)
const YEARS = Number(process.argv[3] ?? 10)
const ROUNDS = Number(process.argv[4] ?? 9)
const SHAPE = {
  routes: ROUTES,
  places: 4_000,
  years: YEARS,
  routeDays: 180,
  availabilityDays: 60,
  placeDays: 700,
}
const GOAL_MS = { place: 100, all: 1_000 }

const log = createLogger({
  level: 'silent',
  scrub: (text) => text,
  destination: { write: () => undefined },
})

interface AsOfQuery {
  readonly name: string
  readonly goalMs: number
  readonly sql: (instant: Date) => RawBuilder<unknown>
}

/** P0 is the largest hub; the other places follow in decreasing size. */
const QUERIES: readonly AsOfQuery[] = [
  {
    name: 'the largest hub, by id',
    goalMs: GOAL_MS.place,
    sql: (t) => sql`select * from farewatch.routes_as_of(${t}) where departure_id = 'P0'`,
  },
  {
    name: 'the largest hub, by code',
    goalMs: GOAL_MS.place,
    sql: (t) => sql`select * from farewatch.routes_as_of(${t}) where departure_iata = 'X0'`,
  },
  {
    name: 'a medium place, by code',
    goalMs: GOAL_MS.place,
    sql: (t) => sql`select * from farewatch.routes_as_of(${t}) where departure_iata = 'X1000'`,
  },
  {
    name: 'to one place, by code',
    goalMs: GOAL_MS.place,
    sql: (t) => sql`select * from farewatch.routes_as_of(${t}) where destination_iata = 'X1000'`,
  },
  {
    name: 'all',
    goalMs: GOAL_MS.all,
    sql: (t) => sql`select * from farewatch.routes_as_of(${t})`,
  },
]

/** After half a year, in the middle, on the last day but one, and now. */
function instants(): Date[] {
  const days = [0.05 * YEARS * 365, 0.5 * YEARS * 365, YEARS * 365 - 1, YEARS * 365 + 30]
  return days.map((day) => new Date(BEGIN.getTime() + day * 86_400_000))
}

async function timeOf(db: Db, query: RawBuilder<unknown>): Promise<{ ms: number; rows: number }> {
  const start = performance.now()
  const { rows } = await query.execute(db)
  return { ms: performance.now() - start, rows: rows.length }
}

async function planOf(db: Db, query: RawBuilder<unknown>): Promise<string> {
  const { rows } = await sql<{ 'QUERY PLAN': string }>`
    explain (analyze, costs off, timing off, buffers off) ${query}
  `.execute(db)
  return rows.map((row) => `    ${row['QUERY PLAN']}`).join('\n')
}

async function measure(db: Db, asOf: AsOfQuery): Promise<void> {
  for (const instant of instants()) {
    const query = asOf.sql(instant)
    await timeOf(db, query)
    const times: { ms: number; rows: number }[] = []
    for (let round = 0; round < ROUNDS; round += 1) times.push(await timeOf(db, query))
    const sorted = times.map(({ ms }) => ms).sort((a, b) => a - b)
    const median = sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
    console.log(
      `${asOf.name.padEnd(32)} ${instant.toISOString().slice(0, 10)} ${String(times[0]?.rows).padStart(7)} rows` +
        ` ${median.toFixed(1).padStart(8)} ms, slowest ${(sorted.at(-1) ?? Number.NaN).toFixed(1)}` +
        `${median < asOf.goalMs ? '' : `  MISSES ${asOf.goalMs} ms`}`,
    )
  }
}

async function printSizes(db: Db): Promise<void> {
  const { rows } = await sql<{ name: string; rows: number; size: string }>`
    select relname as name, n_live_tup as rows, pg_size_pretty(pg_total_relation_size(relid)) as size
      from pg_stat_user_tables
     where relname in ('route_version', 'route_availability_version', 'place_version', 'sync_run')
     order by 1
  `.execute(db)
  for (const row of rows) console.log(`${row.name}: ${row.rows} rows, ${row.size}`)
}

async function run({ db }: Database): Promise<void> {
  await migrate(db)
  const start = performance.now()
  await seedHistory(db, SHAPE)
  console.log(
    JSON.stringify(SHAPE),
    `seeded in ${((performance.now() - start) / 1000).toFixed(0)} s`,
  )
  await printSizes(db)
  console.log(
    `load average ${os
      .loadavg()
      .map((load) => load.toFixed(1))
      .join(' ')}`,
  )
  for (const asOf of QUERIES) await measure(db, asOf)
  const middle = instants()[1] ?? BEGIN
  for (const asOf of QUERIES) {
    console.log(`\n${asOf.name}:\n${await planOf(db, asOf.sql(middle))}`)
  }
  console.log(
    `load average ${os
      .loadavg()
      .map((load) => load.toFixed(1))
      .join(' ')}`,
  )
}

const home = await mkdtemp(path.join(os.tmpdir(), 'farewatch-bench-'))
const postgres = await acquireEmbeddedPostgres({ home, log })
const database = openDatabase({ url: postgres.url, applicationName: 'bench', log })
try {
  await run(database)
} finally {
  await database.close()
  const { directory } = await findPlace(home)
  await postgres.release()
  await rm(directory, { recursive: true, force: true })
  await rm(home, { recursive: true, force: true })
}
