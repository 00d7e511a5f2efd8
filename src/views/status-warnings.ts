import { massOf } from '../platform/base/change-kinds.ts'
import { durationText } from '../platform/base/text.ts'
import { UNLIKE_SUM } from '../upstream/flights/answer-habits.ts'
import {
  areMostUnknown,
  deliveryLateMs,
  isOverdue,
  LIMITS,
  lateChanges,
  longRoundMs,
} from './status-limits.ts'
import type { Status, StatusWarning } from './status-shapes.ts'
import {
  bad,
  diskWarnings,
  isPausedNow,
  pauseWarnings,
  processWarnings,
  queueWarnings,
  warn,
} from './work-warnings.ts'

/** What is judged: all that the status shows. */
type JudgedStatus = Omit<Status, 'warnings'>

/** A list that is later than this will not come by itself. */
const LONG_OVERDUE_MS = 600_000
/** A sync and its repetitions end within this time. */
const SYNC_MS = 120_000

/**
 * What is not well, the worst first. This is the one judgement of the status: the command line, the page and the API
 * show it, each in its own way.
 */
export function warningsOf(status: JudgedStatus): StatusWarning[] {
  return [
    ...pauseWarnings(status),
    ...listWarnings(status),
    ...heldRunWarnings(status),
    ...fareWarnings(status),
    ...silenceWarnings(status),
    ...delayWarnings(status),
    ...upstreamWarnings(status),
    ...answerWarnings(status),
    ...budgetWarnings(status),
    ...incidentWarnings(status),
    ...heldWarnings(status),
    ...deliveryWarnings(status),
    ...queueWarnings(status.queue, status.at),
    ...processWarnings(status.processes ?? undefined, status.at),
    ...diskWarnings(status.disk),
  ].toSorted((a, b) => Number(a.level === 'warn') - Number(b.level === 'warn'))
}

/** Whether a sync that began then has ended. */
function isLongAgo(began: Date, at: Date): boolean {
  return at.getTime() - began.getTime() > SYNC_MS
}

function listWarnings(status: JudgedStatus): StatusWarning[] {
  const { lists, at } = status
  // The pause has a warning of its own.
  if (isPausedNow(status, 'syncs')) return []
  return lists.flatMap(({ list, lastSuccessAt, lastAttemptAt, nextDueAt, held }) => {
    const lateMs = nextDueAt === null ? 0 : at.getTime() - nextDueAt.getTime()
    const about = { about: 'routes', subject: list } as const
    const overdue = { ...about, code: 'list_overdue', since: nextDueAt } as const
    if (nextDueAt !== null && isOverdue(nextDueAt, at)) {
      const text = `The list ${list} was due ${durationText(lateMs)} ago and was not fetched.`
      return [lateMs > LONG_OVERDUE_MS ? bad(overdue, text) : warn(overdue, text)]
    }
    if (lastSuccessAt === null) {
      const never = { ...about, code: 'list_never_accepted' }
      const text = `No list ${list} has been accepted yet`
      // The first sync has had its time.
      const failed = held === 0 && lastAttemptAt !== null && isLongAgo(lastAttemptAt, at)
      return [failed ? bad(never, `${text}: the last sync failed.`) : warn(never, `${text}.`)]
    }
    // A held list has a warning of its own. A sync that has just begun has not failed.
    const tried = lastAttemptAt ?? lastSuccessAt
    const failed =
      held === 0 && tried.getTime() - lastSuccessAt.getTime() > SYNC_MS && isLongAgo(tried, at)
    if (!failed) return []
    const failing = { ...about, code: 'list_failing', since: lastSuccessAt }
    const age = durationText(at.getTime() - lastSuccessAt.getTime())
    return [
      bad(failing, `The last sync of the list ${list} failed: the accepted one is ${age} old.`),
    ]
  })
}

function heldRunWarnings({ heldRuns }: JudgedStatus): StatusWarning[] {
  return heldRuns.map(({ runId, list, since, lists, reason }) => {
    const agree = lists === 1 ? '' : `, with which ${lists} lists agree,`
    const says = `Run ${runId} of the list ${list}${agree} waits for a decision`
    return warn(
      { about: 'held', code: 'list_held', subject: String(runId), since },
      `${says}: ${reason?.text ?? 'no reason given'}.`,
    )
  })
}

function fareWarnings(status: JudgedStatus): StatusWarning[] {
  const { fares, stale, unanswered } = status.beliefs
  if (stale > 0) {
    const about = { about: 'fares', code: 'fares_stale' } as const
    const text = `${stale} of ${ofFares(fares)} ${stale === 1 ? 'is' : 'are'} too old to rely on.`
    const mustAct = stale > LIMITS.staleShare * fares && !isPausedNow(status, 'checks')
    return [mustAct ? bad(about, text) : warn(about, text)]
  }
  if (unanswered === 0) return []
  const text = `${unanswered} of ${ofFares(fares)} had no good check yet.`
  return [warn({ about: 'fares', code: 'fares_unanswered' }, text)]
}

function silenceWarnings({ beliefs }: JudgedStatus): StatusWarning[] {
  const { fares, silent, silentReason } = beliefs
  if (silent === 0) return []
  const text = `The last answers of ${silent} of ${ofFares(fares)} were unusable, mostly ${silentReason}: shown as unknown.`
  return [warn({ about: 'fares', code: 'fares_silent' }, text)]
}

function ofFares(n: number): string {
  return n === 1 ? '1 fare' : `${n} fares`
}

