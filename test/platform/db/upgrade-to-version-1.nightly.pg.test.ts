import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { Type } from 'typebox'
import { Value } from 'typebox/value'
import { expect, onTestFinished } from 'vitest'
import { type Sandbox, startSandbox } from '../../../sandbox/sandbox-server.ts'
import { AvailabilityChange } from '../../../src/feeds/change-shapes.ts'
import { readAvailabilityChanges } from '../../../src/feeds/operator-feed-queries.ts'
import { createScrub } from '../../../src/platform/base/secrets.ts'
import { type Db, sql } from '../../../src/platform/db/database.ts'
import { migrate } from '../../../src/platform/db/migrate.ts'
import { proveHistory } from '../../../src/routes/prove/prove-history.ts'
import { startReceiver } from '../../delivery/receiver.ts'
import { searchDemoFlights } from '../../sandbox/changing-flights.ts'
import { silentLog } from '../../support/silent-log.ts'
import { it } from '../../support/test-database.ts'
import { until } from '../../support/until.ts'
import { catalogueOf } from './catalogue.ts'
import { createEmptyDatabase, openAnother } from './empty-database.ts'
import { checkOut, has, temporaryFolder, upUntil } from './older-version.ts'

/** The last version before the names and shapes of version 1 were settled. */
const BEFORE = '4e915278cc9dbcfe473ca2d27f0876c6b4415a39'
const TOKEN = 'upgrade-access-token'
const FARES = 40

type Row = Readonly<Record<string, unknown>>

/** New names in public SQL. */
const RENAMED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  availability_changes: { tracked_fare_id: 'fare_id' },
  fare_history: { tracked_fare_id: 'fare_id', return: 'return_leg' },
  fares_current: { tracked_fare_id: 'fare_id', return: 'return_leg' },
  fare_survival: { tracked_fare_id: 'fare_id' },
  fare_schedule: {
    tracked_fare_id: 'fare_id',
    longest_interval_seconds: 'expected_interval_seconds',
  },
  route_changes: { before: 'attributes_before', after: 'attributes' },
  sync_runs: { id: 'sync_run_id' },
  daily_network: { available: 'available_routes' },
  daily_country_pairs: { available: 'available_routes' },
  daily_prices: { average: 'average_median', p10: 'lowest_p10', p90: 'highest_p90' },
  prices_by_days_to_departure: {
    average: 'average_median',
    p10: 'lowest_p10',
    p90: 'highest_p90',
  },
}
/** Columns that are gone, whose values are of the moment, or that say something else. */
const OTHER: Readonly<Record<string, readonly string[]>> = {
  // First records are `first_seen`; beliefs have `state` for `pair`, and no text to compare by.
  availability_changes: ['kind', 'before', 'after'],
  fare_schedule: ['due_within_seconds'],
  fares_current: ['age_seconds'],
  route_changes: ['renumbered'],
  // A baseline adds no routes.
  sync_runs: ['review_id', 'places_renumbered', 'added', 'gained'],
}
/** Tables of work that is done otherwise, and of what is gone. */
const GONE = [
  'archive',
  'email_address',
  'email_link',
  'fare_schedule_clock',
  'fare_schedule_factor',
  'fare_schedule_reseller',
  'feed_gap',
  'place_renumbering',
  'schedule',
  'tick',
]
/** Rows that the upgrade adds: the owner of the endpoints of operators. */
const ADDED: Readonly<Record<string, number>> = { reseller: 1 }
/** Nothing of this test fills them. */
const EMPTY = [
  'archive',
  'email_address',
  'email_link',
  'feed_gap',
  'pending_absence',
  'pending_place',
  'place_renumbering',
  'process',
  'verify_result',
]

interface Contents {
  readonly tables: Readonly<Record<string, number>>
  readonly views: Readonly<Record<string, readonly Row[]>>
}

