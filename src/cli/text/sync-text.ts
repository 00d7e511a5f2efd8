import type { SyncOutcome } from '../../routes/runs/sync-run.ts'
import { count, countOf, pick, printable } from './text-format.ts'

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
      return `${what} held for review, nothing applied${reason}${joinedText(outcome)}`
    default:
      return `${what} ${status}, nothing applied${reason}`
  }
}

function joinedText({ runId, reviewId }: SyncOutcome): string {
  return (reviewId ?? runId) === runId ? '' : `; it agrees with run ${reviewId}`
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
