import path from 'node:path'
import { type Command, Option } from 'commander'
import { type ArchiveResult, archiveHistory } from '../../history/archive/archive-history.ts'
import { exportTables, streamTable } from '../../history/export-run.ts'
import { TABLE_FORMATS, type TableFormat } from '../../history/export-tables.ts'
import { reopenDays, rollUpDays } from '../../history/roll-up-days.ts'
import { createAnalyst } from '../../platform/db/analyst-logins.ts'
import { assertKept } from '../../platform/db/history-floor.ts'
import { type ProofResult, proveHistory } from '../../routes/prove/prove-history.ts'
import { confirmDeletion, YES, type YesOption } from '../confirm.ts'
import { withApp } from '../context.ts'
import { EXIT } from '../exit-codes.ts'
import { dateOption, instantOption } from '../option-parsers.ts'
import { countOf, example, megabytes } from '../text/text-format.ts'

export function addRollupCommand(program: Command): void {
  program
    .command('rollup')
    .description('Compute the daily tables for every complete day that lacks them')
    .option('--from <date>', 'compute all days since this one again', instantOption)
    .option('--json', 'print one JSON object')
    .addHelpText('after', example('rollup --from 2026-01-31'))
    .action(({ from, json }: { from?: Date; json?: boolean }) =>
      withApp({ role: 'rollup' }, async ({ database }, { terminal, signal }) => {
        if (from !== undefined) await assertKept(database.db, from)
        if (from !== undefined) await reopenDays(database.db, from.toISOString().slice(0, 10))
        const days = await rollUpDays(database.db, { signal, onProgress: terminal.progress })
        terminal.print(json, { days }, () => `${countOf(days, 'day')} computed`)
      }),
    )
}

interface ExportOptions {
  readonly format: TableFormat
  readonly from?: number | Date
  readonly out: string
  readonly force?: boolean
  readonly state?: string
}

const EXPORT_TEXT = `
With --state each run takes what is new, exactly once, as Parquet: the records and
intervals that no earlier run took, by days, and the views of the present whole. A
run that is killed takes nothing.`

export function addExportCommand(program: Command): void {
  program
    .command('export <tables...>')
    .description('Write tables and views of the public SQL; "all" means every one')
    .addOption(
      new Option('--format <format>', 'the file format').choices(TABLE_FORMATS).default('parquet'),
    )
    .option(
      '--from <from>',
      'only rows from a number of a feed on, or new since an instant',
      fromOption,
    )
    .requiredOption('--out <directory>', 'the directory of the files; - means standard output')
    .option('--force', 'replace the export that is in the directory')
    .option('--state <file>', 'take what is new since the last run with this file')
    .addHelpText('after', EXPORT_TEXT)
    .addHelpText('after', example('export all --out warehouse --state warehouse.json'))
    .action((tables: string[], options: ExportOptions) =>
      withApp({ role: 'export' }, async ({ database }, { terminal }) => {
        const { out, from, force: isForced = false, ...given } = options
        const since = typeof from === 'number' ? from - 1 : from
        const request = { ...given, tables, since }
        if (out === '-') return streamTable(database, request, process.stdout)
        const args = { ...request, directory: out, isForced }
        const files = await exportTables(database, args, { onProgress: terminal.progress })
        for (const file of files) terminal.out(file)
      }),
    )
}

/** Reads a number of a feed, or an instant. */
function fromOption(text: string): number | Date {
  return /^\d{1,15}$/.test(text) ? Number(text) : instantOption(text)
}

const ARCHIVE_TEXT = `
Writes closed intervals and the records of all feeds from before the date to
Parquet files, reads them back, compares them with the database and deletes the
rows. What is current stays, and so does what deliveries still need. Workers may
run meanwhile. An interrupted archive loses nothing: run it again. Keep the
files: afterwards only they hold these rows.`

export function addArchiveCommand(program: Command): void {
  program
    .command('archive')
    .description('Move the history before a date to Parquet files, and delete it here')
    .requiredOption('--to <date>', 'the first day that stays, in UTC', dateOption)
    .requiredOption('--out <directory>', 'an empty or a new directory for the files')
    .option(...YES)
    .option('--json', 'print one JSON object')
    .addHelpText('after', ARCHIVE_TEXT)
    .addHelpText('after', example('archive --to 2026-01-01 --out archive-2025'))
    .action(archive)
}

interface ArchiveOptions extends YesOption {
  readonly to: Date
  readonly out: string
  readonly json?: boolean
}

