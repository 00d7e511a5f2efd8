/**
 * Fares that workers check, for bench/verify.ts and bench/scale.ts. One fare is checked first. All others are copies of its
 * rows, so that the checks that are measured find nothing new.
 */
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { type App, migrateApp } from '../src/app/app.ts'
import { type Db, sql, type Tx } from '../src/platform/db/database.ts'
import { inTransaction, selectOne } from '../src/platform/db/transaction.ts'
import {
  addReseller,
  measured,
  openBenchApp,
  type Postgres,
  type Redis,
  settingsFor,
  startFile,
  startPostgres,
  startRole,
  watchCells,
} from './harness.ts'

export interface Checks {
  readonly app: App
  readonly postgres: Postgres
  readonly settings: ReturnType<typeof settingsFor>
  readonly reseller: Awaited<ReturnType<typeof addReseller>>
  close(): Promise<void>
}

/** Each fare has one watch, and the resellers have equally many. */
export async function openChecks(fares: number, resellers = 1): Promise<Checks> {
  const postgres = await startPostgres({ wal_keep_size: '8GB' })
  const { child, first: url } = await startFile<string>('verify-upstream.ts')
  const settings = settingsFor(postgres, { UPSTREAM_BASE_URL: url })
  const app = openBenchApp(settings)
  await migrateApp(app)
  const reseller = await addReseller(app, 'reseller-1', watchCells('bench', 1))
  const role = await startRole('worker', settings)
  // The first answer is confirmed by a second one.
  while (!(await hasStarted(app.database.db))) await delay(200)
  await role.stop()
  if (fares > 1) await copyFare(app.database.db, fares, resellers)
  const close = async () => {
    child.disconnect()
    await app.close()
    await postgres.close()
  }
  return { app, postgres, settings, reseller, close }
}

async function hasStarted(db: Db): Promise<boolean> {
  const { rows } = await sql`select from watch where started_at is not null`.execute(db)
  return rows.length > 0
}

/** What differs in the rows of another fare. */
const COPIES = {
  tracked_fare: `'id', "to".fare, 'flight_id', (1000000 + "to".n)::text`,
  fare_state: `'tracked_fare_id', "to".fare`,
  fare_belief_version: `'tracked_fare_id', "to".fare`,
  fare_schedule: `'tracked_fare_id', "to".fare`,
  // Anywhere in its first interval.
  turn: `'tracked_fare_id', "to".fare, 'reseller_id', "to".reseller, 'score', 1, 'vdue', random()`,
  watch: `'id', gen_random_uuid(), 'tracked_fare_id', "to".fare, 'reference', 'w' || "to".n,
          'reseller_id', "to".reseller, 'watch_list_id', "to".list`,
}

async function copyFare(db: Db, fares: number, resellers: number): Promise<void> {
  await inTransaction(db, async (tx) => {
    await sql`set local statement_timeout = '15min'`.execute(tx)
    await sql`insert into reseller (name) select 'reseller-' || n from generate_series(2, ${resellers}::int) n`.execute(
      tx,
    )
    await sql`insert into watch_list (reseller_id, name) select id, 'bench' from reseller on conflict do nothing`.execute(
      tx,
    )
    await sql`
      create table bench_fare as
      select f.id + n as fare, n, o.reseller, o.list
        from tracked_fare f
       cross join generate_series(1, ${fares - 1}::int) n
        join (select reseller_id as reseller, id as list, row_number() over (order by reseller_id) as place from watch_list) o
          on o.place = 1 + n % ${resellers}::int
    `.execute(tx)
    for (const [table, changes] of Object.entries(COPIES)) await copyRow(tx, table, changes)
    // The queues begin together.
    await sql`delete from reseller_queue`.execute(tx)
    await sql`
      insert into reseller_queue (reseller_id, fares, scores)
      select reseller_id, count(*), sum(score) from turn group by reseller_id
    `.execute(tx)
  })
  await sql`vacuum analyze`.execute(db)
}

async function copyRow(tx: Tx, table: string, changes: string): Promise<void> {
  await sql`
    insert into ${sql.table(table)} overriding system value
    select copy.*
      from ${sql.table(table)} first
     cross join bench_fare "to"
     cross join lateral jsonb_populate_record(first, jsonb_build_object(${sql.raw(changes)})) copy
  `.execute(tx)
}

