import { type Command, Option } from 'commander'
import type { App } from '../../app/app.ts'
import { ROUTE_LISTS, type RouteListName } from '../../platform/base/kinds.ts'
import type { Logger } from '../../platform/base/logger.ts'
import type { Db } from '../../platform/db/database.ts'
import { assertKept } from '../../platform/db/history-floor.ts'
import { EXPORT_FORMATS, type ExportFormat, exportRoutes } from '../../routes/read/export-routes.ts'
import { dryRun } from '../../routes/read/plan-report.ts'
import { readHistorySpan } from '../../routes/read/route-queries.ts'
import { listSyncRuns, type SyncOutcome } from '../../routes/runs.ts'
import { runOrAwait } from '../../routes/sync.ts'
import { type CliContext, withApp } from '../context.ts'
import { EXIT } from '../exit-codes.ts'
import { instantOption, integerOption } from '../option-parsers.ts'
import { writeOut } from '../terminal.ts'
import { planText } from '../text/sync-report-text.ts'
import { runsText, syncResult, syncSentence } from '../text/sync-runs-text.ts'
import { count, example, megabytes, pick, seconds } from '../text/text-format.ts'
import { addSyncReviewCommands } from './sync-review-commands.ts'

interface SyncOptions {
  readonly list: RouteListName | 'all'
  readonly dryRun?: boolean
  readonly json?: boolean
}

interface RunsOptions {
  readonly list?: RouteListName | 'all'
  readonly limit: number
  readonly json?: boolean
}

export function addSyncCommands(program: Command): void {
  const sync = program
    .command('sync')
    .description('Pull the route lists now, or wait for the run that is already pulling them')
    .addOption(
      new Option('--list <list>', 'the list to pull')
        .choices([...ROUTE_LISTS, 'all'])
        .default('all'),
    )
    .option('--dry-run', 'fetch the list and print what a sync would do; change nothing')
    .option('--json', 'print one line of JSON per run')
    .addHelpText('after', '\nExits with 3 if a list is held for review, or would be.')
    .addHelpText('after', example('sync --list routes --json'))
    .action((options: SyncOptions) =>
      options.dryRun === true ? planSync(options) : runSync(options),
    )
  addSyncReviewCommands(sync)
  sync
    .command('runs')
    .description('List the last runs, newest first')
    .option('--limit <n>', 'list at most n runs', integerOption(1, 10_000), 20)
    .option('--json', 'print one line of JSON per run')
    .addHelpText('after', example('sync runs --limit 5'))
    .action((_options: unknown, command: Command) =>
      printRuns(command.optsWithGlobals<RunsOptions>()),
    )
}

function runSync({ list, json }: SyncOptions): Promise<void> {
  return withApp({ role: 'sync', sandbox: true }, async (app, context) => {
    let exit: number = EXIT.ok
    for (const name of listsOf(list)) {
      const { outcome, joined } = await syncOne(app, context, name)
      context.terminal.print(json, syncResult(outcome), () => summary(outcome, joined))
      exit = Math.max(exit, exitOf(outcome))
      if (context.signal.aborted) return EXIT.interrupted
    }
    return exit
  })
}

function planSync({ list, json }: SyncOptions): Promise<void> {
  const needs = { role: 'sync dry run', sandbox: true }
  return withApp(needs, async ({ syncDeps }, { terminal, signal }) => {
    let exit: number = EXIT.ok
    for (const name of listsOf(list)) {
      const plan = await dryRun(syncDeps, name, signal)
      terminal.print(json, plan, () => planText(plan, terminal.width))
      if (plan.verdict !== null) exit = EXIT.held
    }
    return exit
  })
}

function listsOf(list: RouteListName | 'all'): readonly RouteListName[] {
  return list === 'all' ? ROUTE_LISTS : [list]
}

