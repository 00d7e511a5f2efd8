import { mkdtemp, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { onTestFinished } from 'vitest'
import { exportTables } from '../../../src/history/export-run.ts'
import { type Database, type Db, sql } from '../../../src/platform/db/database.ts'
import { selectOne } from '../../../src/platform/db/transaction.ts'
import { addEndpoint } from '../../delivery/delivery-fixtures.ts'
import { seedAnalytics } from '../../routes/analytics-history.ts'
import { until } from '../../support/until.ts'
import { openDuckDb } from '../duckdb-warehouse.ts'

export const DAY = (day: string) => new Date(`${day}T00:00:00Z`)

/** What a prune deletes, by the name of its view: each row as JSON without what only the view adds. */
export type Rows = Readonly<Record<string, readonly string[]>>

const TABLES = {
  route_history: sql`select departure_id, destination_id, valid_from, valid_to, added_by from route_version`,
  route_availability_history: sql`select departure_id, destination_id, available, valid_from, valid_to from route_availability_version`,
  fare_history: sql`select tracked_fare_id as fare_id, pair as state, price::numeric(18,4)::text as price, valid_from, valid_to from fare_belief_version`,
  route_changes: sql`select seq, id, kind, departure_id, before::text as attributes_before, after::text as attributes, recorded_at from route_change`,
  availability_changes: sql`select seq, id, kind, tracked_fare_id as fare_id, recorded_at from availability_change`,
  watch_changes: sql`select reseller_id, w.seq, reference, change_id, watch_event_id, w.recorded_at, provenance::text
                       from watch_change w left join availability_change c on c.id = w.change_id`,
}

const FILES: Readonly<Record<keyof typeof TABLES, string>> = {
  route_history: 'departure_id, destination_id, valid_from, valid_to, added_run_id as added_by',
  route_availability_history: 'departure_id, destination_id, available, valid_from, valid_to',
  fare_history: 'fare_id, state, price::varchar as price, valid_from, valid_to',
  route_changes: 'seq, id, kind, departure_id, attributes_before, attributes, recorded_at',
  availability_changes: 'seq, id, kind, fare_id, recorded_at',
  watch_changes: 'reseller_id, seq, reference, change_id, watch_event_id, recorded_at, provenance',
}

/** The rows of all tables that a prune may delete from. Instants are microseconds since 1970. */
export async function storedRows(db: Db): Promise<Rows> {
  const entries = Object.entries(TABLES).map(async ([name, select]) => {
    const { rows } = await sql<Record<string, unknown>>`${select}`.execute(db)
    return [name, rows.map(textOf).sort((a, b) => (a < b ? -1 : 1))] as const
  })
  return Object.fromEntries(await Promise.all(entries))
}

/** What DuckDB reads from the files of an export, or of all its runs. */
export async function exportedRows(to: string): Promise<Rows> {
  const duckDb = await openDuckDb()
  const found: Record<string, string[]> = {}
  for (const [name, columns] of Object.entries(FILES)) {
    const rows = await duckDb.objects(`select distinct ${columns} from '${to}/**/${name}.parquet'`)
    found[name] = rows.map(textOf).sort((a, b) => (a < b ? -1 : 1))
  }
  return found
}

/** Exports all that a prune needs. */
export async function exportAll(database: Database, to: string, state?: string): Promise<string[]> {
  await untilFinal(database.db)
  return exportTables(database, { tables: ['all', 'watch_changes'], format: 'parquet', to, state })
}

/** Until an export reaches to what was written last: transactions of other tests hold it back. */
export async function untilFinal(db: Db): Promise<void> {
  const { xid } = await selectOne(
    sql<{ xid: string }>`select pg_current_xact_id()::text as xid`,
    db,
  )
  const isFinal = sql<{ is: boolean }>`
    select pg_snapshot_xmin(pg_current_snapshot()) > ${xid}::xid8 as is
  `
  await until('the end of older transactions', async () => (await selectOne(isFinal, db)).is)
}

export function without(before: Rows, after: Rows): Rows {
  return Object.fromEntries(
    Object.entries(before).map(([name, rows]) => {
      const left = new Set(after[name])
      return [name, rows.filter((row) => !left.has(row))]
    }),
  )
}

function textOf(row: Readonly<Record<string, unknown>>): string {
  const values = Object.entries(row).map(([name, value]) => [name, plain(value)])
  return JSON.stringify(values)
}

function plain(value: unknown): unknown {
  if (value === null || value === undefined || typeof value === 'boolean') return value ?? null
  if (value instanceof Date) return String(value.getTime() * 1000)
  const micros = (value as { micros?: bigint }).micros
  if (micros !== undefined) return String(micros)
  const text = String(value)
  // PostgreSQL writes JSON with spaces.
  return text.startsWith('{') ? JSON.stringify(JSON.parse(text)) : text
}

/**
 * Three and a half years of routes, a spring of fares, and two resellers with the records of these. The days were rolled up
 * when they ended, except for the last one of May 2026.
 */
export async function seedHistory(db: Db): Promise<{ readonly endpoint: string }> {
  await seedAnalytics(db)
  await sql`
    insert into daily_rollup (day, computed_at)
    select d::date, d + interval '2 days'
      from generate_series('2023-01-01'::timestamptz, clock_timestamp(), '1 day') d
     where d::date <> '2026-05-31'
  `.execute(db)
  await sql`
    update availability_change c
       set seq = -n.seq, recorded_at = c.detected_at,
           provenance = '{"status": 200, "latencyMs": 12.5}', evidence_hash = 'abc'
      from (select id, row_number() over (order by detected_at, seq) as seq from availability_change) n
     where n.id = c.id
  `.execute(db)
  await sql`update availability_change set seq = -seq`.execute(db)
  await sql`
    update feed_head h
       set last_seq = case feed when 'route' then (select max(seq) from route_change)
                                else (select max(seq) from availability_change) end
  `.execute(db)
  await sql`insert into reseller (name) values ('ana'), ('ben')`.execute(db)
  await sql`
    insert into watch_event (kind, tracked_fare_id, after, detected_at)
    values ('watch_started', 1, '{"pair": "unknown"}', '2026-04-30T10:00Z')
  `.execute(db)
  await sql`
    insert into watch_change (reseller_id, seq, watch_id, reference, list, change_id, watch_event_id, recorded_at)
    select r.id, row_number() over (partition by r.id order by c.recorded_at, c.seq), uuidv7(), 'A', 'summer', c.change_id, c.event_id, c.recorded_at
      from reseller r
     cross join (select seq, id as change_id, null::uuid as event_id, recorded_at from availability_change
                 union all
                 select 0, null, id, '2026-04-30T10:00Z' from watch_event) c
     where r.id > 0
  `.execute(db)
  await sql`
    update reseller r set last_seq = (select max(seq) from watch_change where reseller_id = r.id) where id > 0
  `.execute(db)
  const endpoint = await addEndpoint(db, 1)
  await sql`update webhook_endpoint set cursor_seq = (select last_seq from reseller where id = 1)`.execute(
    db,
  )
  return { endpoint }
}

export async function temporaryDirectory(): Promise<string> {
  const directory = await mkdtemp(path.join(os.tmpdir(), 'farewatch-prune-'))
  onTestFinished(() => rm(directory, { recursive: true, force: true }))
  return directory
}

/** The routes as they stood, by the public SQL; the text of its error before the floor. */
export function routesAsOf(db: Db, instant: string): Promise<string> {
  return textAsOf(
    sql<{ text: string }>`
    select coalesce(string_agg(departure_id || destination_id || departure_city || valid_from || coalesce(available::text, '-'), ' '
                               order by departure_id, destination_id), '') as text
      from farewatch.routes_as_of(${instant}::timestamptz)
  `.execute(db),
  )
}

/** What was believed of the fares, likewise. */
export function faresAsOf(db: Db, instant: string): Promise<string> {
  return textAsOf(
    sql<{ text: string }>`
    select coalesce(string_agg(concat_ws(' ', flight_id, state, price, currency, valid_from, outbound_departs_local), ', '
                               order by fare_id), '') as text
      from farewatch.fares_as_of(${instant}::timestamptz)
  `.execute(db),
  )
}

async function textAsOf(answer: Promise<{ rows: { text: string }[] }>): Promise<string> {
  return answer.then(
    ({ rows }) => rows[0]?.text ?? '',
    (err: Error) => err.message,
  )
}
