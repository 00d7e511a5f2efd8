import type { Command } from 'commander'
import { recordAction } from '../../platform/db/audit.ts'
import type { Db } from '../../platform/db/database.ts'
import { approveRun, listHeldRuns, rejectRun } from '../../routes/held.ts'
import { diffSnapshots } from '../../routes/read/diff-snapshots.ts'
import { reviewRun } from '../../routes/read/plan-report.ts'
import { findFinishedRun, showRun } from '../../routes/runs.ts'
import { withApp } from '../context.ts'
import { UsageError } from '../exit-codes.ts'
import { integerOption } from '../option-parsers.ts'
import { writeOut } from '../terminal.ts'
import { differenceText, reviewText } from '../text/sync-report-text.ts'
import { heldText, runText, syncResult, syncSentence } from '../text/sync-runs-text.ts'
import { example, pick } from '../text/text-format.ts'

type Json = boolean | undefined

const runNumber = integerOption(1, Number.MAX_SAFE_INTEGER)

/** The commands about finished runs. `sync` itself has --json too, so each reads it from both. */
export function addSyncReviewCommands(sync: Command): void {
  sync
    .command('review')
    .description('List the held runs; or show why one is held and what approving it would do')
    .argument('[run]', 'a held run; unset: all of them', runNumber)
    .option('--json', 'print one line of JSON per run')
    .addHelpText('after', example('sync review 7'))
    .action((runId: number | undefined, _options: unknown, command: Command) =>
      runId === undefined ? printHeld(jsonOf(command)) : printReview(runId, jsonOf(command)),
    )
  addRunCommand(sync, 'approve', 'Apply the list of a held run as it was fetched', approve)
  addRunCommand(sync, 'reject', 'Drop the list of a held run', reject)
  addRunCommand(sync, 'show', 'Show everything about a finished run', printRun)
  sync
    .command('diff')
    .description('Print the differences between the kept lists of two runs of one list')
    .argument('<from>', 'the first run', runNumber)
    .argument('<to>', 'the second run', runNumber)
    .option('--json', 'print one line of JSON per difference')
    .addHelpText(
      'after',
      '\n+ is a route that the second list adds, - one that it lacks, ~ a place.',
    )
    .addHelpText('after', example('sync diff 6 7'))
    .action((from: number, to: number, _options: unknown, command: Command) =>
      printDifferences([from, to], jsonOf(command)),
    )
}

function addRunCommand(
  sync: Command,
  name: string,
  about: string,
  run: (runId: number, json: Json) => Promise<void>,
): void {
  sync
    .command(name)
    .description(about)
    .argument('<run>', 'the number of the run', runNumber)
    .option('--json', 'print one JSON object')
    .addHelpText('after', example(`sync ${name} 7`))
    .action((runId: number, _options: unknown, command: Command) => run(runId, jsonOf(command)))
}

function jsonOf(command: Command): Json {
  return command.optsWithGlobals<{ json?: boolean }>().json
}

function printHeld(json: Json): Promise<void> {
  return withApp({ role: 'sync review' }, async ({ database }, { terminal }) => {
    const held = await listHeldRuns(database.db)
    const rows = held.map((run) => ({
      ...syncResult(run),
      ...pick(run, 'validAt', 'lists', 'since', 'rejectedAt', 'wouldAdd', 'wouldRemove'),
    }))
    terminal.printRows(json, rows, () =>
      held.length === 0 ? 'nothing is held' : heldText(held, terminal.width),
    )
  })
}

function printReview(runId: number, json: Json): Promise<void> {
  return withApp({ role: 'sync review' }, async ({ syncDeps }, { terminal }) => {
    const review = await reviewRun(syncDeps, runId)
    const { run, ...report } = review
    const about = pick(run, 'runId', 'lists', 'since', 'rejectedAt', 'reason')
    terminal.print(json, { ...about, ...report }, () => reviewText(review, terminal.width))
  })
}

function approve(runId: number, json: Json): Promise<void> {
  return withApp({ role: 'sync approve' }, async ({ syncDeps, clock }, { terminal, signal }) => {
    const deps = { ...syncDeps, clock }
    const outcome = await approveRun(deps, runId, signal)
    await recordAction(deps.db, { by: 'cli', action: 'held run approved', target: `run ${runId}` })
    terminal.print(json, syncResult(outcome), () => syncSentence(outcome))
  })
}

function reject(runId: number, json: Json): Promise<void> {
  return withApp({ role: 'sync reject' }, async ({ syncDeps, clock }, { terminal, signal }) => {
    await rejectRun({ ...syncDeps, clock }, runId, signal)
    await recordAction(syncDeps.db, {
      by: 'cli',
      action: 'held run rejected',
      target: `run ${runId}`,
    })
    terminal.print(json, { dropped: [runId] }, () => `dropped run ${runId}; nothing else changed`)
  })
}

function printRun(runId: number, json: Json): Promise<void> {
  return withApp({ role: 'sync show' }, async ({ database }, { terminal }) => {
    const run = await showRun(database.db, runId)
    terminal.print(json, run, () => runText(run, terminal.width))
  })
}

function printDifferences(runIds: readonly [number, number], json: Json): Promise<void> {
  return withApp({ role: 'sync diff' }, async ({ syncDeps }) => {
    await assertOneList(syncDeps.db, runIds)
    for await (const page of diffSnapshots(syncDeps, runIds)) {
      const lines = page.map((one) => (json === true ? JSON.stringify(one) : differenceText(one)))
      await writeOut(`${lines.join('\n')}\n`)
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
      `can be compared; "bin/farewatch sync runs --list ${first.list}" lists runs of the first`,
  )
}
