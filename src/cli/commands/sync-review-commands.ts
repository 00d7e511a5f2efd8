import { once } from 'node:events'
import type { Command } from 'commander'
import type { Db } from '../../db/database.ts'
import { diffSnapshots } from '../../route-sync/read/diff-snapshots.ts'
import { approveRun, rejectRun } from '../../route-sync/review/decide-run.ts'
import { reviewRun } from '../../route-sync/review/report-plan.ts'
import {
  findFinishedRun,
  listHeldRuns,
  type SyncRunRow,
  showRun,
} from '../../route-sync/runs/sync-run-queries.ts'
import { createContext, withApp } from '../context.ts'
import { UsageError } from '../exit-codes.ts'
import { interruptSignal } from '../interrupt.ts'
import { integerOption } from '../option-parsers.ts'
import { differenceText, namesOf, reviewText } from '../text/sync-report-text.ts'
import { heldText, runText } from '../text/sync-runs-text.ts'
import { syncJson, syncSentence } from '../text/sync-text.ts'
import { screenWidth } from '../text/text-format.ts'

interface JsonOption {
  readonly json?: boolean
}

const runNumber = integerOption(1, Number.MAX_SAFE_INTEGER)

/** The commands about runs that are over: what is held, what to do about it, what they brought. */
export function addSyncReviewCommands(sync: Command): void {
  addDecisions(sync)
  sync
    .command('show')
    .description('everything that is known of a run')
    .argument('<run>', 'its number', runNumber)
    .option('--json', 'one line of JSON')
    .addHelpText('after', '\nExample:\n  bin/farewatch sync show 7')
    .action(async (runId: number, _options: unknown, command: Command) => {
      await printRun(runId, command.optsWithGlobals<JsonOption>())
    })
  sync
    .command('diff')
    .description(
      'what the kept list of one run has otherwise than that of another of the same list',
    )
    .argument('<from>', 'the first run', runNumber)
    .argument('<to>', 'the second run', runNumber)
    .option('--json', 'one line of JSON a difference')
    .addHelpText('after', '\nExample:\n  bin/farewatch sync diff 6 7')
    .action(async (from: number, to: number, _options: unknown, command: Command) => {
      await printDifferences([from, to], command.optsWithGlobals<JsonOption>())
    })
}

function addDecisions(sync: Command): void {
  sync
    .command('review')
    .description(
      'what is held, or what is suspicious about one held run and what approving it would do',
    )
    .argument('[run]', 'a held run; all of them where missing', runNumber)
    .option('--json', 'one line of JSON a run')
    .addHelpText('after', '\nExample:\n  bin/farewatch sync review 7')
    .action(async (runId: number | undefined, _options: unknown, command: Command) => {
      const options = command.optsWithGlobals<JsonOption>()
      await (runId === undefined ? printHeld(options) : printReview(runId, options))
    })
  sync
    .command('approve')
    .description('apply a held list as it was fetched')
    .argument('<run>', 'a held run', runNumber)
    .option('--json', 'one line of JSON')
    .addHelpText('after', '\nExample:\n  bin/farewatch sync approve 7')
    .action(async (runId: number, _options: unknown, command: Command) => {
      await approve(runId, command.optsWithGlobals<JsonOption>())
    })
  sync
    .command('reject')
    .description('drop a held list, and those that agree with it')
    .argument('<run>', 'a held run', runNumber)
    .option('--json', 'one line of JSON')
    .addHelpText('after', '\nExample:\n  bin/farewatch sync reject 7')
    .action(async (runId: number, _options: unknown, command: Command) => {
      await reject(runId, command.optsWithGlobals<JsonOption>())
    })
}

async function printHeld({ json }: JsonOption): Promise<void> {
  const context = createContext({ quiet: true })
  await withApp(context, { role: 'sync review', sandbox: false }, async ({ database }) => {
    const held = await listHeldRuns(database.db)
    if (json === true) for (const run of held) context.terminal.out(heldJson(run))
    else if (held.length === 0) context.terminal.out('nothing is held')
    else context.terminal.out(heldText(held, screenWidth(process.stdout)))
  })
}

function heldJson(run: SyncRunRow): string {
  const { fetchedAt, reviewId } = run
  return JSON.stringify({ ...JSON.parse(syncJson(run)), fetchedAt, reviewId })
}

async function printReview(runId: number, { json }: JsonOption): Promise<void> {
  const context = createContext({ quiet: true })
  await withApp(context, { role: 'sync review', sandbox: false }, async ({ syncDeps }) => {
    const review = await reviewRun(syncDeps, runId)
    const { heldWith, rejected, plan } = review
    context.terminal.out(
      json === true
        ? JSON.stringify({ runId, heldWith, rejected, reason: review.run.reason, plan })
        : reviewText(review, screenWidth(process.stdout)),
    )
  })
}

async function approve(runId: number, { json }: JsonOption): Promise<void> {
  const context = createContext({ quiet: true })
  await withApp(context, { role: 'sync approve', sandbox: false }, async ({ syncDeps, clock }) => {
    const outcome = await approveRun({ ...syncDeps, clock }, runId, interruptSignal())
    context.terminal.out(json === true ? syncJson(outcome) : syncSentence(outcome))
  })
}

async function reject(runId: number, { json }: JsonOption): Promise<void> {
  const context = createContext({ quiet: true })
  await withApp(context, { role: 'sync reject', sandbox: false }, async ({ syncDeps, clock }) => {
    const dropped = await rejectRun({ ...syncDeps, clock }, runId, interruptSignal())
    context.terminal.out(
      json === true
        ? JSON.stringify({ dropped })
        : `dropped ${namesOf(dropped)}; nothing else changed`,
    )
  })
}

async function printRun(runId: number, { json }: JsonOption): Promise<void> {
  const context = createContext({ quiet: true })
  await withApp(context, { role: 'sync show', sandbox: false }, async ({ database }) => {
    const run = await showRun(database.db, runId)
    context.terminal.out(
      json === true ? JSON.stringify(run) : runText(run, screenWidth(process.stdout)),
    )
  })
}

async function printDifferences(
  runIds: readonly [number, number],
  { json }: JsonOption,
): Promise<void> {
  const context = createContext({ quiet: true })
  await withApp(context, { role: 'sync diff', sandbox: false }, async ({ syncDeps }) => {
    await assertOneList(syncDeps.db, runIds)
    for await (const page of diffSnapshots(syncDeps, runIds)) {
      const lines = page.map((one) => (json === true ? JSON.stringify(one) : differenceText(one)))
      if (!process.stdout.write(`${lines.join('\n')}\n`)) await once(process.stdout, 'drain')
    }
  })
}

/**
 * The runs of both lists are numbered together, so that two neighbours are easily of two: of those all that is not
 * available would seem gone. Throws UsageError. A run that is not there is for the comparison to tell.
 */
async function assertOneList(db: Db, runIds: readonly [number, number]): Promise<void> {
  const [first, second] = await Promise.all(runIds.map((runId) => findFinishedRun(db, runId)))
  if (first === undefined || second === undefined || first.list === second.list) return
  throw new UsageError(
    `run ${first.runId} is of ${first.list} and run ${second.runId} of ${second.list}: only runs of one list compare; ` +
      `"bin/farewatch sync runs --list ${first.list}" lists those of the first`,
  )
}
