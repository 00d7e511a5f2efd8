/**
 * Times the documented questions on a long history, on PostgreSQL with the settings that farewatch gives its embedded
 * server, and prints the plans that scan a feed whole. At scale 1 the history has 2 M route changes, 1 M live routes, and
 * 20 k fares with 600 k intervals.
 *
 *   npm run bench:sql -- [scale] [rounds]
 *
 * BENCH_DATABASE_URL names an empty database whose history is kept for the next run.
 */

import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { workedQuestions } from '../docs/source/worked-questions.ts'
import { fillAirports } from '../src/app/fill-airports.ts'
import { acquireEmbeddedPostgres } from '../src/embedded/postgres.ts'
import { findPlace } from '../src/embedded/postgres-place.ts'
import { rollUpDay } from '../src/history/roll-up-days.ts'
import { createLogger } from '../src/platform/base/logger.ts'
import { asAnalyst } from '../src/platform/db/analyst-session.ts'
import { type Database, type Db, openDatabase, sql } from '../src/platform/db/database.ts'
import { migrate } from '../src/platform/db/migrate.ts'
import { inTransaction, openScratchTransaction, selectOne } from '../src/platform/db/transaction.ts'
import { beginApply, diffList } from '../src/routes/diff.ts'
import { savePlaceCodes } from '../src/routes/places.ts'
import { seedHistory } from './sql-history.ts'

const SCALE = Number(process.argv[2] ?? 1)
const ROUNDS = Number(process.argv[3] ?? 5)
const PAGES = ['analysts.md', 'reference/questions.md']
/** The end of the history, for which the documented questions ask. */
const NOW = `timestamptz '2026-07-03T06:00Z'`
/** A sequential scan of one of these reads a feed, or the intervals behind it, whole. */
const WHOLE_FEED = /Seq Scan on (route_change|availability_change)\b/

const log = createLogger({
  level: 'silent',
  scrub: (text) => text,
  destination: { write: () => undefined },
})

interface Question {
  readonly name: string
  readonly statement: string
  readonly goalMs: number
}

/** Every statement of the pages for analysts and of the worked questions. */
function documentedQuestions(): Question[] {
  const worked = workedQuestions().map(({ title, statement }) => ({
    name: title,
    statement,
    goalMs: 1_000,
  }))
  const shown = PAGES.flatMap((page) => {
    const text = readFileSync(new URL(`../docs/${page}`, import.meta.url), 'utf8')
    return text.split(/^#+ /m).flatMap((section) =>
      [...section.matchAll(/```sql\n([\s\S]*?)```/g)]
        .map(([, statement = '']) => statement)
        .filter((statement) => /^(select|with)/.test(statement))
        .map((statement, at) => ({
          name: `${section.split('\n', 1)[0]}${at === 0 ? '' : ` (${at + 1})`}`,
          statement: statement.replaceAll('now()', NOW),
          goalMs: 1_000,
        })),
    )
  })
  return [...shown, ...worked]
}

/** Reads of one route, place or fare, and the ways to read a part of a feed. */
const NARROW: readonly Question[] = [
  [
    'one route, its changes',
    `select * from farewatch.route_changes where departure_id = 'p1' and destination_id = 'p2'`,
  ],
  [
    'one route, its history',
    `select * from farewatch.route_history where departure_id = 'p1' and destination_id = 'p2'`,
  ],
  ['one place, its changes', `select * from farewatch.route_changes where place_id = 'p5'`],
  ['one place, its facts', `select * from farewatch.places where place_id = 'p5'`],
  ['one fare, its belief', 'select * from farewatch.fares_current where fare_id = 17'],
  ['one fare, its history', 'select * from farewatch.fare_history where fare_id = 17'],
  ['one fare, its changes', 'select * from farewatch.availability_changes where fare_id = 17'],
  ['one fare, its survival', 'select * from farewatch.fare_survival where fare_id = 17'],
  ['a distance', `select farewatch.route_distance_km('p1', 'p2')`],
].map(([name = '', statement = '']) => ({ name, statement, goalMs: 10 }))

