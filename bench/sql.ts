/**
 * Times the documented questions on a long history, on PostgreSQL with the settings that farewatch gives its embedded
 * server. At scale 1 the history has 2 M route changes, 1 M live routes, and 20 k fares with 600 k intervals. The floor is
 * `select 1` as an analyst.
 *
 *   npm run bench:sql -- [scale] [rounds]
 */
import { readFileSync } from 'node:fs'
import { workedQuestions } from '../docs/source/worked-questions.ts'
import { fillAirports } from '../src/app/fill-airports.ts'
import { rollUpDay } from '../src/history/roll-up-days.ts'
import { asAnalyst } from '../src/platform/db/analyst-session.ts'
import { type Database, type Db, openDatabase, sql } from '../src/platform/db/database.ts'
import { migrate } from '../src/platform/db/migrate.ts'
import { inTransaction, openScratchTransaction } from '../src/platform/db/transaction.ts'
import { beginApply, diffList } from '../src/routes/diff.ts'
import { savePlaceCodes } from '../src/routes/places.ts'
import { silentLog } from '../test/support/silent-log.ts'
import { median, numbers, printHead, printRow, startPostgres, timeMs } from './harness.ts'
import { seedHistory } from './sql-history.ts'

const [SCALE, ROUNDS] = numbers(1, 5)
const PAGES = ['analysts.md', 'reference/questions.md']
/** The end of the history, for which the documented questions ask. */
const NOW = `timestamptz '2026-07-03T06:00Z'`

interface Question {
  readonly name: string
  readonly statement: string
  readonly goalMs: number
}

/** Every statement of the pages for analysts and of the worked questions. */
function documentedQuestions(): Question[] {
  const shown = PAGES.flatMap((page) => {
    const text = readFileSync(new URL(`../docs/${page}`, import.meta.url), 'utf8')
    return text.split(/^#+ /m).flatMap((section) => {
      const title = section.split('\n', 1)[0] ?? ''
      const blocks = [...section.matchAll(/```sql\n((?:select|with)[\s\S]*?)```/g)]
      const statements = blocks.flatMap(([, block = '']) => block.trim().split(/;$/m))
      return statements
        .filter((statement) => statement !== '')
        .map((statement) => ({ title, statement: statement.replaceAll('now()', NOW) }))
    })
  })
  return [...shown, ...workedQuestions()].map(({ title: name, statement }) => {
    return { name, statement, goalMs: 1_000 }
  })
}

/** Reads of one route, place or fare, and the ways to read a part of a feed. */
const MORE: readonly Question[] = (
  [
    [`route_changes where departure_id = 'p1' and destination_id = 'p2'`, 10],
    [`route_history where departure_id = 'p1' and destination_id = 'p2'`, 10],
    [`route_changes where place_id = 'p5'`, 10],
    ['fares_current where fare_id = 17', 10],
    ['fare_history where fare_id = 17', 10],
    ['availability_changes where fare_id = 17', 10],
    ['fare_survival where fare_id = 17', 10],
    [`route_changes where recorded_at between '2025-03-01T06:00Z' and '2025-03-01T07:00Z'`, 1_000],
    [
      `availability_changes where recorded_at between '2026-05-03T06:00Z' and '2026-05-03T07:00Z'`,
      1_000,
    ],
    ['fare_survival', 1_000],
    [`routes_as_of('2025-07-01T12:00Z')`, 1_000],
    ['routes_current', 1_000],
  ] as const
).map(([name, goalMs]) => {
  const columns = name.includes('where') ? '*' : 'count(*)'
  return { name, goalMs, statement: `select ${columns} from farewatch.${name}` }
})

/** Reads all rows in parts, as `farewatch sql` does. Returns how many. */
async function ask(database: Database, statement: string): Promise<number> {
  let rows = 0
  await asAnalyst(database, (session) =>
    session.stream(statement, async (part) => {
      rows += part.rows.length
    }),
  )
  return rows
}

function print(
  name: string,
  rows: number | string,
  { ms, goalMs }: { ms: number; goalMs: number },
) {
  printRow([
    name.slice(0, 60),
    `${rows}`,
    `${ms.toFixed(1)} ms`,
    ms < goalMs ? '' : `misses ${goalMs}`,
  ])
}

/** Prints the median of some rounds after a first one. */
async function measure(database: Database, { name, statement, goalMs }: Question): Promise<void> {
  const rows = await ask(database, statement)
  const times: number[] = []
  while (times.length < ROUNDS) times.push(await timeMs(() => ask(database, statement)))
  print(name, rows, { ms: median(times), goalMs })
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
    const args = { isStaged: true, confirmations: 2, arrivedAt: null, list }
    const ms = await timeMs(() => diffList(tx, args))
    print(`the diff of ${list}`, '', { ms, goalMs: 1_500 })
  } finally {
    await tx.end()
  }
}

/** What docs/performance.md says of the size of a change, with its indexes. */
async function printSizes(db: Db): Promise<void> {
  const { rows } = await sql<{ name: string; rows: number; size: string }>`
    select relname as name, n_live_tup as rows, pg_size_pretty(pg_total_relation_size(relid)) as size
      from pg_stat_user_tables where n_live_tup > 10000 order by 1
  `.execute(db)
  for (const { name, rows: count, size } of rows) printRow([name, `${count}`, size, ''])
}

const postgres = await startPostgres()
const database = openDatabase({
  url: postgres.url,
  applicationName: 'bench',
  log: silentLog,
  maxConnections: 1,
  statementTimeoutMs: 900_000,
})
const { db } = database
try {
  await migrate(db)
  await fillAirports(db)
  const places = Math.max(200, Math.round(4_000 * Math.sqrt(SCALE)))
  await seedHistory(db, { routes: 1e6 * SCALE, places, fares: 20_000 * SCALE })
  await inTransaction(db, savePlaceCodes)
  // One of the days for which the documented questions ask. The worker computes one a day.
  await inTransaction(db, (tx) => rollUpDay(tx, '2026-07-02'))
  printHead(`scale ${SCALE}`, ['question or table', 'rows', 'median or size', 'goal'])
  await printSizes(db)
  const floor = { name: 'the floor: select 1', statement: 'select 1', goalMs: 10 }
  for (const question of [floor, ...documentedQuestions(), ...MORE])
    await measure(database, question)
  for (const list of ['routes', 'with-availability'] as const) await measureDiff(db, list)
} finally {
  await database.close()
  await postgres.close()
}
