import { once } from 'node:events'
import { type Command, Option } from 'commander'
import type { Db } from '../../db/database.ts'
import { requireReseller } from '../../resellers/resellers.ts'
import {
  type ChangeOutcome,
  deleteWatches,
  pauseWatches,
  resumeWatches,
  type WatchSelection,
} from '../../watch/change-watches.ts'
import { openWatchFile } from '../../watch/files/open-watch-file.ts'
import { diffWatchList } from '../../watch/import/diff-watch-list.ts'
import { exportWatchList, type WatchFormat } from '../../watch/import/export-watch-list.ts'
import { type ImportOutcome, importWatchList } from '../../watch/import/import-watch-list.ts'
import { invalidRowLines } from '../../watch/rows/watch-errors.ts'
import { createContext, withApp } from '../context.ts'
import { EXIT } from '../exit-codes.ts'
import { interruptSignal } from '../interrupt.ts'
import { count } from '../text/text-format.ts'
import { changeText, diffLine, diffText, importJson, importText } from '../text/watch-list-text.ts'

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
  pause: { about: 'stop watches for a while', done: 'paused', change: pauseWatches },
  resume: { about: 'let paused watches go on', done: 'resumed', change: resumeWatches },
  delete: { about: 'end watches for good', done: 'deleted', change: deleteWatches },
}

const NEEDS = { role: 'watch-list', sandbox: false }

export function addWatchListCommands(program: Command): void {
  const lists = program.command('watch-list').description('what a reseller wants watched')
  lists
    .command('import <file>')
    .description(
      'add and change the watches of a CSV or YAML file; the same file again changes nothing',
    )
    .requiredOption('--reseller <name>', 'whose watches')
    .option('--skip-invalid', 'leave wrong rows out instead of importing nothing')
    .option('--json', 'as one JSON object')
    .addHelpText(
      'after',
      '\nExample:\n  bin/farewatch watch-list import summer.csv --reseller northwind',
    )
    .action(async (file: string, options: FileOptions) => {
      process.exitCode = await importFile(file, options)
    })
  lists
    .command('diff <file>')
    .description('what an import of the file would do, without doing it')
    .requiredOption('--reseller <name>', 'whose watches')
    .option('--json', 'one line of JSON a watch')
    .addHelpText(
      'after',
      '\nExample:\n  bin/farewatch watch-list diff summer.csv --reseller northwind',
    )
    .action(diffFile)
  lists
    .command('export')
    .description('write watches to standard output, as a file that imports to the same')
    .requiredOption('--reseller <name>', 'whose watches')
    .option('--list <list>', 'only this watch list')
    .addOption(new Option('--format <format>').choices(['csv', 'yaml']).default('csv'))
    .addHelpText(
      'after',
      '\nExample:\n  bin/farewatch watch-list export --reseller northwind > all.csv',
    )
    .action(exportLists)
  for (const [name, verb] of Object.entries(VERBS)) addVerb(lists, name, verb)
}

function addVerb(lists: Command, name: string, { about, done, change }: Verb): void {
  lists
    .command(name)
    .description(`${about}: all of a list, or single references`)
    .requiredOption('--reseller <name>', 'whose watches')
    .requiredOption('--list <list>', 'which watch list')
    .option('--reference <reference...>', 'only these; may be given several times')
    .option('--json', 'as one JSON object')
    .addHelpText(
      'after',
      `\nExample:\n  bin/farewatch watch-list ${name} --reseller northwind --list summer`,
    )
    .action(async ({ reseller, list, reference, json }: SelectOptions) => {
      const context = createContext({ quiet: true })
      await withApp(context, NEEDS, async ({ database }) => {
        const { id } = await requireReseller(database.db, reseller)
        const outcome = await change(database.db, { resellerId: id, list, references: reference })
        context.terminal.out(json === true ? JSON.stringify(outcome) : changeText(outcome, done))
      })
    })
}

async function importFile(file: string, { reseller, skipInvalid, json }: FileOptions) {
  const context = createContext({ quiet: true })
  const { terminal } = context
  const source = await openWatchFile(file)
  const signal = interruptSignal()
  return withApp(context, NEEDS, async ({ database }) => {
    const { id } = await requireReseller(database.db, reseller)
    const outcome = await interruptible(signal, () =>
      importWatchList(database.db, {
        resellerId: id,
        source,
        skipInvalid,
        signal,
        onProgress: ({ stage, rows }) => terminal.progress(`${stage} ${count(rows)} rows`),
        onSkipped: (wrong) => {
          terminal.progress('')
          process.stderr.write(`${invalidRowLines(wrong).join('\n')}\n`)
        },
      }),
    ).finally(() => terminal.progress(''))
    if (outcome === undefined) return EXIT.interrupted
    terminal.out(json === true ? importJson(outcome) : importText(outcome))
    return EXIT.ok
  })
}

/** The outcome of the work; undefined when the user stopped it. */
async function interruptible(
  signal: AbortSignal,
  work: () => Promise<ImportOutcome>,
): Promise<ImportOutcome | undefined> {
  try {
    return await work()
  } catch (err) {
    if (signal.aborted) return undefined
    throw err
  }
}

async function diffFile(file: string, { reseller, json }: FileOptions): Promise<void> {
  const context = createContext({ quiet: true })
  const source = await openWatchFile(file)
  await withApp(context, NEEDS, async ({ database }) => {
    const { id } = await requireReseller(database.db, reseller)
    const outcome = await diffWatchList(database.db, {
      resellerId: id,
      source,
      onRows: (rows) =>
        writeOut(rows.map((row) => `${json === true ? JSON.stringify(row) : diffLine(row)}\n`)),
    })
    if (json !== true) context.terminal.out(diffText(outcome))
  })
}

async function exportLists({ reseller, list, format }: ExportOptions): Promise<void> {
  const context = createContext({ quiet: true })
  await withApp(context, NEEDS, async ({ database }) => {
    const { id } = await requireReseller(database.db, reseller)
    const pages = exportWatchList(database.db, { resellerId: id, list, format })
    for await (const text of pages) await writeOut([text])
  })
}

async function writeOut(texts: readonly string[]): Promise<void> {
  if (!process.stdout.write(texts.join(''))) await once(process.stdout, 'drain')
}