/** All rows are there, and each view shows the same under its new names. */
function expectSame(before: Contents, after: Contents): void {
  const names = Object.keys(before.tables)
  expect(names.filter((name) => before.tables[name] === 0 && !EMPTY.includes(name))).toEqual([])
  expect(names.filter((name) => !(name in after.tables))).toEqual(GONE)
  const kept = names.filter((name) => ![...GONE, 'asked_flight', 'migration_note'].includes(name))
  const expected = kept.map((name) => [name, (before.tables[name] ?? 0) + (ADDED[name] ?? 0)])
  expect(kept.map((name) => [name, after.tables[name]])).toEqual(expected)
  const { history_starts: _starts, ...views } = before.views
  for (const [view, rows] of Object.entries(views)) {
    const columns = Object.keys(rows[0] ?? {}).filter((name) => !OTHER[view]?.includes(name))
    const shown = (of: readonly Row[], nameOf: (name: string) => string) =>
      of.map((row) => JSON.stringify(columns.map((name) => row[nameOf(name)]))).toSorted(compare)
    const now = shown(after.views[view] ?? [], (name) => RENAMED[view]?.[name] ?? name)
    expect({ view, rows: now }).toEqual({ view, rows: shown(rows, (name) => name) })
  }
}

const compare = (a: string, b: string) => (a < b ? -1 : 1)

/** Runs a command of the older version. */
type Old = (...args: string[]) => Promise<string>

/** Whether the database has what the versions between have changed: all kinds of work was done. */
async function isFilled(db: Db): Promise<boolean> {
  const { rows } = await sql<{ yes: boolean }>`
    select (select count(distinct list) from farewatch.sync_runs where status = 'applied') = 2
       and (select count(distinct kind) from farewatch.availability_changes) >= 3
       and exists (select from farewatch.sync_runs where status in ('held', 'dropped'))
       and exists (select from farewatch.route_changes)
       and exists (select from farewatch_private.incident)
       and exists (select from farewatch_private.delivery where state = 'delivered') as yes
  `.execute(db)
  return rows[0]?.yes === true
}

/** Works with the older version until its database has rows of every kind. */
async function fill(db: Db, old: Old, { sandbox, home }: { sandbox: Sandbox; home: string }) {
  await using receiver = await startReceiver()
  const flights = searchDemoFlights(sandbox.world, sandbox.now(), FARES)
  const rows = flights.map((flight, i) =>
    [
      'summer',
      `A-${i}`,
      flight,
      i === 0 ? flights.at(-1) : '',
      i % 2,
      1 + (i % 2),
      i === 1 ? 5 : '',
    ].join(),
  )
  const head =
    'list,reference,flight_id,return_flight_id,residents_adults,non_residents_adults,price_threshold_percent'
  await writeFile(path.join(home, 'summer.csv'), [head, ...rows].join('\n'))
  for (const name of ['ana', 'ben']) await old('resellers', 'create', name)
  await old('watch-list', 'import', 'summer.csv', '--reseller', 'ana')
  const own = ['--reseller', 'ana']
  const target = [...own, '--target', `http://127.0.0.1:${receiver.port}/`]
  const made = await old('endpoints', 'create', ...target, '--json')
  const { id } = JSON.parse(made) as { id: string }
  await Promise.all([
    old('watch-list', 'add', flights[0] ?? '', '--reseller', 'ben'),
    old('watch-list', 'pause', ...own, '--list', 'summer', '--reference', 'A-2'),
    old('endpoints', 'create', ...target, '--sold-out', '--price-below', '99.50EUR'),
    old('endpoints', 'rotate', id, ...own),
    old('endpoints', 'test', id, ...own),
    old('keys', 'link', ...own),
    old('pause', 'syncs', '--from', '2h', '--until', '3h', '--reason', 'planned'),
    old('budget', 'limit', '30', '--until', '2h', '--reason', 'planned'),
  ])
  await until('first lists', async () => (await count(db, 'route_change')) > 0)
  sandbox.setFaults([
    { name: 'tenfold-list', endpoint: 'routes', durationSeconds: 60 },
    { name: 'all-unavailable', durationSeconds: 90 },
  ])
  await until('rows of every kind', () => isFilled(db), 240_000)
}

async function count(db: Db, table: string): Promise<number> {
  const { rows } = await sql<{ n: number }>`
    select count(*) as n from ${sql.table(`farewatch_private.${table}`)}
  `.execute(db)
  return rows[0]?.n ?? 0
}

