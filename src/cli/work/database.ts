import { spawnSync } from 'node:child_process'
import { stringify } from 'csv-stringify/sync'
import { migrateApp } from '../../app/app.ts'
import { csvText } from '../../history/export-tables.ts'
import { writeTo } from '../../history/parquet-file.ts'
import { percentDecoded } from '../../platform/base/text.ts'
import { asAnalyst, type ColumnKind, type QueryResult } from '../../platform/db/analyst-session.ts'
import type { Database } from '../../platform/db/database.ts'
import { probeDatabase } from '../../platform/db/database-health.ts'
import { beginGeneration } from '../../platform/db/generations.ts'
import { type LiveProcess, listLiveProcesses } from '../../platform/db/live-processes.ts'
import { migrate, nameProcesses } from '../../platform/db/migrate.ts'
import { assertMigrated } from '../../platform/db/schema-version.ts'
import { withApp, withStores } from '../context.ts'
import type { ProgramOptions } from '../describe.ts'
import { UsageError } from '../exit-codes.ts'
import { type Terminal, writeOut } from '../terminal.ts'
import { countOf, table } from '../text/text-format.ts'

interface MigrateOptions extends ProgramOptions {
  readonly wait?: boolean
}

export function migrateNow(options: MigrateOptions): Promise<void> {
  const { wait = false } = options
  return withStores({ role: 'migrate', options }, async (app, { terminal, log }) => {
    const applied = await migrateApp(app, {
      waitMs: wait ? Number.POSITIVE_INFINITY : 0,
      onWait: (processes) => log.warn(`waiting for the end of ${nameProcesses(processes)}`),
    })
    const names = applied.map((name) => `\n  ${name}`).join('')
    terminal.print({ applied }, () => `${countOf(applied.length, 'migration')} applied${names}`)
  })
}

export function beginAgain(options: ProgramOptions): Promise<void> {
  const needs = { role: 'restored', options }
  return withStores(needs, async ({ config, database, log }, { terminal }, { postgres }) => {
    const { db } = database
    await probeDatabase(database, config.DATABASE_URL)
    await (postgres === undefined ? assertMigrated(db) : migrate(db))
    const processes = await listLiveProcesses(db)
    const { number, beganAt, resellers } = await beginGeneration(db)
    terminal.print({ generation: number, beganAt, resellers }, () => begunText(number, resellers))
    if (processes.length > 0) log.warn(runningText(processes))
  })
}

function begunText(generation: number, resellers: number): string {
  return `generation ${generation} begins: the feeds of routes, of fares and of ${countOf(resellers, 'reseller')} go on at ${generation - 1} times 10,000,000,000`
}

function runningText(processes: readonly LiveProcess[]): string {
  return `${nameProcesses(processes)} may run already: what they recorded since the restore can have numbers that were given before the restore`
}

export function runSql(statement: string, options: SqlOptions): Promise<void> {
  const { output, csv = output === 'csv' } = options
  const json = output === 'json'
  return withApp({ role: 'sql', options }, async ({ database }, { terminal }) => {
    const { raw = false } = options
    if (csv && json) throw new UsageError('print either CSV or JSON')
    if (raw || csv || json) return writeParts(database, statement, { raw, csv, json })
    return writeTable(database, statement, terminal)
  })
}

export function printConnection(options: ProgramOptions): Promise<void> {
  return withStores({ role: 'psql', options }, async ({ config }, { terminal }) => {
    terminal.out(config.DATABASE_URL)
    if (process.stdin.isTTY === true) openPsql(config.DATABASE_URL, terminal)
  })
}

function openPsql(url: string, terminal: Terminal): void {
  const address = new URL(url)
  // Every user of this machine can read the arguments of a process, so the password goes into its environment.
  const password = percentDecoded(address.password)
  address.password = ''
  const { error } = spawnSync('psql', [address.href], {
    stdio: 'inherit',
    env: { ...process.env, ...(password === '' ? {} : { PGPASSWORD: password }) },
  })
  if (error !== undefined) {
    terminal.step('psql is not installed; "bin/farewatch sql" runs queries without it')
  }
}

