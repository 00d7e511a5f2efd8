import type { FieldValue } from '../../upstream/question.ts'
import { openWatchFile, type WatchFormat, writeRows } from '../../watches/files/watch-file.ts'
import {
  checkRows,
  InvalidRows,
  InvalidRowsError,
  invalidRowLines,
  type NumberedEntry,
} from '../../watches/rows/check-rows.ts'
import {
  type CellValues,
  COLUMNS,
  type Column,
  cellsAt,
  cellsOf,
  type InvalidRow,
} from '../../watches/rows/watch-row.ts'
import { type Answer, type Api, type Call, type Fault, withApi } from '../api-client.ts'
import { readAll, readPages } from '../api-command.ts'
import type { ProgramOptions } from '../describe.ts'
import { createTerminal, writeOut } from '../terminal.ts'
import { count, escapeControls, pick, present, printable } from '../text/text-format.ts'

interface FileOptions extends ProgramOptions {
  readonly reseller: string
  readonly skipInvalid?: boolean
}

interface ExportOptions extends ProgramOptions {
  readonly reseller: string
  readonly list?: string
  readonly format: WatchFormat
  readonly status?: readonly string[]
  readonly state?: readonly string[]
  readonly place?: string
  readonly departsFrom?: string
  readonly departsTo?: string
}

/** Saves nothing before all requests are known to be good. */
export async function importFile(file: string, options: FileOptions): Promise<void> {
  const read = await readRows(file, options)
  await withApi(options, async (api) => {
    const parts = await planParts(api, file, read, options)
    writeLines(invalidRowLines(read.invalid))
    const saved: Saved[] = []
    for (const part of parts) saved.push(await save(api, part, options))
    const sums = { ...sumsOf(saved), invalid: read.invalid.count }
    const warnings = writeWarnings(parts)
    createTerminal(process, options).print({ ...sums, warnings }, () => importText(sums))
  })
}

export async function diffFile(file: string, options: FileOptions): Promise<void> {
  const { reseller } = options
  const read = await readRows(file, options)
  await withApi(options, async (api) => {
    const parts = await planParts(api, file, read, options)
    writeWarnings(parts)
    const known = (await readAll(api, 'GET /watch-lists', { reseller })).map(({ name }) => name)
    const lists = known.filter((name) => parts.some(({ list }) => list === name))
    const before = await Array.fromAsync(rowsOfLists(api, lists, { reseller }))
    const rows = differences(before.flat(), read.entries.map(cellsOfEntry))
    const sums = sumsOf(parts.map(({ plan }) => plan))
    createTerminal(process, options).printRows(rows, () =>
      [...rows.map(diffLine), diffText(sums, rows)].join('\n'),
    )
  })
}

/** Writes what is read page by page: a change that comes meanwhile may be in the file or not. */
export function exportLists(options: ExportOptions): Promise<void> {
  const { reseller, list, format } = options
  const filter = pick(options, 'status', 'state', 'place', 'departsFrom', 'departsTo')
  return withApi(options, async (api) => {
    const lists = list === undefined ? await readAll(api, 'GET /watch-lists', { reseller }) : []
    const names = list === undefined ? lists.map(({ name }) => name) : [list]
    for await (const text of writeRows(
      rowsOfLists(api, names, { reseller, query: filter }),
      format,
    ))
      await writeOut(text)
  })
}

async function* rowsOfLists(api: Api, lists: readonly string[], { reseller, query }: Call) {
  for (const list of lists) {
    const asked = { params: { list }, query: { ...query, limit: Infinity }, reseller }
    const pages = readPages(api, 'GET /watch-lists/{list}/watches', asked)
    for await (const page of pages) yield page.map(cellsAt)
  }
}

/** The rows of one list, which one request saves. */
interface Part {
  readonly list: string
  readonly entries: readonly NumberedEntry[]
}

interface PlannedPart extends Part {
  readonly plan: Saved
}

const SAVE = 'POST /watch-lists/{list}/watches'
type Saved = Answer<typeof SAVE>

interface FileRows {
  readonly entries: readonly NumberedEntry[]
  readonly invalid: InvalidRows
}

async function readRows(file: string, { skipInvalid }: FileOptions): Promise<FileRows> {
  const invalid = new InvalidRows()
  const batches = await Array.fromAsync(checkRows(await openWatchFile(file), invalid))
  if (invalid.count > 0 && !skipInvalid) throw new InvalidRowsError(file, invalid)
  return { entries: batches.flat(), invalid }
}

/** Asks the API what it would do with the valid rows. It alone can judge some, such as those whose date has passed. */
async function planParts(
  api: Api,
  file: string,
  { entries, invalid }: FileRows,
  options: FileOptions,
): Promise<PlannedPart[]> {
  const parts: PlannedPart[] = []
  for (const [list, ofList] of Map.groupBy(entries, ({ entry }) => entry.list)) {
    const part = { list, entries: ofList }
    const plan = await save(api, part, { ...options, skipInvalid: true, dryRun: true })
    for (const fault of plan.errors) invalid.add(rowOf(fault, part))
    invalid.count += plan.skipped - plan.errors.length
    parts.push({ ...part, plan })
  }
  if (invalid.count > 0 && !options.skipInvalid) throw new InvalidRowsError(file, invalid)
  return parts
}

