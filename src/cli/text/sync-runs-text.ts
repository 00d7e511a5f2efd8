import type { SyncRunRow } from '../../route-sync/runs/sync-run-queries.ts'
import { syncSentence } from './sync-text.ts'
import { count, printable, table } from './text-format.ts'
import { besideName, besideNames, fitting } from './wrap-text.ts'

const HEADINGS = [
  'run',
  'fetched at',
  'list',
  'status',
  'live',
  'added',
  'removed',
  'gained',
  'lost',
  'pending',
  'reason',
]

/** What came of runs: a row each, or on a screen that is too narrow for that a sentence. */
export function runsText(runs: readonly SyncRunRow[], width: number): string {
  if (runs.length === 0) return 'no runs yet'
  const digits = Math.max(...runs.map(({ runId }) => String(runId).length))
  return fitting(table(HEADINGS, runs.map(rowOf)), width, () =>
    besideNames(
      runs.map((run) => [
        `${String(run.runId).padEnd(digits)}  ${secondOf(run)}`,
        syncSentence(run),
      ]),
      width,
    ),
  )
}

function rowOf(run: SyncRunRow): string[] {
  return [
    String(run.runId),
    (run.fetchedAt ?? run.startedAt).toISOString(),
    run.list,
    run.baseline && run.status === 'applied' ? 'baseline' : run.status,
    ...[run.live, run.added, run.removed, run.gained, run.lost, run.pendingAbsences].map(count),
    run.reason?.text ?? '',
  ]
}

/** In UTC. */
function secondOf({ fetchedAt, startedAt }: SyncRunRow): string {
  return (fetchedAt ?? startedAt).toISOString().slice(0, 19).replace('T', ' ')
}

/** The runs that are held, a line each. */
export function heldText(held: readonly SyncRunRow[], width: number): string {
  return held
    .map(({ runId, list, fetchedAt, reason, reviewId }) => {
      const joined = (reviewId ?? runId) === runId ? '' : ` (agrees with run ${reviewId})`
      const text = `${fetchedAt?.toISOString() ?? ''}  ${list}  ${reason?.text ?? ''}${joined}`
      return besideName(`run ${runId}  `, printable(text), width)
    })
    .join('\n')
}