const WIDE: readonly Question[] = [
  [
    'changes of an hour',
    `select * from farewatch.route_changes where recorded_at >= '2025-03-01T06:00Z' and recorded_at < '2025-03-01T07:00Z'`,
  ],
  [
    'fare changes of an hour',
    `select * from farewatch.availability_changes where recorded_at >= '2026-05-03T06:00Z' and recorded_at < '2026-05-03T07:00Z'`,
  ],
  ['survival, all', 'select * from farewatch.fare_survival'],
  [
    'survival, by reason',
    'select reason, count(*), avg(lasted_seconds) from farewatch.fare_survival group by 1',
  ],
  [
    'routes_as_of, by country',
    `select departure_country, count(*) from farewatch.routes_as_of('2025-07-01T12:00Z') group by 1`,
  ],
  [
    'routes_current, by country',
    'select departure_country, count(*) from farewatch.routes_current group by 1',
  ],
  ['places, all', 'select * from farewatch.places'],
].map(([name = '', statement = '']) => ({ name, statement, goalMs: 1_000 }))

async function timeOf(act: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  await act()
  return performance.now() - start
}

/** The CPU time of the one connection in ms, without parallel workers: on a busy machine it says more than the clock. Linux only. */
async function cpuOf(db: Db): Promise<number> {
  const { pid } = await selectOne(sql<{ pid: number }>`select pg_backend_pid() as pid`, db)
  return Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6
}

interface Figures {
  readonly goalMs: number
  readonly rows: number | string
  readonly cpuMs: number
  readonly note?: string
}

function print(
  name: string,
  times: readonly number[],
  { goalMs, rows, cpuMs, note = '' }: Figures,
): void {
  const sorted = [...times].sort((a, b) => a - b)
  const median = sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
  const [ms, slowest] = [median, sorted.at(-1) ?? Number.NaN].map((time) =>
    time.toFixed(1).padStart(8),
  )
  console.log(
    `${name.slice(0, 56).padEnd(56)} ${String(rows).padStart(8)} rows ${ms} ms, slowest ${slowest}, CPU ${cpuMs.toFixed(1)}${note}${median < goalMs ? '' : `  MISSES ${goalMs} ms`}`,
  )
}

/** Reads all rows in parts, as `farewatch sql` does. Returns how many, and when the first ones came. */
async function ask(
  database: Database,
  statement: string,
): Promise<{ rows: number; firstMs: number }> {
  const start = performance.now()
  let rows = 0
  let firstMs = Number.NaN
  await asAnalyst(database, (session) =>
    session.stream(statement, async (part) => {
      if (rows === 0) firstMs = performance.now() - start
      rows += part.rows.length
    }),
  )
  return { rows, firstMs }
}

const LARGE = 10_000

/** Prints the median of some rounds after a first one. Returns the plan where it reads a feed whole or misses its goal. */
async function measure(
  database: Database,
  { name, statement, goalMs }: Question,
): Promise<string[]> {
  const { rows } = await ask(database, statement)
  const times: number[] = []
  let firstMs = Number.NaN
  const cpu = await cpuOf(database.db)
  for (let round = 0; round < ROUNDS; round += 1) {
    times.push(await timeOf(async () => ({ firstMs } = await ask(database, statement))))
  }
  const cpuMs = ((await cpuOf(database.db)) - cpu) / ROUNDS
  const note = rows < LARGE ? '' : `, first rows after ${firstMs.toFixed(0)}`
  print(name, times, { goalMs, rows, cpuMs, note })
  const plan = await runPlan(database.db, statement)
  const isSlow = times.toSorted((a, b) => a - b)[Math.floor(ROUNDS / 2)] ?? 0
  return WHOLE_FEED.test(plan) || isSlow >= goalMs ? [`\n${name}:\n${plan}`] : []
}

async function runPlan(db: Db, statement: string): Promise<string> {
  return inTransaction(db, async (tx) => {
    const { rows } = await sql<{ 'QUERY PLAN': string }>`
      explain (analyze, costs off, buffers off) ${sql.raw(statement)}
    `.execute(tx)
    return rows.map((row) => `    ${row['QUERY PLAN']}`).join('\n')
  })
}

