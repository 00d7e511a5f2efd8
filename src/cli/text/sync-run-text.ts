import type { ShownRun } from '../../route-sync/read/show-run.ts'
import { line, namesOf, printableLines } from './sync-report-text.ts'
import { count, megabytes, seconds } from './text-format.ts'

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
