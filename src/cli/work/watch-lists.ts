import { openWatchFile, type WatchFormat, writeRows } from '../../watches/files/watch-file.ts'
import {
  type DiffOutcome,
  type DiffRow,
  diffWatchList,
} from '../../watches/import/diff-watch-list.ts'
import {
  type ImportOutcome,
  importWatchList,
  type WarnedPlan,
} from '../../watches/import/import-watch-list.ts'
import type { ImportPlan } from '../../watches/import/plan-import.ts'
import { invalidRowLines } from '../../watches/rows/check-rows.ts'
import { cellsAt } from '../../watches/rows/watch-row.ts'
import type { TrackedFaresEffect } from '../../watches/sync-tracked-fares.ts'
import { type Api, type Call, withApi } from '../api-client.ts'
import { readAll, readPages } from '../api-command.ts'
import { withReseller } from '../context.ts'
import type { ProgramOptions } from '../describe.ts'
import { EXIT } from '../exit-codes.ts'
import { writeOut } from '../terminal.ts'
import { count, countOf, escapeControls, pick, printable } from '../text/text-format.ts'

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

export async function importFile(file: string, options: FileOptions): Promise<void> {
  const source = await openWatchFile(file)
  const { skipInvalid } = options
  await withReseller(options, async (resellerId, { database }, { terminal, signal }) => {
    try {
      const outcome = await importWatchList(database.db, {
        resellerId,
        source,
        skipInvalid,
        signal,
        onProgress: ({ stage, rows }) => terminal.progress(`${stage} ${count(rows)} rows`),
        onSkipped: (invalid) => {
          terminal.progress('')
          process.stderr.write(`${escapeControls(invalidRowLines(invalid).join('\n'))}\n`)
        },
      })
      writeWarnings(outcome)
      terminal.print(importResult(outcome), () => importText(outcome))
      return EXIT.ok
    } catch (err) {
      if (signal.aborted) return EXIT.interrupted
      throw err
    } finally {
      terminal.progress('')
    }
  })
}

export async function diffFile(file: string, options: FileOptions): Promise<void> {
  const source = await openWatchFile(file)
  await withReseller(options, async (resellerId, { database }, { terminal }) => {
    const outcome = await diffWatchList(database.db, {
      resellerId,
      source,
      onRows: async (rows) =>
        terminal.printRows(rows, () => rows.map((row) => diffLine(row)).join('\n')),
    })
    writeWarnings(outcome)
    terminal.printRows([], () => diffText(outcome))
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

function writeWarnings({ warnings }: WarnedPlan): void {
  if (warnings.count === 0) return
  const lines = invalidRowLines(warnings, 'warning')
  process.stderr.write(`${escapeControls(['warnings:', ...lines].join('\n'))}\n`)
}

/** The outcome of an import as one sentence. */
export function importText(outcome: ImportOutcome): string {
  const { added, changed, unchanged, invalid } = outcome
  const skipped = invalid === 0 ? '' : `, ${count(invalid)} invalid and skipped`
  const rows = `${count(added)} added, ${count(changed)} changed, ${count(unchanged)} unchanged${skipped}`
  return `${rows}${notesText(outcome)}; ${effectText(outcome)}`
}

/** The JSON of `watch-lists import`. */
function importResult(outcome: ImportOutcome) {
  return {
    ...pick(outcome, 'added', 'changed', 'unchanged', 'ended', 'cleared', 'invalid'),
    ...pick(outcome, 'trackedFaresAdded', 'trackedFaresEnded'),
    warnings: outcome.warnings.rows.flatMap(({ line, errors }) =>
      errors.map(({ column, message }) => ({ line, column, message })),
    ),
  }
}

/** Ended watches among the rows, which an import does not begin again, and watches that lose a setting. */
function notesText({ ended, cleared }: Pick<ImportPlan, 'ended' | 'cleared'>): string {
  const notes = [
    ...(ended === 1 ? ['1 watch of these has ended and stays ended'] : []),
    ...(ended > 1 ? [`${count(ended)} watches of these have ended and stay ended`] : []),
    ...(cleared === 1 ? ['1 watch of these loses a setting that the file leaves out'] : []),
    ...(cleared > 1
      ? [`${count(cleared)} watches of these lose settings that the file leaves out`]
      : []),
  ]
  return notes.length === 0 ? '' : ` (${notes.join('; ')})`
}

function effectText({ trackedFaresAdded, trackedFaresEnded }: TrackedFaresEffect): string {
  return `${countOf(trackedFaresAdded, 'tracked fare')} added, ${count(trackedFaresEnded)} ended`
}

const SIGNS: Readonly<Record<DiffRow['kind'], string>> = { added: '+', changed: '~', absent: '-' }

/** "~ summer  A-1  departs_on: 2026-08-01 -> 2026-08-02". */
function diffLine({ kind, list, reference, cells }: DiffRow): string {
  const value = (cell: DiffRow['cells'][number]['before']) =>
    cell === null ? 'none' : String(cell)
  const changes = cells.map(
    ({ column, before, after }) => `${column}: ${value(before)} -> ${value(after)}`,
  )
  return printable([`${SIGNS[kind]} ${list}`, reference, changes.join(', ')].join('  ').trimEnd())
}

function diffText({ added, changed, unchanged, absent, ...notes }: DiffOutcome): string {
  const rows = `${count(added)} to add, ${count(changed)} to change, ${count(unchanged)} unchanged`
  return `${rows}${notesText(notes)}; ${count(absent)} not in the file, which an import does not change`
}