async function archive({ to: before, out, json, yes }: ArchiveOptions): Promise<void> {
  const day = before.toISOString().slice(0, 10)
  await confirmDeletion(`what is from before ${day} is deleted here once the files have it`, {
    yes,
  })
  await withApp({ role: 'archive' }, async ({ database }, { terminal, signal }) => {
    const directory = path.resolve(out)
    const onProgress = terminal.progress
    const result = await archiveHistory(database, { before, directory }, { signal, onProgress })
    terminal.print(json, { ...result, directory }, () => archiveText(result, directory))
  })
}

function archiveText({ before, files, deleted, needs }: ArchiveResult, directory: string): string {
  const archived =
    files.length === 0
      ? [`nothing to archive before ${before}`]
      : [
          `the rows from before ${before} are in ${directory}`,
          ...files.map(
            ({ name, rows, bytes }) => `  ${name}  ${countOf(rows, 'row')}  ${megabytes(bytes)}`,
          ),
        ]
  const kept = needs.map(({ reseller, endpointId, seq, why }) => {
    const reason = why === 'delivery' ? 'has deliveries of them' : 'has not read them'
    return `the records of ${reseller} stay from ${seq} on: endpoint ${endpointId} ${reason}`
  })
  return [...archived, `${countOf(deleted, 'row')} deleted`, ...kept].join('\n')
}

export function addAnalystsCommands(program: Command): void {
  program
    .command('analysts')
    .description('Manage the logins of people who query the public SQL')
    .command('create <name>')
    .description(
      'Create a login that may read the public SQL and nothing else, and print how to connect',
    )
    .option('--json', 'print one JSON object')
    .addHelpText('after', example('analysts create mara'))
    .action((name: string, { json }: { json?: boolean }) =>
      withApp({ role: 'analysts' }, async (app, { terminal }, { postgres }) => {
        const address = new URL(app.config.DATABASE_URL)
        address.username = name
        address.password = await createAnalyst(app.database.db, name)
        const isEmbedded = postgres !== undefined
        terminal.print(json, { name, url: address.href, isEmbedded }, () =>
          [
            `psql '${address.href}'`,
            'The password is not shown again.',
            ...(isEmbedded
              ? [
                  'This is the embedded server: it runs while a farewatch of this directory runs, on this machine only.',
                ]
              : []),
          ].join('\n'),
        )
      }),
    )
}

const EXIT_TEXT = `
Exits with 0 if nothing differs, and with 1 if something does, no accepted list
is kept or another proof runs; --json tells them apart.`

export function addHistoryCommands(program: Command): void {
  program
    .command('history')
    .description('Prove the histories')
    .command('prove')
    .description(
      'Compare the history of routes with the kept lists, and the feeds with the histories',
    )
    .option('--json', 'print one JSON object')
    .addHelpText('after', EXIT_TEXT)
    .addHelpText('after', example('history prove'))
    .action(({ json }: { json?: boolean }) =>
      withApp({ role: 'prove' }, async ({ database, syncDeps }, { terminal, signal }) => {
        const result = await proveHistory(
          { ...syncDeps, db: database.db },
          {
            signal,
            most: json ? null : 1,
            onRun: ({ list, runs }) => terminal.progress(`${list}: ${countOf(runs, 'run')} read`),
          },
        )
        terminal.print(json, result, () => proofText(result))
        return result.equal ? EXIT.ok : EXIT.failed
      }),
    )
}

function proofText({ lists, floor, first, differences, kinds }: ProofResult): string {
  const compared = lists.map(
    ({ list, since, until, runs, compared: known }) =>
      `${list}: compared from ${since.toISOString()} to ${until.toISOString()}, at ${known} of ${countOf(runs, 'accepted run')}`,
  )
  if (floor !== null) compared.push(`archived and not compared: before ${floor.toISOString()}`)
  if (first === null) return ['the stored history equals the kept lists', ...compared].join('\n')
  const { runId, at, subject, field, expected, stored } = first
  const run = runId === null ? 'no run' : `run ${runId}`
  return [
    `the stored history differs from the kept lists: ${countOf(differences, 'difference')}`,
    ...Object.entries(kinds).map(([kind, count]) => `  ${kind}: ${count}`),
    `the first one: ${Object.values(subject).join(' → ')}  ${field}  ${run}${at === null ? '' : ` at ${at.toISOString()}`}`,
    `expected: ${JSON.stringify(expected)}, stored: ${JSON.stringify(stored)}`,
    ...compared,
  ].join('\n')
}
