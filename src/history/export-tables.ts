import type { Writable } from 'node:stream'
import type { TableFormat } from '../platform/base/kinds.ts'
import type { AnalystSession } from '../platform/db/analyst-session.ts'
import { type Cell, parquetWriter, writeTo } from './parquet-file.ts'
import type { ExportColumn, ExportType, PublicTable } from './public-tables.ts'

/** What is written of a table. */
export interface TablePart {
  readonly table: PublicTable
  /** Null: all of its rows. */
  readonly where: string | null
}

type FormattedPart = TablePart & { readonly format: TableFormat }

/** Writes rows of a table of the public SQL, in bounded memory. Returns how many. */
export async function writeTable(
  session: AnalystSession,
  out: Writable,
  part: FormattedPart,
): Promise<number> {
  const { select, write, finish } = writerOf(out, part)
  let written = 0
  await session.stream(select, async ({ rows }) => {
    written += rows.length
    await write(rows)
  })
  await finish()
  return written
}

function writerOf(out: Writable, { format, ...part }: FormattedPart) {
  const { columns } = part.table
  if (format === 'parquet') {
    return { select: selectOf(part, 'parquet'), ...parquetWriter(out, columns) }
  }
  const select = selectOf(part, 'text')
  if (format === 'jsonl') {
    return { select: `select to_json(t) from (${select}) t`, ...textWriter(out, linesOf) }
  }
  const heading = csvText([columns.map(({ name }) => name)])
  return { select, ...textWriter(out, csvText, heading) }
}

type Rows = readonly (readonly Cell[])[]

function textWriter(out: Writable, textOf: (rows: Rows) => string, heading = '') {
  let before = heading
  const write = async (rows: Rows) => {
    await writeTo(out, before + textOf(rows))
    before = ''
  }
  return { write, finish: async () => undefined }
}

function linesOf(rows: Rows): string {
  return rows.map((row) => `${row.join()}\n`).join('')
}

/** As COPY of PostgreSQL writes it: a null is empty, and an empty text is quoted. */
export function csvText(rows: Rows): string {
  const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`
  const cellOf = (cell: Cell) =>
    cell === null ? '' : /^$|[",\r\n]/.test(cell) ? quoted(cell) : cell
  return linesOf(rows.map((row) => row.map(cellOf)))
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
