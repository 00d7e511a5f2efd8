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

/** The columns that say when a row was written or changed. `--since` uses the first one that the table has. */
const CHANGED_AT = ['changed_at', 'recorded_at', 'finished_at', 'day']

/** The condition for rows that are new since a number of the feed, or since an instant. Throws ExportError. */
export function sinceCondition({ name, columns }: PublicTable, since: number | Date): string {
  const has = (column: string) => columns.some((other) => other.name === column)
  if (typeof since === 'number') {
    if (has('seq')) return `seq > ${since}`
    throw new ExportError(`"${name}" has no column seq: --since needs an instant or a feed`)
  }
  const instant = `timestamptz '${since.toISOString()}'`
  const column = CHANGED_AT.find(has)
  if (column === 'day') return `day >= (${instant} at time zone 'UTC')::date`
  if (column !== undefined) return `${column} >= ${instant}`
  if (has('valid_to')) return `(valid_from >= ${instant} or valid_to >= ${instant})`
  throw new ExportError(`"${name}" does not say when its rows changed: export it without --since`)
}

/** Throws ExportError if rows since then are archived: the export would lack them. */
export async function assertSinceFloor(
  session: AnalystSession,
  tables: readonly PublicTable[],
  since: number | Date,
): Promise<void> {
  const { rows } = await session.query(`
    select view_name, first_seq - 1, extract(epoch from complete_from)::text
      from farewatch.history_starts where complete_from is not null
  `)
  for (const [name, before, epoch] of rows) {
    if (!tables.some((table) => table.name === name)) continue
    const instant = new Date(Number(epoch) * 1000)
    if (since instanceof Date ? since < instant : since < Number(before)) {
      const least = since instanceof Date ? instant.toISOString() : before
      throw new ExportError(`"${name}" is archived before ${least}: --since must be at least that`)
    }
  }
}