/** The comparison of a list that lacks a few live routes and has a few others, as a sync makes it. */
async function measureDiff(db: Db, list: 'routes' | 'with-availability'): Promise<void> {
  const tx = await openScratchTransaction(db)
  try {
    await beginApply(tx)
    await sql`create temp table staged_route (departure_id text not null, destination_id text not null) on commit drop`.execute(
      tx,
    )
    await sql`create statistics (ndistinct) on departure_id, destination_id from staged_route`.execute(
      tx,
    )
    await sql`create temp table staged_place (place_id text, iata text, city text, country text) on commit drop`.execute(
      tx,
    )
    await sql`
      insert into staged_route
      select departure_id, destination_id from farewatch.routes_current
       where abs(hashtext(departure_id || destination_id)) % 1000 > 0 and (${list === 'routes'} or available)
      union all select 'p1', 'new' || n from generate_series(1, 500) n
    `.execute(tx)
    await sql`analyze staged_route`.execute(tx)
    const args = { isStaged: true, confirmations: 2, arrivedAt: null }
    const cpu = await cpuOf(tx)
    const ms = await timeOf(() => diffList(tx, { ...args, list }))
    print(`the diff of ${list}`, [ms], { goalMs: 1_500, rows: '', cpuMs: (await cpuOf(tx)) - cpu })
  } finally {
    await tx.end()
  }
}

async function printSizes(db: Db): Promise<void> {
  const { rows } = await sql<{ name: string; rows: number; size: string }>`
    select relname as name, n_live_tup as rows, pg_size_pretty(pg_total_relation_size(relid)) as size
      from pg_stat_user_tables where n_live_tup > 10000 order by 1
  `.execute(db)
  for (const row of rows) console.log(`${row.name}: ${row.rows} rows, ${row.size}`)
}

async function run(database: Database): Promise<void> {
  const { db } = database
  await migrate(db)
  await fillAirports(db)
  const { isEmpty } = await selectOne(
    sql<{ isEmpty: boolean }>`select not exists (select from route_change) as "isEmpty"`,
    db,
  )
  if (isEmpty) {
    const places = Math.max(200, Math.round(4_000 * Math.sqrt(SCALE)))
    const ms = await timeOf(() =>
      seedHistory(db, { routes: 1e6 * SCALE, places, fares: 20_000 * SCALE }),
    )
    await inTransaction(db, savePlaceCodes)
    console.log(`scale ${SCALE}, seeded in ${(ms / 1000).toFixed(0)} s`)
  }
  // One of the days for which the documented questions ask. The worker computes one a day.
  const dayMs = await timeOf(() => inTransaction(db, (tx) => rollUpDay(tx, '2026-07-02')))
  console.log(`the daily tables of one day: ${(dayMs / 1000).toFixed(1)} s`)
  await printSizes(db)
  console.log(
    `load average ${os
      .loadavg()
      .map((load) => load.toFixed(1))
      .join(' ')}`,
  )
  const plans: string[] = []
  for (const question of [...documentedQuestions(), ...WIDE, ...NARROW]) {
    plans.push(...(await measure(database, question)))
  }
  for (const list of ['routes', 'with-availability'] as const) await measureDiff(db, list)
  console.log(
    `load average ${os
      .loadavg()
      .map((load) => load.toFixed(1))
      .join(' ')}`,
  )
  for (const plan of plans) console.log(plan)
}

async function onEmbedded(): Promise<void> {
  const home = await mkdtemp(path.join(os.tmpdir(), 'farewatch-bench-'))
  const postgres = await acquireEmbeddedPostgres({ home, log })
  try {
    await onDatabase(postgres.url)
  } finally {
    const { directory } = await findPlace(home)
    await postgres.release()
    await rm(directory, { recursive: true, force: true })
    await rm(home, { recursive: true, force: true })
  }
}

async function onDatabase(url: string): Promise<void> {
  const database = openDatabase({
    url,
    applicationName: 'bench',
    log,
    // One connection, so that its CPU time is that of the questions.
    maxConnections: 1,
    statementTimeoutMs: 900_000,
  })
  try {
    await run(database)
  } finally {
    await database.close()
  }
}

const { BENCH_DATABASE_URL } = process.env
await (BENCH_DATABASE_URL === undefined ? onEmbedded() : onDatabase(BENCH_DATABASE_URL))