/** Releases all claims and makes all fares due at an instant, so that every step begins in the same state. */
async function makeAllDue(db: Db, seconds: number): Promise<void> {
  await sql`
    update fare_schedule
       set claim_id = null, slot_at = null, lane = null, lane_due_at = null, leased_until = '-infinity',
           not_before = clock_timestamp() + make_interval(secs => ${seconds})
  `.execute(db)
  await sql`update upstream_budget set next_slot_at = '-infinity', next_lane_at = '-infinity'`.execute(
    db,
  )
  await sql`vacuum fare_schedule, turn`.execute(db)
}

async function recorded(db: Db): Promise<number> {
  const counted = sql<{ n: number }>`select coalesce(sum(checks), 0)::bigint as n from check_minute`
  return (await selectOne(counted, db)).n
}

/** What a worker claims doubles every few seconds until some checks are late, then falls, and grows until it is what it carries. */
export const warmUpSeconds = (seconds: number) => Math.min(60, 3 * seconds)

interface Step {
  /** None: no fare is due, and the workers are idle. */
  readonly budget: number | undefined
  readonly workers: number
  readonly redis: Redis | undefined
  readonly seconds: number
}

export interface Used {
  /** Checks a second in the warm-up, and then. */
  readonly firstRate: number
  readonly rate: number
  /** In cores. */
  readonly workers: number
  readonly postgres: number
  readonly redis: number
  /** Kilobytes a second. */
  readonly wal: number
}

/** What workers record and use. */
export async function runWorkers(
  { app, postgres, settings }: Checks,
  { budget, workers, redis, seconds }: Step,
  during: () => Promise<unknown> = () => delay(seconds * 1_000),
): Promise<Used> {
  const { db } = app.database
  await makeAllDue(db, budget === undefined ? 3_600 : 0)
  const given = {
    ...settings,
    UPSTREAM_REQUESTS_PER_SECOND: String(budget ?? 20),
    ...(redis && { REDIS_URL: redis.url }),
  }
  const start = await recorded(db)
  const roles = await Promise.all(Array.from({ length: workers }, () => startRole('worker', given)))
  while (budget !== undefined && (await recorded(db)) === start) await delay(100)
  await delay(warmUpSeconds(seconds) * 1_000)
  const [checks, lsn] = [await recorded(db), await position(postgres)]
  const pids = [postgres.pid, redis?.pid ?? 0, ...roles.map(({ pid }) => pid)]
  const { seconds: took, cpu } = await measured(pids, during)
  const rate = ((await recorded(db)) - checks) / took
  const wal = (await walKilobytes(postgres, lsn)) / took
  await Promise.all(roles.map((role) => role.stop()))
  const [server = 0, store = 0, ...own] = cpu.map((one) => one / took)
  return {
    firstRate: (checks - start) / warmUpSeconds(seconds),
    rate,
    workers: own.reduce((a, b) => a + b, 0),
    postgres: server,
    redis: store,
    wal,
  }
}

async function asSuperuser<T>(
  { superuserUrl }: Postgres,
  statements: readonly string[],
): Promise<T> {
  const client = new pg.Client({ connectionString: superuserUrl })
  await client.connect()
  const results = []
  for (const statement of statements) results.push(await client.query(statement))
  await client.end()
  return results.at(-1)?.rows[0]
}

/** An idle server may write nothing else, and statistics of the WAL need a record after their beginning. */
async function position(postgres: Postgres): Promise<string> {
  const { lsn } = await asSuperuser<{ lsn: string }>(postgres, [
    'create extension if not exists pg_walinspect schema public',
    'select pg_current_wal_insert_lsn()::text as lsn',
  ])
  return lsn
}

/** The records of the WAL since then, without full-page images. Counters of the server would lag behind. */
async function walKilobytes(postgres: Postgres, lsn: string): Promise<number> {
  const { kilobytes } = await asSuperuser<{ kilobytes: number }>(postgres, [
    `select pg_logical_emit_message(false, 'bench', '', true)`,
    `select (sum(record_size) / 1024)::float8 as kilobytes
       from public.pg_get_wal_stats('${lsn}', pg_current_wal_insert_lsn())`,
  ])
  return kilobytes
}
