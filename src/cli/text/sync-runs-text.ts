import type { SyncOutcome } from '../../routes/runs.ts'
import type { Item } from '../api-client.ts'
import {
  type Columns,
  count,
  countOf,
  hangingIndent,
  present,
  printable,
  timeText,
} from './text-format.ts'

type Run = Item<'GET /sync-runs'>

export const RUN_COLUMNS: Columns<Run> = {
  run: 'runId',
  list: 'list',
  status: 'status',
  arrived: ({ arrivedAt, startedAt }) => arrivedAt ?? startedAt,
  reason: ({ reason, baseline }) => reason?.text ?? (baseline ? 'the baseline' : ''),
  added: ({ list, added, gained }) => (list === 'routes' ? added : gained),
  removed: ({ list, removed, lost }) => (list === 'routes' ? removed : lost),
  live: 'live',
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

function heldEffectText({
  wouldAdd,
  wouldRemove,
}: Pick<Run, 'wouldAdd' | 'wouldRemove'>): string | null {
  if (wouldAdd === null) return null
  return `it would add ${count(wouldAdd)}, remove ${count(wouldRemove)}`
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
  const changed = outcome.placesChanged ?? 0
  const isOfRoutes = outcome.list === 'routes'
  const moves = isOfRoutes
    ? [`${count(outcome.added)} added`, `${count(outcome.removed)} removed`]
    : [`${count(outcome.gained)} gained`, `${count(outcome.lost)} lost`]
  return present(
    ...(outcome.baseline ? [] : moves),
    isOfRoutes && changed > 0 && !outcome.baseline && `${countOf(changed, 'place')} changed`,
    pending > 0 && `${countOf(pending, 'absence')} pending`,
    places > 0 && `new attributes of ${countOf(places, 'place')} pending`,
    `${count(outcome.live)} ${isOfRoutes ? 'live' : 'available'}`,
  ).join(', ')
}
