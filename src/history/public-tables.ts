import { AppError } from '../platform/base/errors.ts'
import type { AnalystSession } from '../platform/db/analyst-session.ts'

/** How the values of a column are exported. */
export type ExportType =
  | 'boolean'
  | 'int32'
  | 'int64'
  | 'double'
  | 'decimal'
  | 'instant'
  | 'local_time'
  | 'date'
  | 'json'
  | 'text'

export interface ExportColumn {
  readonly name: string
  readonly type: ExportType
}

/** A table or view of schema `farewatch`. */
export interface PublicTable {
  readonly name: string
  readonly columns: readonly ExportColumn[]
}

/** The tables that were asked for cannot be exported so. */
export class ExportError extends AppError {
  override readonly name = 'ExportError'
  override readonly code = 'export.impossible'
  override readonly retryable = false
}

const TYPES: Readonly<Record<string, ExportType>> = {
  bool: 'boolean',
  int2: 'int32',
  int4: 'int32',
  int8: 'int64',
  float4: 'double',
  float8: 'double',
  numeric: 'decimal',
  timestamptz: 'instant',
  timestamp: 'local_time',
  date: 'date',
  json: 'json',
  jsonb: 'json',
  _int4: 'json',
  _text: 'json',
}

/** All tables that analysts may read. Types without a kind of their own, such as uuid, are exported as text. */
export async function readPublicTables(session: AnalystSession): Promise<PublicTable[]> {
  const { rows } = await session.query(`
    select c.relname, a.attname, t.typname
      from pg_catalog.pg_class c
      join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
      join pg_catalog.pg_type t on t.oid = a.atttypid
     where c.relnamespace = 'farewatch'::regnamespace and c.relkind in ('r', 'v')
       and has_table_privilege(c.oid, 'select')
     order by c.relname, a.attnum
  `)
  const tables = Map.groupBy(rows, ([table]) => table ?? '')
  return [...tables].map(([name, columns]) => ({
    name,
    columns: columns.map(([, column, type]) => columnOf(column, type)),
  }))
}

function columnOf(name: string | null | undefined, type: string | null | undefined): ExportColumn {
  return { name: name ?? '', type: TYPES[type ?? ''] ?? 'text' }
}

/** The columns that a SELECT returns. */
export async function readColumns(
  session: AnalystSession,
  select: string,
): Promise<ExportColumn[]> {
  const { fields } = await session.query(`select * from (${select}) q limit 0`)
  const { rows } = await session.query(`
    select f.position, t.typname
      from unnest(array[${fields.map(({ dataTypeID }) => dataTypeID)}]::oid[]) with ordinality f (type, position)
      join pg_catalog.pg_type t on t.oid = f.type
     order by f.position
  `)
  return fields.map(({ name }, at) => columnOf(name, rows[at]?.[1]))
}

/** Returns the tables with these names, or all. Throws ExportError, which names the known ones. */
export function chooseTables(
  tables: readonly PublicTable[],
  names: readonly string[],
): readonly PublicTable[] {
  if (names.includes('all')) return tables
  return names.map((name) => {
    const found = tables.find((table) => table.name === name.replace(/^farewatch\./, ''))
    if (found !== undefined) return found
    throw new ExportError(
      `there is no table "${name}"; there are: ${tables.map((table) => table.name).join(', ')}, or all`,
    )
  })
}

/** A column whose numbers say what an export has taken: no row appears later under a smaller one. */
export type Numbers = 'seq' | 'written_in'

/** Null for a view of the present, whose rows have no history. */
export function numbersOf(table: PublicTable): Numbers | null {
  if (has(table, 'seq')) return 'seq'
  return has(table, 'written_in') ? 'written_in' : null
}

/**
 * The columns by which a row of a later export replaces an earlier one. A day is computed as a whole, and replaced so.
 * Null for a view of the present, which each export has whole.
 */
export function keyOf(table: PublicTable): string | null {
  if (numbersOf(table) === null) return null
  return ['seq', 'row_key', 'day', 'sync_run_id'].find((column) => has(table, column)) ?? null
}

/** An open interval of these shows its last check, so an export takes it again, although nothing wrote its row. */
const SHOW_LAST_CHECK: ReadonlySet<string> = new Set(['fare_history'])

/** The condition for rows with numbers from `from` on and below `to`. */
export function rangeCondition(
  table: PublicTable,
  { numbers, from, to }: { readonly numbers: Numbers; readonly from: number; readonly to: number },
): string {
  const range = `${numbers} >= ${from} and ${numbers} < ${to}`
  return SHOW_LAST_CHECK.has(table.name) ? `(valid_to is null or ${range})` : range
}

/** The day in UTC of the instant that a row is about, as text: of an interval, of its end. */
export function dayExpression(table: PublicTable): string {
  if (has(table, 'day')) return 'day::text'
  const begin = SHOW_LAST_CHECK.has(table.name) ? 'transaction_timestamp()' : 'valid_from'
  const instant =
    ['recorded_at', 'finished_at'].find((column) => has(table, column)) ??
    `coalesce(valid_to, ${begin})`
  return `(${instant} at time zone 'UTC')::date::text`
}

function has({ columns }: PublicTable, name: string): boolean {
  return columns.some((column) => column.name === name)
}

/** The columns that say when a row was written or changed. `--from` uses the first one that the table has. */
const CHANGED_AT = ['changed_at', 'recorded_at', 'finished_at']

/** The condition for rows that are new since an instant. Throws ExportError. */
export function sinceCondition(table: PublicTable, since: Date): string {
  const instant = `timestamptz '${since.toISOString()}'`
  if (has(table, 'day')) return `day >= (${instant} at time zone 'UTC')::date`
  const column = CHANGED_AT.find((name) => has(table, name))
  if (column !== undefined) return `${column} >= ${instant}`
  if (numbersOf(table) === null) {
    throw new ExportError(
      `"${table.name}" shows the present, and does not say when its rows changed: export it whole, without --from`,
    )
  }
  return `(valid_from >= ${instant} or valid_to >= ${instant})`
}

/** Where the histories and feeds that are archived begin. */
export interface Floor {
  readonly completeFrom: Date
  /** Of a feed, the first number that it still has. */
  readonly firstSeq: number | null
}

/** By the names of the tables that are archived. */
export async function readFloors(session: AnalystSession): Promise<ReadonlyMap<string, Floor>> {
  const { rows } = await session.query(`
    select view_name, extract(epoch from complete_from) * 1000, first_seq
      from farewatch.history_starts where complete_from is not null
  `)
  return new Map(
    rows.map(([name, epochMs, first]) => [
      name ?? '',
      { completeFrom: new Date(Number(epochMs)), firstSeq: first == null ? null : Number(first) },
    ]),
  )
}