async function syncOne(
  { syncDeps, clock }: App,
  { terminal, signal }: CliContext,
  list: RouteListName,
) {
  const onProgress = ({ bytes, routes }: { bytes: number; routes: number }) => {
    terminal.progress(`${list}: ${megabytes(bytes)} fetched, ${count(routes)} routes staged`)
  }
  const finished = await runOrAwait({ ...syncDeps, clock, onProgress }, list, signal)
  terminal.progress('')
  return finished
}

function exitOf({ status }: SyncOutcome): number {
  if (status === 'held') return EXIT.held
  return status === 'applied' || status === 'unchanged' ? EXIT.ok : EXIT.failed
}

function summary(outcome: SyncOutcome, joined: boolean): string {
  const stages = Object.entries(outcome.durationsMs).map(([stage, ms]) => `${stage} ${seconds(ms)}`)
  return [
    `${syncSentence(outcome)}${joined ? ' (by a run that had already begun)' : ''}`,
    `  run ${outcome.runId}, ${count(outcome.fetched)} routes in the list; ${stages.join(', ')}`,
  ].join('\n')
}

async function printRuns({ list, limit, json }: RunsOptions): Promise<void> {
  await withApp({ role: 'sync runs' }, async ({ database }, { terminal }) => {
    const only = list === undefined || list === 'all' ? {} : { list }
    const runs = await listSyncRuns(database.db, { limit, ...only })
    const rows = runs.map((run) => ({
      ...syncResult(run),
      ...pick(run, 'startedAt', 'arrivedAt', 'validAt', 'finishedAt', 'bytes'),
    }))
    terminal.printRows(json, rows, () => runsText(runs, terminal.width))
  })
}

interface ExportOptions {
  readonly asOf?: Date
  readonly format: ExportFormat
  readonly list: RouteListName
}

export function addRoutesCommands(program: Command): void {
  program
    .command('routes')
    .description('Export routes')
    .command('export')
    .description('Write the routes that are live, or were live at an instant, to standard output')
    .option('--as-of <instant>', 'the instant; unset: now', instantOption)
    .addOption(
      new Option('--list <list>', 'all routes, or those with availability')
        .choices(ROUTE_LISTS)
        .default('routes'),
    )
    .addOption(
      new Option('--format <format>', 'the file format').choices(EXPORT_FORMATS).default('csv'),
    )
    .addHelpText('after', example('routes export --as-of 2026-01-31 --format csv > routes.csv'))
    .action(writeRoutes)
}

async function writeRoutes({ asOf, format, list }: ExportOptions): Promise<void> {
  await withApp({ role: 'export' }, async ({ database: { db } }, { log, terminal, signal }) => {
    if (asOf !== undefined) await assertKept(db, asOf)
    await warnAboutInstant(log, db, { asOf, list })
    const onlyAvailable = list === 'with-availability'
    let bytes = 0
    for await (const text of exportRoutes(db, { asOf, format, onlyAvailable })) {
      if (signal.aborted) return
      await writeOut(text, signal)
      bytes += Buffer.byteLength(text)
      // On a terminal the progress would stand between the exported lines.
      if (process.stdout.isTTY !== true) terminal.progress(`${megabytes(bytes)} written`)
    }
    terminal.progress('')
  })
}

/** Warns where the export is empty or of an earlier instant than was asked for: the file cannot say so. */
async function warnAboutInstant(
  log: Logger,
  db: Db,
  { asOf, list }: { asOf: Date | undefined; list: RouteListName },
): Promise<void> {
  const { first, last } = await readHistorySpan(db, list)
  if (first === null || last === null) {
    log.warn({ list }, 'nothing to export: no list has been accepted yet')
  } else if (asOf !== undefined && asOf < first) {
    log.warn({ asOf, list, first }, 'nothing to export: the first list was accepted later')
  } else if (asOf !== undefined && asOf > last) {
    log.warn({ asOf, last }, 'exported as of the last accepted list: nothing later is known')
  }
}
