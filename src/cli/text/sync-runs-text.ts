import type { HeldRun } from '../../routes/held.ts'
import type { ShownRun, SyncOutcome, SyncRunRow } from '../../routes/runs.ts'
import { type Fact, factsText } from './sync-report-text.ts'
import {
  count,
  countOf,
  fitOrElse,
  hangingIndent,
  labelledLines,
  megabytes,
  pick,
  printable,
  seconds,
  secondText,
  table,
} from './text-format.ts'

const COUNTS = ['live', 'added', 'removed', 'gained', 'lost'] as const
const HEADINGS = ['run', 'arrived at', 'list', 'status', ...COUNTS, 'pending', 'reason']

/** Runs as a table, or as one sentence each where the table does not fit. */
export function runsText(runs: readonly SyncRunRow[], width: number): string {
  if (runs.length === 0) return 'no runs yet'
  const digits = Math.max(...runs.map(({ runId }) => String(runId).length))
  return fitOrElse(table(HEADINGS, runs.map(rowOf)), width, () =>
    labelledLines(
      runs.map((run) => {
        const second = secondText(run.arrivedAt ?? run.startedAt)
        return [`${String(run.runId).padEnd(digits)}  ${second}`, syncSentence(run)]
      }),
      width,
    ),
  )
}

function rowOf(run: SyncRunRow): string[] {
  return [
    String(run.runId),
    (run.arrivedAt ?? run.startedAt).toISOString(),
    run.list,
    run.status,
    ...COUNTS.map((name) => count(run[name])),
    count(run.pendingAbsences),
    run.reason?.text ?? (run.baseline ? 'the baseline' : ''),
  ]
}

/** The held runs, one line each. */
export function heldText(held: readonly HeldRun[], width: number): string {
  return held
    .map((run) => {
      const { runId, list, arrivedAt, reason, lists, since } = run
      const agree = lists === 1 ? '' : ` (${lists} lists agree since ${since.toISOString()})`
      const would = heldEffectText(run)
      const effect = would === null ? '' : `; ${would}`
      const text = `${arrivedAt?.toISOString() ?? ''}  ${list}  ${reason?.text ?? ''}${effect}${agree}`
      return hangingIndent(`run ${runId}  `, printable(text), width)
    })
    .join('\n')
}

/** Everything about one run, one fact a line. */
export function runText(run: ShownRun, width = Number.POSITIVE_INFINITY): string {
  const { runId, list, status, baseline, reason, storedBytes } = run
  const facts: [string, string | null | undefined][] = [
    ['reason', reason && `${reason.code}: ${reason.text}`],
    ['started', run.startedAt.toISOString()],
    ['fetched', run.arrivedAt?.toISOString()],
    ['approved', status === 'approved' ? run.validAt?.toISOString() : null],
    ['finished', run.finishedAt.toISOString()],
    ['stages', stagesText(run)],
    ['list', listText(run)],
    ['hash', run.contentHash],
    ['kept', storedBytes === null ? 'no' : megabytes(storedBytes)],
    ['validators', [run.etag, run.lastModified].filter(Boolean).join(', ')],
    ['counts', countsText(run)],
    ['changes', numbersText(run.changes)],
    ['when held', heldEffectText(run)],
    ['then', resolutionOf(run)],
  ]
  const head = `run ${runId} of ${list}: ${status}${baseline ? ', the baseline' : ''}`
  const known = facts.flatMap(([label, text]): Fact[] => (text ? [[label, text]] : []))
  return factsText([['', head], ...known], width)
}

function stagesText({ durationsMs }: ShownRun): string {
  return (['fetch', 'stage', 'diff', 'apply'] as const)
    .flatMap((stage) => {
      const ms = durationsMs[stage]
      return ms === undefined ? [] : [`${stage} ${seconds(ms)}`]
    })
    .join(', ')
}

function listText(run: ShownRun): string | null {
  if (run.bytes === null) return null
  const same = run.notModified ? '; the upstream answered 304, not modified' : ''
  return `${count(run.fetched)} routes in ${megabytes(run.bytes)}${same}`
}

function countsText(run: ShownRun): string {
  return numbersText({
    ...pick(run, 'live', 'added', 'removed', 'returned', 'pendingAbsences', 'placesChanged'),
    ...pick(
      run,
      'pendingPlaces',
      'gained',
      'lost',
      'duplicates',
      'conflictingPlaces',
      'unknownPairs',
    ),
  })
}

function heldEffectText({ wouldAdd, wouldRemove }: SyncRunRow): string | null {
  if (wouldAdd === null) return null
  return `it would add ${count(wouldAdd)}, remove ${count(wouldRemove)}`
}

function numbersText(numbers: Readonly<Record<string, number | null>>): string {
  return Object.entries(numbers)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${name} ${count(value)}`)
    .join(', ')
}

function resolutionOf({ resolution, resolvedAt, resolvedBy }: ShownRun): string | null {
  if (resolution === null) return null
  const by = resolvedBy === null ? '' : ` by run ${resolvedBy}`
  return `${resolution}${by} at ${resolvedAt?.toISOString()}`
}

/** The outcome of a run as one sentence. */
export function syncSentence(outcome: SyncOutcome): string {
  const { list, status } = outcome
  const what = list === 'routes' ? 'routes' : 'availability'
  const reason = outcome.reason === null ? '' : `: ${printable(outcome.reason.text)}`
  switch (status) {
    case 'applied':
      return `${what} ${outcome.baseline ? 'baseline' : 'applied'}: ${effectText(outcome)}`
    case 'approved':
      return `${what} approved: ${effectText(outcome)}`
    case 'unchanged':
      return `${what} unchanged: ${count(outcome.live)} ${list === 'routes' ? 'live' : 'available'}`
    case 'held':
      return `${what} held for review, nothing applied${reason}`
    default:
      return `${what} ${status}, nothing applied${reason}`
  }
}

function effectText(outcome: SyncOutcome): string {
  const pending = outcome.pendingAbsences ?? 0
  const places = outcome.pendingPlaces ?? 0
  const awaiting = [
    ...(pending > 0 ? [`${countOf(pending, 'absence')} pending`] : []),
    ...(places > 0 ? [`new attributes of ${countOf(places, 'place')} pending`] : []),
  ]
  if (outcome.list === 'with-availability') {
    const moves = outcome.baseline
      ? []
      : [`${count(outcome.gained)} gained`, `${count(outcome.lost)} lost`]
    return [...moves, ...awaiting, `${count(outcome.live)} available`].join(', ')
  }
  const moves = outcome.baseline
    ? []
    : [`${count(outcome.added)} added`, `${count(outcome.removed)} removed`]
  const changed = outcome.placesChanged ?? 0
  const placeMoves =
    changed > 0 && !outcome.baseline ? [`${countOf(changed, 'place')} changed`] : []
  return [...moves, ...placeMoves, ...awaiting, `${count(outcome.live)} live`].join(', ')
}

/** The result of a run in the JSON of `sync`; its members and their order are contract. */
export function syncResult(outcome: SyncOutcome) {
  const { reason, durationsMs } = outcome
  return {
    ...pick(outcome, 'runId', 'list', 'status', 'baseline', 'fetched', 'live', 'added', 'removed'),
    ...pick(outcome, 'pendingAbsences', 'placesChanged', 'gained', 'lost'),
    reason: reason === null ? null : `${reason.code}: ${reason.text}`,
    durationsMs,
  }
}
