import type { App } from '../../app/app.ts'
import { ROUTE_LISTS, type RouteListName } from '../../platform/base/kinds.ts'
import type { Db } from '../../platform/db/database.ts'
import { diffSnapshots } from '../../routes/read/diff-snapshots.ts'
import { dryRun } from '../../routes/read/plan-report.ts'
import { findFinishedRun, type SyncOutcome } from '../../routes/runs.ts'
import { runOrAwait } from '../../routes/sync.ts'
import { type CliContext, withApp } from '../context.ts'
import type { ProgramOptions } from '../describe.ts'
import { EXIT, UsageError } from '../exit-codes.ts'
import { differenceText, planText } from '../text/sync-report-text.ts'
import { syncSentence } from '../text/sync-runs-text.ts'
import { count, megabytes, seconds } from '../text/text-format.ts'

interface SyncOptions extends ProgramOptions {
  readonly list: RouteListName | 'all'
  readonly dryRun?: boolean
}

/** Pulls lists now, or prints what that would do. */
export function sync(options: SyncOptions): Promise<void> {
  return options.dryRun === true ? planSync(options) : runSync(options)
}

function runSync(options: SyncOptions): Promise<void> {
  return withApp({ role: 'sync', sandbox: true, options }, async (app, context) => {
    let exit: number = EXIT.ok
    for (const name of listsOf(options.list)) {
      const { outcome, joined } = await syncOne(app, context, name)
      const run = await findFinishedRun(app.database.db, outcome.runId)
      context.terminal.print(run, () => summary(outcome, joined))
      exit = Math.max(exit, exitOf(outcome))
      if (context.signal.aborted) return EXIT.interrupted
    }
    return exit
  })
}

function planSync(options: SyncOptions): Promise<void> {
  const needs = { role: 'sync dry run', sandbox: true, options }
  return withApp(needs, async ({ syncDeps }, { terminal, signal }) => {
    let exit: number = EXIT.ok
    for (const name of listsOf(options.list)) {
      const plan = await dryRun(syncDeps, name, signal)
      terminal.print(plan, () => planText(plan, terminal.width))
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

/** Prints the differences between the kept lists of two runs. */
export function printDifferences(from: number, to: number, options: ProgramOptions): Promise<void> {
  return withApp({ role: 'runs diff', options }, async ({ syncDeps }, { terminal }) => {
    await assertOneList(syncDeps.db, [from, to])
    for await (const page of diffSnapshots(syncDeps, [from, to])) {
      terminal.printRows(page, () => page.map(differenceText).join('\n'))
    }
  })
}

/**
 * Throws UsageError for runs of different lists, whose comparison would mean nothing. The runs of both lists share one
 * numbering, so neighbours often differ. diffSnapshots reports a missing run.
 */
async function assertOneList(db: Db, runIds: readonly [number, number]): Promise<void> {
  const [first, second] = await Promise.all(runIds.map((runId) => findFinishedRun(db, runId)))
  if (first === undefined || second === undefined || first.list === second.list) return
  throw new UsageError(
    `run ${first.runId} is of ${first.list} and run ${second.runId} of ${second.list}: only runs of one list ` +
      `can be compared; "bin/farewatch runs list --list ${first.list}" lists runs of the first`,
  )
}
