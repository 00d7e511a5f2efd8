import type { SyncOutcome } from '../../routes/runs.ts'
import type { Answer, Item } from '../api-client.ts'
import { type Fact, factsText } from './sync-report-text.ts'
import {
  type Columns,
  count,
  countOf,
  hangingIndent,
  megabytes,
  pick,
  printable,
  seconds,
  timeText,
} from './text-format.ts'

type Run = Item<'GET /sync-runs'>
type RunDetails = Answer<'GET /sync-runs/{runId}'>

export const RUN_COLUMNS: Columns<Run> = {
  run: ({ runId }) => String(runId),
  list: 'list',
  status: 'status',
  arrived: ({ arrivedAt, startedAt }) => arrivedAt ?? startedAt,
  live: 'live',
  added: ({ list, added, gained }) => (list === 'routes' ? added : gained),
  removed: ({ list, removed, lost }) => (list === 'routes' ? removed : lost),
  reason: ({ reason, baseline }) => reason?.text ?? (baseline ? 'the baseline' : ''),
}

/** The held runs, one line each. */
export function heldText(held: readonly Item<'GET /held-runs'>[], width: number): string {
  return held
    .map((run) => {
      const { runId, list, arrivedAt, reason, lists, since } = run
      const agree = lists === 1 ? '' : ` (${lists} lists agree since ${timeText(since)})`
      const would = heldEffectText(run)
      const effect = would === null ? '' : `; ${would}`
      const arrived = arrivedAt === null ? '' : timeText(arrivedAt)
      const text = `${list}  ${arrived}  ${reason?.text ?? ''}${effect}${agree}`
      return hangingIndent(`run ${runId}  `, printable(text), width)
    })
    .join('\n')
}

/** Everything about one run, one fact a line. */
export function runText(run: RunDetails, width = Number.POSITIVE_INFINITY): string {
  const { runId, list, status, baseline, reason, storedBytes } = run
  const facts: [string, string | null | undefined][] = [
    ['reason', reason && `${reason.code}: ${reason.text}`],
    ['started', timeText(run.startedAt)],
    ['fetched', run.arrivedAt && timeText(run.arrivedAt)],
    ['approved', status === 'approved' && run.validAt ? timeText(run.validAt) : null],
    ['finished', timeText(run.finishedAt)],
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

function stagesText({ durationsMs }: RunDetails): string {
  return (['fetch', 'stage', 'diff', 'apply'] as const)
    .flatMap((stage) => {
      const ms = durationsMs[stage]
      return ms === undefined ? [] : [`${stage} ${seconds(ms)}`]
    })
    .join(', ')
}

function listText(run: RunDetails): string | null {
  if (run.bytes === null) return null
  const same = run.notModified ? '; the upstream answered 304, not modified' : ''
  return `${count(run.fetched)} routes in ${megabytes(run.bytes)}${same}`
}

function countsText(run: RunDetails): string {
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

function heldEffectText({
  wouldAdd,
  wouldRemove,
}: Pick<Run, 'wouldAdd' | 'wouldRemove'>): string | null {
  if (wouldAdd === null) return null
  return `it would add ${count(wouldAdd)}, remove ${count(wouldRemove)}`
}

function numbersText(numbers: Readonly<Record<string, number | null>>): string {
  return Object.entries(numbers)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${name} ${count(value)}`)
    .join(', ')
}

function resolutionOf({ resolution, resolvedAt, resolvedBy }: RunDetails): string | null {
  if (resolution === null) return null
  const by = resolvedBy === null ? '' : ` by run ${resolvedBy}`
  return `${resolution}${by} at ${timeText(resolvedAt ?? 0)}`
}

type Outcome = Omit<SyncOutcome, 'durationsMs'>

/** The outcome of a run as one sentence. */
export function syncSentence(outcome: Outcome): string {
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

function effectText(outcome: Outcome): string {
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