/** Moves all instants two days back, so that there are days to compute. */
async function age(db: Db): Promise<void> {
  await sql`
    do $$
    declare
      t record;
    begin
      set local session_replication_role = replica;
      for t in select a.attrelid::regclass as name,
                      string_agg(format('%I = %I - interval ''2 days''', attname, attname), ', ') as shifts
                 from pg_attribute a
                 join pg_class c on c.oid = a.attrelid and c.relkind = 'r'
                where c.relnamespace = 'farewatch_private'::regnamespace and c.relname !~ 'kysely'
                  and atttypid = 'timestamptz'::regtype and attnum > 0 and not attisdropped and attgenerated = ''
                group by 1 loop
        execute format('update %s set %s', t.name, t.shifts);
      end loop;
    end;
    $$
  `.execute(db)
}

async function tablesOf(db: Db): Promise<Record<string, number>> {
  const { rows } = await sql<{ name: string }>`
    select relname as name from pg_class
     where relnamespace = 'farewatch_private'::regnamespace and relkind = 'r' and relname !~ 'kysely'
     order by 1
  `.execute(db)
  const counts = await Promise.all(
    rows.map(async ({ name }) => [name, await count(db, name)] as const),
  )
  return Object.fromEntries(counts)
}

async function viewsOf(db: Db): Promise<Record<string, Row[]>> {
  const { rows } = await sql<{ name: string }>`
    select relname as name from pg_class
     where relnamespace = 'farewatch'::regnamespace and relkind = 'v' order by 1
  `.execute(db)
  const views = await Promise.all(
    rows.map(async ({ name }) => {
      const all = await sql<{ row: Row }>`
        select to_jsonb(v) as row from ${sql.table(`farewatch.${name}`)} v
      `.execute(db)
      return [name, all.rows.map(({ row }) => row)] as const
    }),
  )
  return Object.fromEntries(views)
}

it.skipIf(!has(BEFORE))(
  'a database that the version before has filled shows the same after the upgrade',
  { timeout: 900_000 },
  async ({ db: fresh }) => {
    const url = await createEmptyDatabase()
    const { db } = openAnother(url)
    const [home, root] = [await temporaryFolder(), await checkOut(BEFORE)]
    const now = new Date()
    const sandbox = await startSandbox({
      port: 0,
      seed: 1,
      speed: 60,
      token: TOKEN,
      worldStart: now,
      log: silentLog,
    })
    onTestFinished(() => sandbox.close())
    const settings = {
      DATABASE_URL: url,
      UPSTREAM_BASE_URL: sandbox.url,
      UPSTREAM_ACCESS_TOKEN: TOKEN,
      UPSTREAM_REQUESTS_PER_SECOND: '40',
      MIN_RECHECK_SECONDS: '1',
      ROUTE_SYNC_SCHEDULE: '*/10 * * * * *',
      AVAILABILITY_SYNC_SCHEDULE: '*/10 * * * * *',
      ENCRYPTION_KEY: 'a-key-of-more-than-thirty-two-characters',
      WEBHOOK_ALLOW_HTTP: 'on',
      WEBHOOK_ALLOWED_NETWORKS: '127.0.0.1/32',
    }
    const old: Old = async (...args) => {
      const env = { PATH: process.env.PATH, FAREWATCH_HOME: home, ...settings }
      const run = promisify(execFile)(path.join(root, 'bin/farewatch'), args, { cwd: home, env })
      return (await run).stdout
    }
    const ended = await upUntil(
      '"ready"',
      root,
      home,
      () => fill(db, old, { sandbox, home }),
      settings,
    )
    expect(ended.exit, ended.output.slice(-3_000)).toBe(0)
    await age(db)
    await old('rollup')
    const before = { tables: await tablesOf(db), views: await viewsOf(db) }

    await migrate(db)

    expect(await catalogueOf(db)).toEqual(await catalogueOf(fresh))
    expectSame(before, { tables: await tablesOf(db), views: await viewsOf(db) })
    const proof = await proveHistory(
      { db, scrub: createScrub([]), confirmations: 2 },
      { signal: AbortSignal.timeout(600_000) },
    )
    expect(proof.kinds).toEqual({})
    const changes = await readAvailabilityChanges(db, { after: 0, limit: 1000 })
    expect(
      Value.Errors(Type.Array(AvailabilityChange), JSON.parse(JSON.stringify(changes))),
    ).toEqual([])
  },
)
