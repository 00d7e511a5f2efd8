import type { ShownRun, SyncRunRow } from '../../route-sync/runs/sync-run-queries.ts'
import { line, namesOf, printableLines } from './sync-report-text.ts'
import { syncSentence } from './sync-text.ts'
import {
  besideName,
  besideNames,
  count,
  fitting,
  megabytes,
  printable,
  seconds,
  table,
} from './text-format.ts'

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

const STAGES = ['fetch', 'stage', 'diff', 'apply'] as const

/** Everything known of a run, a line each. */
export function runText(run: ShownRun, width = Number.POSITIVE_INFINITY): string {
  const { runId, list, status, durationsMs } = run
  const rows: [string, string | null][] = [
    ['reason', run.reason === null ? null : `${run.reason.code}: ${run.reason.text}`],
    ['started', run.startedAt.toISOString()],
    ['fetched', run.arrivedAt?.toISOString() ?? null],
    ['approved', run.status === 'approved' ? (run.fetchedAt?.toISOString() ?? null) : null],
    ['finished', run.finishedAt.toISOString()],
    [
      'stages',
      STAGES.flatMap((stage) => {
        const ms = durationsMs[stage]
        return ms === undefined ? [] : [`${stage} ${seconds(ms)}`]
      }).join(', '),
    ],
    ['list', listText(run)],
    ['hash', run.contentHash],
    ['kept', run.storedBytes === null ? 'no' : megabytes(run.storedBytes)],
    ['validators', [run.etag, run.lastModified].filter(Boolean).join(', ')],
    ['counts', countsText(run)],
    [
      'changes',
      Object.entries(run.changes)
        .map(([kind, n]) => `${kind} ${count(n)}`)
        .join(', '),
    ],
    ['review', reviewOf(run)],
  ]
  const head = `run ${runId} of ${list}: ${status}${run.baseline ? ', the baseline' : ''}`
  const facts = rows.flatMap(([name, text]) => (text ? [line(name, text)] : []))
  return printableLines([head, ...facts], width)
}

function listText(run: ShownRun): string | null {
  if (run.bytes === null) return null
  const same = run.notModified ? '; the upstream said that it had not changed' : ''
  return `${count(run.fetched)} routes in ${megabytes(run.bytes)}${same}`
}

function countsText(run: ShownRun): string {
  const { live, added, removed, returned, pendingAbsences, placesChanged, gained, lost } = run
  const { duplicates, conflictingPlaces, unknownPairs } = run
  const counts = {
    live,
    added,
    removed,
    returned,
    pendingAbsences,
    placesChanged,
    gained,
    lost,
    duplicates,
    conflictingPlaces,
    unknownPairs,
  }
  return Object.entries(counts)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${name} ${count(value)}`)
    .join(', ')
}

function reviewOf({ reviewRuns, resolution, resolvedAt, resolvedBy }: ShownRun): string | null {
  if (reviewRuns.length === 0) return null
  const by = resolvedBy === null ? '' : ` by run ${resolvedBy}`
  const at = resolvedAt === null ? '' : ` at ${resolvedAt.toISOString()}`
  return `${namesOf(reviewRuns)}${resolution === null ? '' : `; ${resolution}${by}${at}`}`
}
