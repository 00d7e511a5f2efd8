import type { Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { AnalystSession } from '../platform/db/analyst-session.ts'
import { compareParquet, writeParquet } from './parquet-file.ts'
import {
  dayExpression,
  type ExportColumn,
  type ExportType,
  type PublicTable,
  readColumns,
} from './public-tables.ts'

export const TABLE_FORMATS = ['parquet', 'csv', 'jsonl'] as const
export type TableFormat = (typeof TABLE_FORMATS)[number]

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

type Page = (string | null)[][]

/** Rows of a table by the UTC day of the instant that they are about, a day after the other, each to be written as Parquet. */
export async function* daysOf(
  session: AnalystSession,
  part: TablePart,
): AsyncGenerator<{ readonly day: string; write(out: Writable): Promise<number> }> {
  const days = dayExpression(part.table)
  const source = session.pages(selectOf(part, 'parquet', days), PAGE_ROWS)
  const next = async () => ((await source.next()).value as Page | undefined) ?? []
  let page = await next()
  while (page.length > 0) {
    const day = page[0]?.[0] ?? ''
    async function* pagesOfDay(): AsyncGenerator<Page> {
      while (page.length > 0 && page[0]?.[0] === day) {
        const end = page.findIndex((row) => row[0] !== day)
        const rows = end === -1 ? page : page.slice(0, end)
        page = end === -1 ? await next() : page.slice(end)
        yield rows.map(([, ...cells]) => cells)
      }
    }
    yield { day, write: (out) => writeParquet(out, part.table.columns, pagesOfDay()) }
  }
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

/** `first` is an expression that the rows have before their columns, and are ordered by. */
function selectOf(
  { table, where }: TablePart,
  form: keyof typeof EXPRESSIONS,
  first?: string,
): string {
  const list = selectList(table.columns, form)
  const isFeed = table.columns.some(({ name }) => name === 'seq')
  const order = [...(first === undefined ? [] : ['1']), ...(isFeed ? ['seq'] : [])].join(', ')
  return [
    `select ${first === undefined ? '' : `${first}, `}${list} from farewatch."${table.name}"`,
    ...(where === null ? [] : [`where ${where}`]),
    ...(order === '' ? [] : [`order by ${order}`]),
  ].join(' ')
}

/** Writes the rows of a SELECT as one Parquet file. Returns how many. */
export async function writeQuery(
  session: AnalystSession,
  out: Writable,
  query: OrderedQuery,
): Promise<number> {
  const columns = await readColumns(session, query.select)
  return writeParquet(out, columns, parquetPages(session, columns, query))
}

/**
 * Reads a Parquet file again and compares it with the rows of the SELECT that it was written from. Throws
 * ParquetError.
 */
export async function verifyQuery(
  session: AnalystSession,
  file: string,
  query: OrderedQuery,
): Promise<void> {
  const columns = await readColumns(session, query.select)
  await compareParquet(file, columns, parquetPages(session, columns, query))
}

export interface OrderedQuery {
  readonly select: string
  /** Columns that order the rows, each row differently. */
  readonly order: string
  /** Called with the number of rows so far. */
  readonly onRows?: (count: number) => void
}

async function* parquetPages(
  session: AnalystSession,
  columns: readonly ExportColumn[],
  { select, order, onRows }: OrderedQuery,
): AsyncGenerator<Page> {
  const list = selectList(columns, 'parquet')
  let count = 0
  for await (const page of session.pages(
    `select ${list} from (${select}) q order by ${order}`,
    PAGE_ROWS,
  )) {
    yield page
    count += page.length
    onRows?.(count)
  }
}
