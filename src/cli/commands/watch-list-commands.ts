import { type Command, Option } from 'commander'
import { BELIEF_STATES } from '../../platform/base/kinds.ts'
import type { Db, Tx } from '../../platform/db/database.ts'
import { passingWatches, type WatchFilter } from '../../views/watch-states.ts'
import { WATCH_STATUSES } from '../../views/watch-view-shapes.ts'
import {
  type ChangeOutcome,
  deleteWatches,
  pauseWatches,
  resumeWatches,
  type WatchSelection,
} from '../../watches/change-watches.ts'
import { exportWatchList, openWatchFile, type WatchFormat } from '../../watches/files/watch-file.ts'
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
import { type RowSource, rowsOf } from '../../watches/rows/watch-row.ts'
import type { TrackedFaresEffect } from '../../watches/sync-tracked-fares.ts'
import { cellsOfInput } from '../../watches/watch-input.ts'
import { confirmDeletion, YES, type YesOption } from '../confirm.ts'
import { withReseller } from '../context.ts'
import { EXIT } from '../exit-codes.ts'
import { dayOption, pairOf } from '../option-parsers.ts'
import { addTermOptions, questionOfOptions, type TermOptions } from '../question-options.ts'
import { writeOut } from '../terminal.ts'
import { count, countOf, escapeControls, example, pick, printable } from '../text/text-format.ts'

interface FileOptions {
  readonly reseller: string
  readonly skipInvalid?: boolean
  readonly json?: boolean
}

interface ExportOptions extends WatchFilter {
  readonly reseller: string
  readonly list?: string
  readonly format: WatchFormat
}

interface SelectOptions extends YesOption {
  readonly reseller: string
  readonly list: string
  readonly reference?: string[]
  readonly json?: boolean
}

interface Verb {
  readonly about: string
  readonly done: string
  readonly change: (db: Db, selection: WatchSelection) => Promise<ChangeOutcome>
}

const VERBS: Readonly<Record<string, Verb>> = {
  pause: { about: 'Pause watches', done: 'paused', change: pauseWatches },
  resume: {
    about: 'Resume paused watches, and ended ones that are named',
    done: 'resumed',
    change: resumeWatches,
  },
  delete: { about: 'Delete watches for good', done: 'deleted', change: deleteWatches },
}

export function addWatchListCommands(program: Command): void {
  const lists = program.command('watch-lists').description('Import, export and change watch lists')
  lists
    .command('import <file>')
    .description('Add and change the watches of a CSV or YAML file')
    .requiredOption('--reseller <name>', 'the owner of the watches')
    .option('--skip-invalid', 'skip invalid rows; without it one invalid row stops the import')
    .option('--json', 'print one JSON object')
    .addHelpText('after', '\nImporting the same file again changes nothing.')
    .addHelpText('after', example('watch-lists import summer.csv --reseller northwind'))
    .action(importFile)
  addAdd(lists)
  lists
    .command('diff <file>')
    .description('Print what an import of the file would change')
    .requiredOption('--reseller <name>', 'the owner of the watches')
    .option('--json', 'print one line of JSON per watch')
    .addHelpText('after', example('watch-lists diff summer.csv --reseller northwind'))
    .action(diffFile)
  lists
    .command('export')
    .description('Write watches to standard output, as a file that can be imported again')
    .requiredOption('--reseller <name>', 'the owner of the watches')
    .option('--list <list>', 'export this watch list; unset: all')
    .addOption(
      new Option('--format <format>', 'the file format').choices(['csv', 'yaml']).default('csv'),
    )
    .addOption(new Option('--status <status...>', 'only of these').choices(WATCH_STATUSES))
    .addOption(new Option('--state <state...>', 'only believed to be so').choices(BELIEF_STATES))
    .option('--place <place>', 'only from or to this airport code or city')
    .option('--departs-from <day>', 'only departing on this day or later', dayOption)
    .option('--departs-to <day>', 'only departing on this day or earlier', dayOption)
    .addHelpText('after', example('watch-lists export --reseller northwind > all.csv'))
    .action(exportLists)
  for (const [name, verb] of Object.entries(VERBS)) addVerb(lists, name, verb)
}

interface AddOptions extends TermOptions {
  readonly reseller: string
  readonly list: string
  readonly reference?: string
  readonly return?: string
  readonly json?: boolean
}