/** The form of the output. Without a member it is a table. */
interface ResultFormat {
  readonly csv?: boolean
  readonly json?: boolean
  /** CSV for a program: nothing is escaped for a screen, and a null differs from an empty text. */
  readonly raw?: boolean
}

interface SqlOptions extends ProgramOptions, ResultFormat {}

async function writeParts(
  database: Database,
  statement: string,
  format: ResultFormat,
): Promise<void> {
  let isFirst = true
  await asAnalyst(
    database,
    ({ stream }) =>
      stream(statement, async (part) => {
        const text = resultText(part, format, isFirst)
        await (format.raw === true ? writeTo(process.stdout, text) : writeOut(text))
        isFirst = false
      }),
    { isUnlimited: format.raw === true },
  )
}

/** The widths of the columns follow from all rows, so a table has an end. */
const TABLE_ROWS = 10_000

async function writeTable(
  database: Database,
  statement: string,
  terminal: Terminal,
): Promise<void> {
  let shown: QueryResult = { columns: [], rows: [] }
  let count = 0
  await asAnalyst(database, ({ stream }) =>
    stream(statement, async ({ columns, rows }) => {
      count += rows.length
      shown = { columns, rows: [...shown.rows, ...rows.slice(0, TABLE_ROWS - shown.rows.length)] }
    }),
  )
  await writeOut(resultText(shown, { width: terminal.width }))
  const more = count - shown.rows.length
  if (more > 0) terminal.step(`${countOf(more, 'row')} more: --csv, --json and --raw write all`)
}

/**
 * A part of the output of `bin/farewatch sql`. CSV has its headings in the first. Throws UsageError where JSON
 * would lose a column.
 */
export function resultText(
  { columns, rows }: QueryResult,
  { raw, csv, json, width }: ResultFormat & { readonly width?: number },
  isFirst = true,
): string {
  const names = columns.map(({ name }) => name)
  const lines = isFirst ? [names, ...rows] : [...rows]
  if (raw === true) return csvText(lines)
  if (csv === true) return stringify(lines)
  if (json !== true) return `${table(names, rows, width)}\n`
  assertDistinct(names)
  const kinds = columns.map(({ name, kind }) => ({ key: JSON.stringify(name), kind }))
  return rows
    .map(
      (row) => `{${kinds.map(({ key, kind }, i) => `${key}:${jsonText(kind, row[i] ?? null)}`)}}\n`,
    )
    .join('')
}

/** A JSON reader silently keeps one of two values under one key. */
function assertDistinct(names: readonly string[]): void {
  const duplicate = names.find((name, i) => names.indexOf(name) < i)
  if (duplicate === undefined) return
  throw new UsageError(
    `two columns are named "${duplicate}": with --json each needs its own name (as …)`,
  )
}

/**
 * One value as JSON: the text of Postgres, or a JSON string of it where JSON readers would change the value, as with
 * `int8` beyond 2^53 and NaN.
 * @example jsonText('number', '9007199254740993') // '"9007199254740993"'
 */
function jsonText(kind: ColumnKind, value: string | null): string {
  if (value === null) return 'null'
  if (kind === 'boolean') return value === 't' ? 'true' : 'false'
  // Parsing would round long numbers. In JSON, line ends occur only between tokens.
  if (kind === 'json') return value.replace(/[\r\n]/g, ' ')
  if (kind === 'instant') return JSON.stringify(isoInstant(value))
  const number = Number(value)
  const isKept = /^-?\d+$/.test(value) ? Number.isSafeInteger(number) : Number.isFinite(number)
  return kind === 'number' && isKept ? value : JSON.stringify(value)
}

/**
 * An instant as ISO 8601 writes it.
 * @example isoInstant('2026-01-31 12:00:00.5+00') // '2026-01-31T12:00:00.5Z'
 */
function isoInstant(text: string): string {
  return text
    .replace(' ', 'T')
    .replace(/[+-]00$/, 'Z')
    .replace(/([+-]\d{2})$/, '$1:00')
}