function delayWarnings(status: JudgedStatus): StatusWarning[] {
  const unkept = status.unkeptMaxDelays.map(({ reseller, fares }) =>
    bad(
      { about: 'delay', code: 'max_delays_unkept', subject: reseller },
      `The longest delays of ${reseller} are not kept: they concern ${ofFares(fares)}.`,
    ),
  )
  const late = isPausedNow(status, 'checks') ? null : lateChanges(status)
  if (late === null) return unkept
  const about = { about: 'delay', code: 'changes_late', since: late.since } as const
  const text = `Changes of ${ofFares(late.fares)} have waited for their confirmation for over 5 minutes.`
  return [...unkept, warn(about, text)]
}

function upstreamWarnings({ upstream, budget, at }: JudgedStatus): StatusWarning[] {
  const { pausedUntil, openBreakers } = upstream
  const paused = pausedUntil !== null && pausedUntil > at
  const found = [
    ...(paused
      ? [
          warn(
            { about: 'upstream', code: 'upstream_paused', until: pausedUntil },
            'The upstream asked for a pause.',
          ),
        ]
      : []),
    ...openBreakers.map(({ endpoint, breaker, since, cause }) => {
      const why = cause === null ? '' : ` (${cause})`
      const [code, text] =
        breaker === 'auth'
          ? (['credential_refused', `The upstream refuses our credential for ${endpoint}`] as const)
          : (['calls_failing', `Calls of ${endpoint} fail`] as const)
      return bad({ about: 'upstream', code, since }, `${text}${why}. Single calls test it.`)
    }),
  ]
  if (found.length > 0 || !areMostUnknown(budget)) return found
  const text = 'Most checks of the last minute had no good answer.'
  return [warn({ about: 'upstream', code: 'checks_unknown' }, text)]
}

function answerWarnings({ unusualAnswers }: JudgedStatus): StatusWarning[] {
  return (unusualAnswers ?? []).map(({ name, answers, firstSeenAt }) => {
    const had = answers === 1 ? '1 answer' : `${answers} answers`
    const text =
      name === UNLIKE_SUM
        ? `${had} had a total that is not the sum of its passengers: it counts as no price.`
        : `${had} had "${name}", which the interface does not have: they count for no loss.`
    return warn(
      { about: 'upstream', code: 'answers_unusual', subject: name, since: firstSeenAt },
      text,
    )
  })
}

function budgetWarnings(status: JudgedStatus): StatusWarning[] {
  const { budget, upstream, beliefs } = status
  if (budget === null) return []
  const { share, limit, requestsPerSecond } = budget
  const whole = `${requestsPerSecond} requests a second`
  const roundMs = longRoundMs(status)
  const about = 'budget'
  const found: readonly (StatusWarning | false)[] = [
    roundMs !== null &&
      bad(
        { about, code: 'budget_too_small' },
        `One check of ${ofFares(beliefs.fares)} takes ${durationText(roundMs)}.`,
      ),
    limit !== null &&
      warn(
        { about, code: 'budget_limit', until: limit.until },
        `Operators allow ${limit.requestsPerSecond} of ${whole}: ${limit.reason}.`,
      ),
    // A pause has a warning of its own.
    share < 1 &&
      upstream.pausedUntil === null &&
      warn(
        { about, code: 'budget_limited' },
        `The upstream allows ${Math.round(share * 100)} % of ${whole}.`,
      ),
  ]
  return found.filter((one) => one !== false)
}

function incidentWarnings({ incidents }: JudgedStatus): StatusWarning[] {
  return incidents.map(({ kind, openedAt }) =>
    bad({ about: 'incidents', code: kind, since: openedAt }, massOf(kind).warning),
  )
}

function heldWarnings({ held }: JudgedStatus): StatusWarning[] {
  return held.map(({ kind, fares, since, until }) =>
    warn(
      { about: 'held', code: 'changes_held', since, until },
      `${ofFares(fares)} ${fares === 1 ? 'waits' : 'wait'} with ${kind.replaceAll('_', ' ')}, as many change at once.`,
    ),
  )
}

function deliveryWarnings(status: JudgedStatus): StatusWarning[] {
  const { deliveries, at } = status
  const { endpoints, disabled, failingForHours, diedLastHour } = deliveries
  const lateMs = isPausedNow(status, 'deliveries') ? null : deliveryLateMs(deliveries, at)
  const failing = endpoints.failing - failingForHours
  const broken = (disabled.gone ?? 0) + (disabled.failing ?? 0)
  const about = 'deliveries'
  const died = diedLastHour === 1 ? '1 delivery' : `${diedLastHour} deliveries`
  const found: readonly (StatusWarning | false)[] = [
    lateMs !== null &&
      bad(
        { about, code: 'deliveries_late' },
        `Deliveries that could be sent have waited ${durationText(lateMs)}.`,
      ),
    failingForHours > 0 &&
      bad(
        { about, code: 'endpoints_failing_for_hours' },
        `Every attempt to ${ofEndpoints(failingForHours)} has failed for hours.`,
      ),
    diedLastHour > 0 &&
      bad({ about, code: 'deliveries_dying' }, `In the last hour ${died} ended without success.`),
    failing > 0 &&
      warn(
        { about, code: 'endpoints_failing' },
        `The last attempts to ${ofEndpoints(failing)} failed.`,
      ),
    broken > 0 &&
      warn(
        { about, code: 'endpoints_disabled' },
        `Nothing is sent to ${ofEndpoints(broken)}: disabled, gone or failing too long.`,
      ),
  ]
  return found.filter((one) => one !== false)
}

function ofEndpoints(n: number): string {
  return n === 1 ? '1 endpoint' : `${n} endpoints`
}
