import type { Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { TableFormat } from '../platform/base/kinds.ts'
import type { AnalystSession } from '../platform/db/analyst-session.ts'
import { writeParquet } from './parquet-file.ts'
import type { ExportColumn, ExportType, PublicTable } from './public-tables.ts'

/** Rows of one row group: with the JSON of fare changes about 15 MB. */
const PAGE_ROWS = 10_000

/** What is written of a table. */
export interface TablePart {
  readonly table: PublicTable
  /** Null: all of its rows. */
  readonly where: string | null
}

/** Writes rows of a table of the public SQL, in bounded memory. Returns how many. */
export async function writeTable(
  session: AnalystSession,
  out: Writable,
  { format, ...part }: TablePart & { readonly format: TableFormat },
): Promise<number> {
  if (format === 'parquet') {
    const pages = session.pages(selectOf(part, 'parquet'), PAGE_ROWS)
    return writeParquet(out, part.table.columns, pages)
  }
  const select = selectOf(part, 'text')
  const copy = session.copyOut(
    format === 'csv'
      ? `copy (${select}) to stdout (format csv, header)`
      : // JSON has no control characters, so with these as marks nothing is quoted.
        `copy (select to_json(t) from (${select}) t) to stdout (format csv, quote e'\\x01', delimiter e'\\x02')`,
  )
  await pipeline(copy, out, { end: false })
  return copy.rows
}

/**
 * Parquet takes times as numbers. Text formats have them as ISO 8601, and decimals in JSON as text: a float would
 * round.
 */
const EXPRESSIONS: Readonly<
  Record<'parquet' | 'text', Partial<Record<ExportType, (column: string) => string>>>
> = {
  parquet: {
    instant: (column) => `(extract(epoch from ${column}) * 1000000)::bigint`,
    local_time: (column) => `(extract(epoch from ${column}) * 1000000)::bigint`,
    date: (column) => `${column} - date '1970-01-01'`,
    json: (column) => `to_json(${column})`,
  },
  text: {
    instant: (column) => `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`,
    local_time: (column) => `to_char(${column}, 'YYYY-MM-DD"T"HH24:MI:SS')`,
    decimal: (column) => `${column}::text`,
    json: (column) => `to_json(${column})`,
    text: (column) => `${column}::text`,
  },
}

function selectList(columns: readonly ExportColumn[], form: keyof typeof EXPRESSIONS): string {
  const expressions = EXPRESSIONS[form]
  return columns
    .map(({ name, type }) => `${expressions[type]?.(`"${name}"`) ?? `"${name}"`} as "${name}"`)
    .join(', ')
}

function selectOf({ table, where }: TablePart, form: keyof typeof EXPRESSIONS): string {
  const isFeed = table.columns.some(({ name }) => name === 'seq')
  return [
    `select ${selectList(table.columns, form)} from farewatch."${table.name}"`,
    ...(where === null ? [] : [`where ${where}`]),
    ...(isFeed ? ['order by seq'] : []),
  ].join(' ')
}
