import { type Command, Option } from 'commander'
import { openPlace } from '../../history/export-place.ts'
import { exportTables, streamTable } from '../../history/export-run.ts'
import { TABLE_FORMATS, type TableFormat } from '../../history/export-tables.ts'
import { type PruneResult, pruneHistory } from '../../history/prune-history.ts'
import { reopenDays, rollUpDays } from '../../history/roll-up-days.ts'
import { createAnalyst } from '../../platform/db/analyst-logins.ts'
import { assertKept } from '../../platform/db/history-floor.ts'
import { type ProofResult, proveHistory } from '../../routes/prove/prove-history.ts'
import { confirmDeletion, YES, type YesOption } from '../confirm.ts'
import { withApp } from '../context.ts'
import { EXIT } from '../exit-codes.ts'
import { dateOption, instantOption } from '../option-parsers.ts'
import { countOf, example } from '../text/text-format.ts'

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
  readonly to: string
  readonly state?: string
}

const EXPORT_TEXT = `
Writes one file a table, and the manifest export.json at last. With --state each
run takes what is new, exactly once, as Parquet: the records and intervals that no
earlier run took, and the views of the present whole. A run that is killed before
its manifest takes nothing. Of s3://bucket/prefix the endpoint, the region and the
credentials are those of AWS_ENDPOINT_URL, AWS_REGION and the other variables of AWS.`

export function addExportCommand(program: Command): void {
  program
    .command('export <tables...>')
    .description('Write tables and views of the public SQL; "all" means every one for analysts')
    .addOption(
      new Option('--format <format>', 'the file format').choices(TABLE_FORMATS).default('parquet'),
    )
    .option(
      '--from <from>',
      'only rows from a number of a feed on, or new since an instant',
      fromOption,
    )
    .requiredOption('--to <place>', 'a folder or s3://bucket/prefix; - means standard output')
    .option('--state <file>', 'take what is new since the last run with this file')
    .addHelpText('after', EXPORT_TEXT)
    .addHelpText('after', example('export all --to warehouse --state warehouse.json'))
    .action((tables: string[], options: ExportOptions) =>
      withApp({ role: 'export' }, async ({ database }, { terminal }) => {
        const request = { ...options, tables }
        if (options.to === '-') return streamTable(database, request, process.stdout)
        const files = await exportTables(database, request, { onProgress: terminal.progress })
        for (const file of files) terminal.out(file)
      }),
    )
}

/** Reads a number of a feed, or an instant. */
function fromOption(text: string): number | Date {
  return /^\d{1,15}$/.test(text) ? Number(text) : instantOption(text)
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

const PRUNE_TEXT = `
Refuses unless the export has all of these rows and its files have the hashes of
their manifests: first run "export all watch_changes". What is current stays, and
so does what deliveries still need. Workers may run meanwhile. If it is
interrupted, run it again. Keep the export: afterwards only it has these rows.`

export function addHistoryCommands(program: Command): void {
  const history = program.command('history').description('Prove and prune the histories')
  history
    .command('prove')
    .description(
      'Compare the history of routes with the kept lists, and the feeds with the histories',
    )
    .option('--json', 'print one JSON object')
    .addHelpText('after', EXIT_TEXT)
    .addHelpText('after', example('history prove'))
    .action(prove)
  history
    .command('prune')
    .description('Delete the history before a date, once an export has it')
    .requiredOption('--before <date>', 'the first day that stays, in UTC', dateOption)
    .requiredOption('--export <place>', 'the folder or s3://bucket/prefix of the export')
    .option(...YES)
    .option('--json', 'print one JSON object')
    .addHelpText('after', PRUNE_TEXT)
    .addHelpText('after', example('history prune --before 2026-01-01 --export warehouse'))
    .action(prune)
}

function prove({ json }: { json?: boolean }): Promise<void> {
  return withApp({ role: 'prove' }, async ({ database, syncDeps }, { terminal, signal }) => {
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
  })
}

interface PruneOptions extends YesOption {
  readonly before: Date
  readonly export: string
  readonly json?: boolean
}

async function prune({ before, json, yes, ...options }: PruneOptions): Promise<void> {
  const day = before.toISOString().slice(0, 10)
  await confirmDeletion(`what is from before ${day} is deleted here if the export has it`, { yes })
  await withApp({ role: 'prune' }, async ({ database }, { terminal, signal }) => {
    const place = await openPlace(options.export)
    const onProgress = terminal.progress
    const result = await pruneHistory(database.db, { before, place }, { signal, onProgress })
    terminal.print(json, result, () => pruneText(result))
  })
}

function pruneText({ before, deleted, needs }: PruneResult): string {
  const kept = needs.map(
    ({ reseller, endpointId, seq }) =>
      `the records of ${reseller} stay from ${seq} on: endpoint ${endpointId} has not read them, or has deliveries of them`,
  )
  return [`${countOf(deleted, 'row')} from before ${before} deleted`, ...kept].join('\n')
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