interface SaveOptions extends Pick<FileOptions, 'reseller' | 'skipInvalid'> {
  readonly dryRun?: boolean
}

async function save(api: Api, { list, entries }: Part, options: SaveOptions) {
  const { reseller, dryRun = false, skipInvalid = false } = options
  const csv = (await Array.fromAsync(writeRows([entries.map(cellsOfEntry)], 'csv'))).join('')
  return api.call(SAVE, {
    params: { list },
    query: { createList: true, dryRun, skipInvalid },
    csv,
    reseller,
  })
}

function cellsOfEntry({ entry }: NumberedEntry): CellValues {
  return cellsOf(entry)
}

/** The row of the file that a fault is about: in the request each line below the header is a row. */
function rowOf({ pointer = '', detail = '' }: Fault, { entries }: Part): InvalidRow {
  const [line, column = 'the row'] = pointer.slice(1).split('/')
  const row = entries[Number(line) - 2]
  if (row === undefined) throw new RangeError(`no row is at ${pointer}`)
  return { line: row.line, errors: [{ column, message: detail }] }
}

const COUNTS = ['added', 'changed', 'unchanged', 'ended', 'cleared'] as const
type Sums = Readonly<Record<(typeof COUNTS)[number], number>>

function sumsOf(answers: readonly Saved[]): Sums {
  const sumOf = (name: keyof Sums) => answers.reduce((sum, answer) => sum + answer[name], 0)
  return Object.fromEntries(COUNTS.map((name) => [name, sumOf(name)])) as Sums
}

function writeWarnings(parts: readonly PlannedPart[]) {
  const rows = parts.flatMap((part) => part.plan.warnings.map((fault) => rowOf(fault, part)))
  if (rows.length > 0) writeLines(['warnings:', ...invalidRowLines({ rows, count: rows.length })])
  return rows.flatMap(({ line, errors }) => errors.map((error) => ({ line, ...error })))
}

function writeLines(lines: readonly string[]): void {
  if (lines.length > 0) process.stderr.write(`${escapeControls(lines.join('\n'))}\n`)
}

/** The outcome of an import as one sentence. */
function importText({ added, changed, unchanged, invalid, ...notes }: Sums & { invalid: number }) {
  const skipped = invalid === 0 ? '' : `, ${count(invalid)} invalid and skipped`
  const rows = `${count(added)} added, ${count(changed)} changed, ${count(unchanged)} unchanged`
  return `${rows}${skipped}${notesText(notes)}`
}

/** Ended watches among the rows, which an import does not begin again, and watches that lose a setting. */
function notesText({ ended, cleared }: Pick<Sums, 'ended' | 'cleared'>): string {
  const notes = present(
    ended > 0 && `ended watches that stay ended: ${count(ended)}`,
    cleared > 0 && `watches that lose a setting: ${count(cleared)}`,
  )
  return notes.length === 0 ? '' : ` (${notes.join('; ')})`
}

const SIGNS = { added: '+', changed: '~', absent: '-' } as const

/** How a watch differs from a file. `absent`: the list is in the file, but the watch is not. */
interface DiffRow {
  readonly kind: keyof typeof SIGNS
  readonly list: string
  readonly reference: string
  /** The columns that differ, if the row is `changed`. */
  readonly cells: readonly { column: Column; before: FieldValue; after: FieldValue }[]
}

/** In the order of the file; what it lacks follows. */
function differences(before: readonly CellValues[], after: readonly CellValues[]): DiffRow[] {
  const named = (rows: readonly CellValues[]) =>
    new Map(rows.map((cells) => [`${cells.list}\0${cells.reference}`, cells]))
  const [old, now] = [named(before), named(after)]
  return [...new Set([...now.keys(), ...old.keys()])].flatMap((name): DiffRow[] => {
    const [was, is] = [old.get(name), now.get(name)]
    const [list = '', reference = ''] = name.split('\0')
    if (was === undefined) return [{ kind: 'added', list, reference, cells: [] }]
    if (is === undefined) return [{ kind: 'absent', list, reference, cells: [] }]
    const cells = COLUMNS.filter((column) => was[column] !== is[column]).map((column) => ({
      column,
      before: was[column],
      after: is[column],
    }))
    return cells.length === 0 ? [] : [{ kind: 'changed', list, reference, cells }]
  })
}

/** "~ summer  A-1  departs_on: 2026-08-01 -> 2026-08-02". */
function diffLine({ kind, list, reference, cells }: DiffRow): string {
  const changes = cells.map(
    ({ column, before, after }) => `${column}: ${before ?? 'none'} -> ${after ?? 'none'}`,
  )
  return printable([`${SIGNS[kind]} ${list}`, reference, changes.join(', ')].join('  ').trimEnd())
}

function diffText({ added, changed, unchanged, ...notes }: Sums, rows: readonly DiffRow[]): string {
  const absent = rows.filter(({ kind }) => kind === 'absent').length
  const counts = `${count(added)} to add, ${count(changed)} to change, ${count(unchanged)} unchanged`
  return `${counts}${notesText(notes)}; ${count(absent)} not in the file, which an import does not change`
}
