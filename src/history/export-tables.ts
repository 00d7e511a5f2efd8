import { createWriteStream } from 'node:fs'
import { mkdir, rename, rm } from 'node:fs/promises'
import path from 'node:path'
import type { Writable } from 'node:stream'
import { finished, pipeline } from 'node:stream/promises'
import { type AnalystSession, asAnalyst } from '../platform/db/analyst-session.ts'
import type { Database } from '../platform/db/database.ts'
import { compareParquet, writeParquet } from './parquet-file.ts'
import {
  assertSinceFloor,
  chooseTables,
  type ExportColumn,
  ExportError,
  type ExportType,
  type PublicTable,
  readColumns,
  readPublicTables,
  sinceCondition,
} from './public-tables.ts'

export const TABLE_FORMATS = ['parquet', 'csv', 'jsonl'] as const
export type TableFormat = (typeof TABLE_FORMATS)[number]

export interface TableExport {
  readonly tables: readonly string[]
  readonly format: TableFormat
  /** A number of a feed, or an instant: rows that are new since then. */
  readonly since?: number | Date | undefined
  /** The directory of the files. */
  readonly directory?: string | undefined
  /** Takes one table instead. */
  readonly stream?: Writable | undefined
}

/** Rows of one row group: with the JSON of fare changes about 15 MB. */
const PAGE_ROWS = 10_000

/**
 * Writes tables of the public SQL, all as they stood at one instant, in bounded memory. A file appears under its name
 * once it is complete. Returns the names of the files. Throws ExportError, SqlError.
 */
export async function exportTables(
  database: Pick<Database, 'pool'>,
  { tables: names, format, since, directory, stream }: TableExport,
): Promise<string[]> {
  return asAnalyst(
    database,
    async (session) => {
      const tables = chooseTables(await readPublicTables(session), names)
      if (since !== undefined) await assertSinceFloor(session, tables, since)
      const selects = tables.map((table) => selectOf(table, format, since))
      if (stream !== undefined) {
        const [table, select] = [tables[0], selects[0]]
        if (table === undefined || select === undefined || tables.length > 1) {
          throw new ExportError('standard output takes one table: name a directory with --out')
        }
        await writeTable(session, stream, { table, format, select })
        return []
      }
      const files: string[] = []
      for (const [at, table] of tables.entries()) {
        const file = path.join(directory ?? '.', `${table.name}.${format}`)
        await toFile(file, (out) =>
          writeTable(session, out, { table, format, select: selects[at] ?? '' }),
        )
        files.push(file)
      }
      return files
    },
    { isUnlimited: true },
  )
}

async function toFile(file: string, write: (out: Writable) => Promise<void>): Promise<void> {
  await mkdir(path.dirname(file), { recursive: true })
  const partial = `${file}.partial`
  const out = createWriteStream(partial)
  try {
    await write(out)
    await finished(out.end())
    await rename(partial, file)
  } catch (err) {
    // A stream that is still opening its file would make it again after it was removed.
    await finished(out.destroy()).catch(() => undefined)
    await rm(partial, { force: true })
    throw err
  }
}

interface ToWrite {
  readonly table: PublicTable
  readonly format: TableFormat
  readonly select: string
}

async function writeTable(
  session: AnalystSession,
  out: Writable,
  { table, format, select }: ToWrite,
): Promise<void> {
  if (format === 'parquet') {
    return writeParquet(out, table.columns, session.pages(select, PAGE_ROWS))
  }
  const copy =
    format === 'csv'
      ? `copy (${select}) to stdout (format csv, header)`
      : // JSON has no control characters, so with these as marks nothing is quoted.
        `copy (select to_json(t) from (${select}) t) to stdout (format csv, quote e'\\x01', delimiter e'\\x02')`
  await pipeline(session.copyOut(copy), out, { end: false })
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

/** Writes the rows of a SELECT as one Parquet file. Returns how many. */
export async function writeQuery(
  session: AnalystSession,
  out: Writable,
  query: OrderedQuery,
): Promise<number> {
  const columns = await readColumns(session, query.select)
  let rows = 0
  const counted = async function* () {
    for await (const page of parquetPages(session, columns, query)) {
      rows += page.length
      yield page
    }
  }
  await writeParquet(out, columns, counted())
  return rows
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
}

function parquetPages(
  session: AnalystSession,
  columns: readonly ExportColumn[],
  { select, order }: OrderedQuery,
): AsyncGenerator<(string | null)[][]> {
  const list = selectList(columns, 'parquet')
  return session.pages(`select ${list} from (${select}) q order by ${order}`, PAGE_ROWS)
}

function selectOf(
  table: PublicTable,
  format: TableFormat,
  since: number | Date | undefined,
): string {
  const list = selectList(table.columns, format === 'parquet' ? 'parquet' : 'text')
  const where = since === undefined ? '' : ` where ${sinceCondition(table, since)}`
  const order = table.columns.some(({ name }) => name === 'seq') ? ' order by seq' : ''
  return `select ${list} from farewatch."${table.name}"${where}${order}`
}
