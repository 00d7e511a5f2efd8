/** @typedef {import('./parts.js').Level} Level */

/** A list that is later than this is overdue: a sync may take some minutes. */
const OVERDUE_MS = 10 * 60_000
/** Above this share of checks without a good answer, something is wrong with the upstream. */
const SILENT_SHARE = 0.5

/**
 * How a list of routes is. `late`: it was to be fetched and was not. `failing`: the last attempts had no accepted list.
 * @param {{ nextDueAt: string | null, lastAttemptAt: string | null, lastSuccessAt: string | null }} list
 * @param {number} now in milliseconds
 * @returns {{ state: 'good' | 'never' | 'late' | 'failing', level: Level }}
 */
export function judgeList({ nextDueAt, lastAttemptAt, lastSuccessAt }, now) {
  if (nextDueAt !== null && now - Date.parse(nextDueAt) > OVERDUE_MS) {
    return { state: 'late', level: 'bad' }
  }
  if (lastSuccessAt === null) {
    return lastAttemptAt === null
      ? { state: 'never', level: 'idle' }
      : { state: 'failing', level: 'warn' }
  }
  const failingMs = Date.parse(lastAttemptAt ?? lastSuccessAt) - Date.parse(lastSuccessAt)
  return failingMs > OVERDUE_MS
    ? { state: 'failing', level: 'bad' }
    : { state: 'good', level: 'good' }
}

/**
 * How the upstream is. `silent`: most checks have no good answer. `unknown`: no call had an answer yet.
 * @param {any} status the answer of /status
 * @returns {{ state: 'failing' | 'paused' | 'silent' | 'unknown' | 'good', level: Level, silentShare: number }}
 */
export function judgeUpstream({ upstream, lists, beliefs, budget, at }) {
  const { pausedUntil, openBreakers } = upstream
  const silentShare = silentShareOf(budget)
  if (openBreakers.length > 0) return { state: 'failing', level: 'bad', silentShare }
  if (pausedUntil !== null && Date.parse(pausedUntil) > Date.parse(at)) {
    return { state: 'paused', level: 'warn', silentShare }
  }
  if (silentShare > SILENT_SHARE) return { state: 'silent', level: 'warn', silentShare }
  const hasAnswered =
    beliefs.ageSeconds !== null ||
    lists.some((/** @type {any} */ list) => list.lastSuccessAt !== null)
  return hasAnswered
    ? { state: 'good', level: 'good', silentShare }
    : { state: 'unknown', level: 'idle', silentShare }
}

/** The share of the checks of the last minute that had no good answer. @param {any} budget */
export function silentShareOf(budget) {
  return budget?.checksLastMinute > 0 ? budget.unknownLastMinute / budget.checksLastMinute : 0
}
