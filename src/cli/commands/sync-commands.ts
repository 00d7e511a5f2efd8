import { type Command, Option } from 'commander'
import type { App } from '../../app/app.ts'
import { dryRun } from '../../route-sync/review/dry-run.ts'
import type { SyncOutcome } from '../../route-sync/runs/sync-run.ts'
import { listSyncRuns, type SyncRunRow } from '../../route-sync/runs/sync-run-queries.ts'
import { runOrAwait } from '../../route-sync/sync-list.ts'
import type { RouteListName } from '../../upstream/route-list.ts'
import { createContext, withApp } from '../context.ts'
import { EXIT } from '../exit-codes.ts'
import { interruptSignal } from '../interrupt.ts'
import { integerOption } from '../option-parsers.ts'
import type { Terminal } from '../terminal.ts'
import { planText } from '../text/sync-report-text.ts'
import { runsText } from '../text/sync-runs-text.ts'
import { syncJson, syncSentence } from '../text/sync-text.ts'
import { count, megabytes, screenWidth, seconds } from '../text/text-format.ts'
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
    .description('pull the route lists now; joins a run that is under way')
    .addOption(
      new Option('--list <list>', 'which list')
        .choices(['routes', 'with-availability', 'all'])
        .default('all'),
    )
    .option('--dry-run', 'print what it would do, and change nothing')
    .option('--json', 'one line of JSON a run')
    .addHelpText('after', '\nExample:\n  bin/farewatch sync --list routes --json')
    .action(async (options: SyncOptions) => {
      process.exitCode = await (options.dryRun === true ? planSync(options) : runSync(options))
    })
  addSyncReviewCommands(sync)
  sync
    .command('runs')
    .description('what came of the last runs, newest first')
    .option('--limit <n>', 'how many', integerOption(1, 10_000), 20)
    .option('--json', 'one line of JSON a run')
    .addHelpText('after', '\nExample:\n  bin/farewatch sync runs --limit 5')
    .action(async (_options: unknown, command: Command) => {
      await printRuns(command.optsWithGlobals<RunsOptions>())
    })
}

async function runSync({ list, json }: SyncOptions): Promise<number> {
  const context = createContext({ quiet: true })
  const lists: RouteListName[] = list === 'all' ? ['routes', 'with-availability'] : [list]
  const signal = interruptSignal()
  return withApp(context, { role: 'sync', sandbox: true }, async (app) => {
    let exit: number = EXIT.ok
    for (const name of lists) {
      const { outcome, joined } = await syncOne(app, context.terminal, name, signal)
      context.terminal.out(json === true ? syncJson(outcome) : summary(outcome, joined))
      exit = Math.max(exit, exitOf(outcome))
      if (signal.aborted) return EXIT.interrupted
    }
    return exit
  })
}

async function planSync({ list, json }: SyncOptions): Promise<number> {
  const context = createContext({ quiet: true })
  const { terminal } = context
  const lists: RouteListName[] = list === 'all' ? ['routes', 'with-availability'] : [list]
  const signal = interruptSignal()
  return withApp(context, { role: 'sync dry run', sandbox: true }, async (app) => {
    let exit: number = EXIT.ok
    for (const name of lists) {
      const plan = await dryRun(app.syncDeps, name, signal)
      terminal.out(
        json === true ? JSON.stringify(plan) : planText(plan, screenWidth(process.stdout)),
      )
      if (plan.verdict !== null) exit = EXIT.held
    }
    return exit
  })
}

async function syncOne(app: App, terminal: Terminal, list: RouteListName, signal: AbortSignal) {
  const onProgress = ({ bytes, routes }: { bytes: number; routes: number }) => {
    terminal.progress(`${list}: ${megabytes(bytes)} fetched, ${count(routes)} routes staged`)
  }
  const joining = await runOrAwait({ ...app.syncDeps, clock: app.clock, onProgress }, list, signal)
  terminal.progress('')
  return joining
}

function exitOf({ status }: SyncOutcome): number {
  if (status === 'held') return EXIT.held
  return status === 'applied' || status === 'unchanged' ? EXIT.ok : EXIT.failed
}

function summary(outcome: SyncOutcome, joined: boolean): string {
  const stages = Object.entries(outcome.durationsMs).map(([stage, ms]) => `${stage} ${seconds(ms)}`)
  return [
    `${syncSentence(outcome)}${joined ? ' (by a run that was under way)' : ''}`,
    `  run ${outcome.runId}, ${count(outcome.fetched)} routes in the list; ${stages.join(', ')}`,
  ].join('\n')
}

async function printRuns({ list, limit, json }: RunsOptions): Promise<void> {
  const context = createContext({ quiet: true })
  await withApp(context, { role: 'sync runs', sandbox: false }, async ({ database }) => {
    const runs = await listSyncRuns(database.db, {
      limit,
      ...(list === undefined || list === 'all' ? {} : { list }),
    })
    if (json === true) for (const run of runs) context.terminal.out(runJson(run))
    else context.terminal.out(runsText(runs, screenWidth(process.stdout)))
  })
}

function runJson(run: SyncRunRow): string {
  const { startedAt, arrivedAt, fetchedAt, finishedAt, bytes, reviewId } = run
  const times = { startedAt, arrivedAt, fetchedAt, finishedAt }
  return JSON.stringify({ ...JSON.parse(syncJson(run)), ...times, bytes, reviewId })
}
