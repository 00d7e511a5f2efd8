import { once } from 'node:events'
import { type Command, Option } from 'commander'
import type { App } from '../../app/app.ts'
import type { Db } from '../../platform/db/database.ts'
import { requireReseller } from '../../resellers/resellers.ts'
import {
  type ChangeOutcome,
  deleteWatches,
  pauseWatches,
  resumeWatches,
  type WatchSelection,
} from '../../watches/change-watches.ts'
import { openWatchFile } from '../../watches/files/open-watch-file.ts'
import { diffWatchList } from '../../watches/import/diff-watch-list.ts'
import { exportWatchList, type WatchFormat } from '../../watches/import/export-watch-list.ts'
import { importWatchList } from '../../watches/import/import-watch-list.ts'
import { invalidRowLines } from '../../watches/rows/watch-errors.ts'
import { type CliContext, withApp } from '../context.ts'
import { EXIT } from '../exit-codes.ts'
import { count, escapeControls, example, forScreen } from '../text/text-format.ts'
import {
  changeText,
  diffLine,
  diffText,
  importResult,
  importText,
} from '../text/watch-list-text.ts'

interface FileOptions {
  readonly reseller: string
  readonly skipInvalid?: boolean
  readonly json?: boolean
}

interface ExportOptions {
  readonly reseller: string
  readonly list?: string
  readonly format: WatchFormat
}

interface SelectOptions {
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
  resume: { about: 'Resume paused watches', done: 'resumed', change: resumeWatches },
  delete: { about: 'Delete watches for good', done: 'deleted', change: deleteWatches },
}

export function addWatchListCommands(program: Command): void {
  const lists = program.command('watch-list').description('Import, export and change watch lists')
  lists
    .command('import <file>')
    .description('Add and change the watches of a CSV or YAML file')
    .requiredOption('--reseller <name>', 'the owner of the watches')
    .option('--skip-invalid', 'skip invalid rows; without it one invalid row stops the import')
    .option('--json', 'print one JSON object')
    .addHelpText('after', '\nImporting the same file again changes nothing.')
    .addHelpText('after', example('watch-list import summer.csv --reseller northwind'))
    .action(importFile)
  lists
    .command('diff <file>')
    .description('Print what an import of the file would change')
    .requiredOption('--reseller <name>', 'the owner of the watches')
    .option('--json', 'print one line of JSON per watch')
    .addHelpText('after', example('watch-list diff summer.csv --reseller northwind'))
    .action(diffFile)
  lists
    .command('export')
    .description('Write watches to standard output, as a file that can be imported again')
    .requiredOption('--reseller <name>', 'the owner of the watches')
    .option('--list <list>', 'export this watch list; unset: all')
    .addOption(
      new Option('--format <format>', 'the file format').choices(['csv', 'yaml']).default('csv'),
    )
    .addHelpText('after', example('watch-list export --reseller northwind > all.csv'))
    .action(exportLists)
  for (const [name, verb] of Object.entries(VERBS)) addVerb(lists, name, verb)
}

function addVerb(lists: Command, name: string, { about, done, change }: Verb): void {
  lists
    .command(name)
    .description(about)
    .requiredOption('--reseller <name>', 'the owner of the watches')
    .requiredOption('--list <list>', 'the watch list')
    .option('--reference <reference...>', 'only these watches; may be given several times')
    .option('--json', 'print one JSON object')
    .addHelpText('after', example(`watch-list ${name} --reseller northwind --list summer`))
    .action(({ reseller, list, reference, json }: SelectOptions) =>
      withReseller(reseller, async (resellerId, { database }, { terminal }) => {
        const outcome = await change(database.db, { resellerId, list, references: reference })
        terminal.print(json, outcome, () => changeText(outcome, done))
      }),
    )
}

function withReseller(
  name: string,
  work: (resellerId: number, app: App, context: CliContext) => Promise<unknown>,
): Promise<void> {
  return withApp({ role: 'watch-list' }, async (app, context) => {
    const { id } = await requireReseller(app.database.db, name)
    return work(id, app, context)
  })
}

async function importFile(file: string, { reseller, skipInvalid, json }: FileOptions) {
  const source = await openWatchFile(file)
  return withReseller(reseller, async (resellerId, { database }, { terminal, signal }) => {
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
      terminal.print(json, importResult(outcome), () => importText(outcome))
      return EXIT.ok
    } catch (err) {
      if (signal.aborted) return EXIT.interrupted
      throw err
    } finally {
      terminal.progress('')
    }
  })
}

async function diffFile(file: string, { reseller, json }: FileOptions): Promise<void> {
  const source = await openWatchFile(file)
  await withReseller(reseller, async (resellerId, { database }, { terminal }) => {
    const outcome = await diffWatchList(database.db, {
      resellerId,
      source,
      onRows: (rows) =>
        writeOut(rows.map((row) => `${json === true ? JSON.stringify(row) : diffLine(row)}\n`)),
    })
    if (json !== true) terminal.out(diffText(outcome))
  })
}

function exportLists({ reseller, list, format }: ExportOptions): Promise<void> {
  return withReseller(reseller, async (resellerId, { database }) => {
    const pages = exportWatchList(database.db, { resellerId, list, format })
    for await (const text of pages) await writeOut([text])
  })
}

async function writeOut(texts: readonly string[]): Promise<void> {
  if (!process.stdout.write(forScreen(texts.join(''), process.stdout)))
    await once(process.stdout, 'drain')
}