function addAdd(lists: Command): void {
  const add = lists
    .command('add <flight>')
    .description(
      'Watch one flight, or a route as PMI-OSL or, in either direction, PMI=OSL; an import does so for many',
    )
    .requiredOption('--reseller <name>', 'the owner of the watch')
    .option('--list <list>', 'the watch list', 'watches')
    .option('--reference <reference>', 'the name of the watch; unset: the id of the flight')
    .option('--return <flight>', 'the return flight')
  addTermOptions(add)
  add
    .option('--json', 'print one JSON object')
    .addHelpText('after', example('watch-lists add 153142210230 --reseller northwind'))
    .action((flight: string, { reseller, list, json, ...given }: AddOptions) => {
      const route = pairOf(flight)
      const question = route ? { route } : questionOfOptions(flight, given.return, given)
      const row = cellsOfInput(list, { reference: given.reference ?? flight, ...question })
      return importRows(rowsOf('the command', [row]), { reseller, list, json: json === true })
    })
}

function addVerb(lists: Command, name: string, { about, done, change }: Verb): void {
  const deletes = name === 'delete'
  const command = lists
    .command(name)
    .description(about)
    .requiredOption('--reseller <name>', 'the owner of the watches')
    .requiredOption('--list <list>', 'the watch list')
    .option('--reference <reference...>', 'only these watches; may be given several times')
    .option('--json', 'print one JSON object')
    .addHelpText('after', example(`watch-lists ${name} --reseller northwind --list summer`))
  if (deletes) command.option(...YES)
  command.action(async ({ reseller, list, reference, json, yes }: SelectOptions) => {
    if (deletes) {
      const which = reference === undefined ? 'the list with all' : String(reference.length)
      await confirmDeletion(`${which} watches of "${list}" are deleted for good`, { yes })
    }
    await withReseller('watch-lists', reseller, async (resellerId, { database }, { terminal }) => {
      const outcome = await change(database.db, { resellerId, list, references: reference })
      terminal.print(json, outcome, () => changeText(outcome, done))
    })
  })
}

async function importFile(file: string, options: FileOptions): Promise<void> {
  return importRows(await openWatchFile(file), options)
}

function importRows(
  source: RowSource,
  { reseller, list, skipInvalid, json }: FileOptions & { readonly list?: string },
) {
  return withReseller(
    'watch-lists',
    reseller,
    async (resellerId, { database }, { terminal, signal }) => {
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
        const where = list === undefined ? '' : `list "${list}": `
        terminal.print(json, importResult(outcome), () => `${where}${importText(outcome)}`)
        return EXIT.ok
      } catch (err) {
        if (signal.aborted) return EXIT.interrupted
        throw err
      } finally {
        terminal.progress('')
      }
    },
  )
}

async function diffFile(file: string, { reseller, json }: FileOptions): Promise<void> {
  const source = await openWatchFile(file)
  await withReseller('watch-lists', reseller, async (resellerId, { database }, { terminal }) => {
    const outcome = await diffWatchList(database.db, {
      resellerId,
      source,
      onRows: (rows) =>
        writeOut(
          rows.map((row) => `${json === true ? JSON.stringify(row) : diffLine(row)}\n`).join(''),
        ),
    })
    writeWarnings(outcome)
    if (json !== true) terminal.out(diffText(outcome))
  })
}

/** Without a filter it needs no states of the watches. */
function exportLists({ reseller, list, format, ...filter }: ExportOptions): Promise<void> {
  return withReseller('watch-lists', reseller, async (resellerId, { database, config }) => {
    const minRecheckSeconds = config.MIN_INTERVAL_SECONDS
    const passing = (tx: Tx) => passingWatches(tx, { resellerId, list, minRecheckSeconds, filter })
    const readWatches = Object.keys(filter).length > 0 ? passing : undefined
    const pages = exportWatchList(database.db, { resellerId, list, format, readWatches })
    for await (const text of pages) await writeOut(text)
  })
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

/** "3 watches paused; no tracked fares added, 2 ended". */
function changeText(outcome: ChangeOutcome, done: string): string {
  return `${countOf(outcome.watches, 'watch', 'watches')} ${done}; ${effectText(outcome)}`
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
