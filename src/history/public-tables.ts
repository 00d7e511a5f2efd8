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
  /** Whether analysts may read it. Others are for operators. */
  readonly isForAnalysts: boolean
  readonly columns: readonly ExportColumn[]
}

/** The tables that were asked for cannot be exported so. */
export class ExportError extends AppError {
  override readonly name = 'ExportError'
  override readonly code: string = 'export.impossible'
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

/** Types without a kind of their own, such as uuid, are exported as text. */
export async function readPublicTables(session: AnalystSession): Promise<PublicTable[]> {
  const { rows } = await session.query(`
    select c.relname, a.attname, t.typname, has_table_privilege('farewatch_analyst', c.oid, 'select')
      from pg_catalog.pg_class c
      join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
      join pg_catalog.pg_type t on t.oid = a.atttypid
     where c.relnamespace = 'farewatch'::regnamespace and c.relkind in ('r', 'v')
     order by c.relname, a.attnum
  `)
  const tables = Map.groupBy(rows, ([table]) => table ?? '')
  return [...tables].map(([name, columns]) => ({
    name,
    isForAnalysts: columns[0]?.[3] === 't',
    columns: columns.map(([, column, type]) => ({
      name: column ?? '',
      type: TYPES[type ?? ''] ?? 'text',
    })),
  }))
}

/** The tables with these names, and with `all` those for analysts. Throws ExportError, which names the known ones. */
export function chooseTables(
  tables: readonly PublicTable[],
  names: readonly string[],
): readonly PublicTable[] {
  const wanted = new Set(names.map((name) => name.replace(/^farewatch\./, '')))
  const isAll = wanted.delete('all')
  const unknown = [...wanted].find((name) => tables.every((table) => table.name !== name))
  if (unknown !== undefined) {
    const known = tables.map(({ name }) => name).join(', ')
    throw new ExportError(`there is no table "${unknown}"; there are: ${known}, or all`)
  }
  return tables.filter(({ name, isForAnalysts }) => wanted.has(name) || (isAll && isForAnalysts))
}

/** A column whose numbers say what an export has taken: no row appears later under a smaller one. */
export type Numbers = 'seq' | 'written_in'

/** Null for a view of the present, whose rows have no history. */
export function numbersOf(table: PublicTable): Numbers | null {
  const numbers = ['written_in', 'seq'] as const
  return numbers.find((column) => has(table, column)) ?? null
}

/**
 * The columns by which a row of a later export replaces an earlier one. A day is computed as a whole, and replaced so.
 * Null for a view of the present, which each export has whole.
 */
export function keyOf(table: PublicTable): string | null {
  if (numbersOf(table) === null) return null
  return ['row_key', 'seq', 'day', 'sync_run_id'].find((column) => has(table, column)) ?? null
}

/** An open interval of these shows its last check, so an export takes it again, although nothing wrote its row. */
const SHOW_LAST_CHECK: ReadonlySet<string> = new Set(['fare_history'])

/** The condition for rows with these numbers. */
export function rangeCondition(
  table: PublicTable,
  { numbers, first, last }: { numbers: Numbers; first: number; last: number },
): string {
  const range = `${numbers} between ${first} and ${last}`
  return SHOW_LAST_CHECK.has(table.name) ? `(valid_to is null or ${range})` : range
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

/** Where a history or a feed begins that was pruned. */
export interface Floor {
  readonly completeFrom: Date
  /** No row with a smaller number is left out. */
  readonly number: number
}

/** By the names of the tables that were pruned. */
export async function readFloors(session: AnalystSession): Promise<ReadonlyMap<string, Floor>> {
  const { rows } = await session.query(`
    select h.view_name, extract(epoch from h.complete_from) * 1000, coalesce(h.first_seq, p.written_before::text::bigint)
      from farewatch.history_starts h
     cross join farewatch_private.prune p
     where h.complete_from is not null
  `)
  return new Map(
    rows.map(([name, epochMs, number]) => [
      name ?? '',
      { completeFrom: new Date(Number(epochMs)), number: Number(number) },
    ]),
  )
}
