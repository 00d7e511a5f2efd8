import { CHANGE_KINDS, MASS_KINDS, massOf } from '../platform/base/change-kinds.ts'
import { PAUSED_WORK } from '../platform/base/kinds.ts'
import { aheadText, durationText } from '../platform/base/text.ts'
import { UNLIKE_SUM } from '../upstream/flights/answer-habits.ts'
import {
  areMostUnknown,
  deliveryLateMs,
  hasWrongClock,
  isAlmostFull,
  isForgotten,
  isOverdue,
  isPausedNow,
  isTickLate,
  isWithoutProgress,
  LIMITS,
  lateChanges,
  longRoundMs,
  missingRoles,
} from './limits.ts'
import type { Status, StatusWarning } from './status-shapes.ts'
import { endpointText, freeText, ofFares, rolesText, unkeptText } from './warning-text.ts'

/** What a check found. `bad`: an operator must act. */
export interface Found extends Partial<Pick<StatusWarning, 'subject' | 'since' | 'until'>> {
  readonly level: StatusWarning['level']
  readonly text: string
}

/** An alert that wakes a person. */
interface Alert {
  readonly name: string
  /** How long the check must fail. */
  readonly after: string
  /** What happens if no operator acts. */
  readonly otherwise: string
}

/**
 * One thing that can be wrong, by what `Reading` shows. Its section of the runbooks has the name of its code, unless
 * several share one.
 */
export interface Check<Reading> {
  readonly about: StatusWarning['about']
  readonly runbook?: string
  /** The command that shows more. */
  readonly command: string
  readonly todo: string
  /** Unset: what is bad is part of the alert FarewatchDegraded. */
  readonly alert?: Alert
  /** Wakes a person, by an alert on what Prometheus alone sees. */
  readonly wakes?: true
  readonly find: (reading: Reading) => readonly Found[]
}

export type Checks<Reading> = Readonly<Record<string, Check<Reading>>>

/** What the status shows, without the judgement. */
export type StatusReading = Omit<Status, 'warnings'>
type StatusChecks = Checks<StatusReading>
type More = Omit<Found, 'level' | 'text'>

export function warn(text: string, more: More = {}): Found {
  return { level: 'warn', text, ...more }
}

export function bad(text: string, more: More = {}): Found {
  return { level: 'bad', text, ...more }
}

/** The warnings of some checks, the worst first. */
export function judge<Reading>(checks: Checks<Reading>, reading: Reading): StatusWarning[] {
  const found = Object.entries(checks).flatMap(([code, { about, command, todo, find }]) =>
    find(reading).map(({ level, text, subject = null, since = null, until = null }) => {
      const help = { command: `bin/farewatch ${command}`, todo }
      return { about, code, level, subject, text, since, until, ...help }
    }),
  )
  return worstFirst(found)
}

export function worstFirst(warnings: readonly StatusWarning[]): StatusWarning[] {
  return warnings.toSorted((a, b) => Number(a.level === 'warn') - Number(b.level === 'warn'))
}

const PAUSED = {
  checks: { about: 'fares', text: 'No fare is checked' },
  syncs: { about: 'routes', text: 'No list is fetched' },
  deliveries: { about: 'deliveries', text: 'Nothing is delivered' },
} as const

/** What operators have paused. A pause that was planned and has not begun is none. */
const PAUSES: StatusChecks = Object.fromEntries(
  PAUSED_WORK.map((what) => [
    `${what}_paused`,
    {
      about: PAUSED[what].about,
      command: 'audit list',
      todo: `"bin/farewatch resume ${what}" ends it.`,
      find: ({ pauses, at }) =>
        pauses
          .filter((one) => one.running && one.what === what)
          .map((one) => {
            const why = one.reason === null ? '' : `: ${one.reason}`
            const level = isForgotten(one, at) ? bad : warn
            return level(`${PAUSED[what].text}, as operators have paused it${why}.`, {
              since: one.from,
              until: one.until,
            })
          }),
    },
  ]),
)

/** A list that is later than this will not come by itself. */
const LONG_OVERDUE_MS = 600_000
/** A sync and its repetitions end within this time. */
const SYNC_MS = 120_000

type ListState = Status['lists'][number]

/** The lists whose syncs should run, each with how late it is. */
function lateLists(status: StatusReading) {
  if (isPausedNow(status, 'syncs')) return []
  return status.lists.map((list) => {
    const { nextDueAt: due } = list
    const isLate = due !== null && isOverdue(due, status.at)
    return { ...list, lateMs: isLate ? status.at.getTime() - due.getTime() : null }
  })
}

/** Whether the last sync of a list, if it has had its time, brought none. A held list has a warning of its own. */
function hasFailed({ held, lastAttemptAt, lastSuccessAt }: ListState, at: Date): boolean {
  if (held > 0 || lastAttemptAt === null) return false
  const isNew = lastAttemptAt.getTime() - (lastSuccessAt?.getTime() ?? 0) > SYNC_MS
  return isNew && at.getTime() - lastAttemptAt.getTime() > SYNC_MS
}

const LISTS: StatusChecks = {
  list_overdue: {
    about: 'routes',
    command: 'schedules list',
    todo: 'Start a worker, or restart one that makes no progress.',
    find: (status) =>
      lateLists(status).flatMap(({ list, lateMs, nextDueAt }) => {
        if (lateMs === null) return []
        const text = `The list ${list} was due ${durationText(lateMs)} ago and was not fetched.`
        const level = lateMs > LONG_OVERDUE_MS ? bad : warn
        return [level(text, { subject: list, since: nextDueAt })]
      }),
  },
  list_never_accepted: {
    about: 'routes',
    command: 'runs list --limit 5',
    todo: 'The runs show why; "bin/farewatch sync" fetches the lists now.',
    find: (status) =>
      lateLists(status).flatMap((one) => {
        if (one.lateMs !== null || one.lastSuccessAt !== null) return []
        const text = `No list ${one.list} has been accepted yet`
        const subject = { subject: one.list }
        return [
          hasFailed(one, status.at)
            ? bad(`${text}: the last sync failed.`, subject)
            : warn(`${text}.`, subject),
        ]
      }),
  },
  list_failing: {
    about: 'routes',
    command: 'runs list --limit 5',
    todo: 'The runs show why; "bin/farewatch sync" fetches the lists now.',
    find: (status) =>
      lateLists(status).flatMap((one) => {
        const { list, held, lateMs, lastSuccessAt: since, intervalSeconds } = one
        if (lateMs !== null || since === null || held > 0) return []
        const ageMs = status.at.getTime() - since.getTime()
        const areMissed =
          intervalSeconds !== null && ageMs > 1_000 * LIMITS.missedLists * intervalSeconds
        if (!areMissed && !hasFailed(one, status.at)) return []
        const level = areMissed ? bad : warn
        const text = `Syncs of the list ${list} fail: the accepted one is ${durationText(ageMs)} old.`
        return [level(text, { subject: list, since })]
      }),
  },
  list_held: {
    about: 'held',
    command: 'runs review',
    todo: 'Approve the list if it is true, reject it if it is an accident. The next normal list drops it.',
    find: ({ heldRuns }) =>
      heldRuns.map(({ runId, list, since, lists, reason, rejectedAt }) => {
        const agree = lists === 1 ? '' : `, with which ${lists} lists agree,`
        const state = rejectedAt === null ? 'waits for a decision' : 'is like the rejected one'
        const says = `Run ${runId} of the list ${list}${agree} ${state}`
        const text = `${says}: ${reason?.text ?? 'no reason given'}.`
        return (rejectedAt === null ? bad : warn)(text, { subject: list, since })
      }),
  },
}

const FARES: StatusChecks = {
  fares_stale: {
    about: 'fares',
    command:
      'sql "select last_reason, count(*) from farewatch.fares_current where stale group by 1"',
    todo: 'The reasons show the cause; no reason: the budget is too small.',
    alert: {
      name: 'BeliefsStale',
      after: '15m',
      otherwise: 'resellers read these fares as unknown, and their changes are detected late.',
    },
    find: (status) => {
      const { fares, stale } = status.beliefs
      if (stale === 0) return []
      const text = `${stale} of ${ofFares(fares)} ${stale === 1 ? 'is' : 'are'} too old to rely on.`
      const areMany = stale >= LIMITS.staleFares && stale > LIMITS.staleShare * fares
      const mustAct = areMany || stale > LIMITS.staleMost * fares
      return [(mustAct && !isPausedNow(status, 'checks') ? bad : warn)(text)]
    },
  },
  fares_unanswered: {
    about: 'fares',
    command: 'upstream probe',
    todo: 'New fares are checked within minutes; the probe shows how the upstream answers.',
    find: ({ beliefs: { fares, stale, unanswered } }) =>
      stale > 0 || unanswered === 0
        ? []
        : [warn(`${unanswered} of ${ofFares(fares)} had no good check yet.`)],
  },
  fares_silent: {
    about: 'fares',
    command: 'upstream probe',
    todo: 'Report the unusable answers to the upstream.',
    find: ({ beliefs: { fares, silent, silentReason } }) =>
      silent === 0
        ? []
        : [
            warn(
              `The last answers of ${silent} of ${ofFares(fares)} were unusable, mostly ${silentReason}: shown as unknown.`,
            ),
          ],
  },
  max_delays_unkept: {
    about: 'delay',
    command: 'resellers list',
    todo: 'Raise the share of the reseller or UPSTREAM_REQUESTS_PER_SECOND, or lower MIN_INTERVAL_SECONDS.',
    find: ({ unkeptMaxDelays }) =>
      unkeptMaxDelays.map((unkept) => {
        const { reseller } = unkept
        const text = `The longest delays of ${reseller} are not kept: ${unkeptText(unkept)}.`
        return bad(text, { subject: reseller })
      }),
  },
  changes_late: {
    about: 'delay',
    command:
      'sql "select flight_id, contradicted_since, last_reason from farewatch.fares_current where contradicted_since < now() - interval \'5 minutes\' and held_since is null order by 2 limit 20"',
    todo: 'A reason shows unusable answers; no reason: confirmations wait for a slot, or each answer shows another flight.',
    find: (status) => {
      const late = isPausedNow(status, 'checks') ? null : lateChanges(status)
      if (late === null) return []
      const text = `Changes of ${ofFares(late.fares)} have waited for their confirmation for over 5 minutes.`
      return [bad(text, { since: late.since })]
    },
  },
}

const PROBE = {
  about: 'upstream',
  command: 'upstream probe',
  todo: 'If the probe fails too, report it to the upstream: the work goes on by itself.',
} as const

/** The open breakers of one kind. */
function openBreakers({ upstream }: StatusReading, kind: 'auth' | 'errors', text: string): Found[] {
  return upstream.openBreakers
    .filter(({ breaker }) => breaker === kind)
    .map(({ endpoint, cause, lastGoodAt, since }) => {
      const why = cause === null ? '' : ` (${cause})`
      const good =
        lastGoodAt === null ? '' : `, the last good answer came at ${lastGoodAt.toISOString()}`
      return bad(`${text.replace('{}', endpoint)}${why}${good}. Single calls test it.`, { since })
    })
}

const UPSTREAM: StatusChecks = {
  upstream_paused: {
    about: 'upstream',
    command: 'status',
    todo: 'It ends by itself. Do not call the upstream by other means until then.',
    find: ({ upstream: { pausedUntil }, at }) =>
      pausedUntil !== null && pausedUntil > at
        ? [warn('The upstream asked for a pause.', { until: pausedUntil })]
        : [],
  },
  credential_refused: {
    ...PROBE,
    wakes: true,
    todo: 'Write a new one into the file of UPSTREAM_ACCESS_TOKEN_FILE, or set UPSTREAM_ACCESS_TOKEN and restart.',
    find: (status) => openBreakers(status, 'auth', 'The upstream refuses our credential for {}'),
  },
  calls_failing: {
    ...PROBE,
    wakes: true,
    find: (status) => openBreakers(status, 'errors', 'Calls of {} fail'),
  },
  checks_unknown: {
    ...PROBE,
    find: ({ upstream, budget }) =>
      upstream.pausedUntil === null && upstream.openBreakers.length === 0 && areMostUnknown(budget)
        ? [warn('Most checks of the last minute had no good answer.')]
        : [],
  },
  answers_unusual: {
    about: 'upstream',
    command: 'answers list',
    todo: 'Accept what the upstream always sends, or report it.',
    find: ({ unusualAnswers }) =>
      (unusualAnswers ?? []).map(({ name, answers, firstSeenAt: since }) => {
        const had = answers === 1 ? '1 answer' : `${answers} answers`
        const text =
          name === UNLIKE_SUM
            ? `${had} had a total that is not the sum of its passengers: it counts as no price.`
            : `${had} had "${name}", which the interface does not have: they count for no loss.`
        return warn(text, { subject: name, since })
      }),
  },
}

const BUDGET: StatusChecks = {
  budget_too_small: {
    about: 'budget',
    command: 'budget plan --fares 20000 --delay 15m',
    todo: 'Raise UPSTREAM_REQUESTS_PER_SECOND within the agreed limit, or watch fewer fares.',
    find: (status) => {
      const roundMs = longRoundMs(status)
      if (roundMs === null) return []
      return [bad(`One check of ${ofFares(status.beliefs.fares)} takes ${durationText(roundMs)}.`)]
    },
  },
  budget_limit: {
    about: 'budget',
    command: 'audit list',
    todo: '"bin/farewatch budget limit --off" ends it.',
    find: ({ budget }) => {
      if (budget === null || budget.limit === null) return []
      const { requestsPerSecond, reason, until } = budget.limit
      const whole = `${budget.requestsPerSecond} requests a second`
      return [warn(`Operators allow ${requestsPerSecond} of ${whole}: ${reason}.`, { until })]
    },
  },
  budget_limited: {
    about: 'budget',
    command: 'upstream probe',
    todo: 'If it lasts, lower UPSTREAM_REQUESTS_PER_SECOND to what the upstream allows.',
    // A pause has a warning of its own.
    find: ({ budget, upstream }) => {
      if (budget === null || budget.share === 1 || upstream.pausedUntil !== null) return []
      const share = `${Math.round(budget.share * 100)} %`
      return [
        warn(`The upstream allows ${share} of ${budget.requestsPerSecond} requests a second.`),
      ]
    },
  },
}

const MASSES: StatusChecks = Object.fromEntries(
  MASS_KINDS.map((kind) => [
    kind,
    {
      about: 'incidents',
      runbook: 'mass',
      command: 'incidents list',
      todo: 'Compare with the selling site: report wrong answers to the upstream. If they are true, do nothing.',
      alert: {
        name: 'MassIncident',
        after: '5m',
        otherwise: 'what waits is recorded after MASS_HOLD_MINUTES, also if the answers are wrong.',
      },
      find: ({ incidents }) =>
        incidents
          .filter((one) => one.kind === kind)
          .map(({ openedAt }) => bad(massOf(kind).warning, { since: openedAt })),
    },
  ]),
)

const HELD: StatusChecks = {
  changes_held: {
    about: 'held',
    runbook: 'mass',
    command: 'incidents list',
    todo: 'Each hold ends by itself.',
    find: ({ held }) =>
      held.map(({ kind, fares, since, until }) => {
        const wait = `${ofFares(fares)} ${fares === 1 ? 'waits' : 'wait'}`
        const text = `${wait}: ${CHANGE_KINDS[kind].label}; many change at once.`
        return warn(text, { since, until })
      }),
  },
}

const ENDPOINTS = {
  about: 'deliveries',
  command: 'endpoints list',
  todo: 'Ask the reseller to repair the receiver. What waits is sent once it works again.',
} as const

const DELIVERIES: StatusChecks = {
  deliveries_late: {
    about: 'deliveries',
    command: 'deliveries list',
    todo: 'Start a worker. The log of a running one shows why: "loop failed".',
    alert: {
      name: 'WebhooksLate',
      after: '5m',
      otherwise: 'resellers get their webhooks and messages late. The feeds have every record.',
    },
    find: (status) => {
      const { deliveries, at } = status
      const lateMs = isPausedNow(status, 'deliveries') ? null : deliveryLateMs(deliveries, at)
      if (lateMs === null) return []
      return [bad(`Deliveries that could be sent have waited ${durationText(lateMs)}.`)]
    },
  },
  endpoints_failing_for_hours: {
    ...ENDPOINTS,
    find: ({ deliveries: { failingForHours, unreached } }) => {
      if (failingForHours === 0) return []
      const known = unreached.filter(({ forHours }) => forHours)
      return [bad(`Every attempt to ${endpointText(failingForHours, known)} has failed for hours.`)]
    },
  },
  deliveries_dying: {
    about: 'deliveries',
    command: 'deliveries list --state dead',
    todo: 'Repair the cause, then send them again with "bin/farewatch deliveries replay".',
    find: ({ deliveries: { diedLastHour } }) => {
      if (diedLastHour === 0) return []
      const died = diedLastHour === 1 ? '1 delivery' : `${diedLastHour} deliveries`
      return [bad(`In the last hour ${died} ended without success.`)]
    },
  },
  endpoints_failing: {
    ...ENDPOINTS,
    command: 'deliveries list --state pending',
    find: ({ deliveries: { endpoints, failingForHours, unreached } }) => {
      const failing = endpoints.failing - failingForHours
      if (failing <= 0) return []
      const known = unreached.filter(({ reason, forHours }) => reason === null && !forHours)
      return [warn(`The last attempts to ${endpointText(failing, known)} failed.`)]
    },
  },
  endpoints_disabled: {
    ...ENDPOINTS,
    todo: 'Ask the reseller to repair the receiver and to enable the endpoint, or to delete it.',
    find: ({ deliveries: { disabled, unreached } }) => {
      const broken = (disabled.gone ?? 0) + (disabled.failing ?? 0)
      if (broken === 0) return []
      const known = unreached.filter(({ reason }) => reason !== null)
      const named = endpointText(broken, known)
      return [warn(`Nothing is sent to ${named}: disabled, gone or failing too long.`)]
    },
  },
}

const STOPPED = {
  about: 'work',
  runbook: 'work_stopped',
  command: 'doctor',
  todo: 'Start a worker, or restart one that makes no progress. Its log shows why it ended.',
  alert: {
    name: 'WorkStopped',
    after: '5m',
    otherwise:
      'lists, checks or deliveries stand still. What is due is in PostgreSQL and not lost.',
  },
} as const

const WORK: StatusChecks = {
  database_read_only: {
    about: 'work',
    runbook: 'database_trouble',
    command: 'doctor',
    todo: 'Wait for the end of a failover, or name the primary in DATABASE_URL. Work waits, and reads go on.',
    wakes: true,
    find: ({ readOnly }) => (readOnly ? [bad('PostgreSQL takes no writes now.')] : []),
  },
  queue_down: {
    about: 'work',
    command: 'doctor',
    todo: 'Start Redis, or correct REDIS_URL. No work is lost: the tables hold what is due.',
    alert: {
      name: 'RedisDown',
      after: '3m',
      otherwise: 'lists and checks stand still. The API and deliveries go on.',
    },
    find: ({ queue }) =>
      queue === null || queue.fault === null
        ? []
        : [bad(`The queue does not answer: ${queue.fault}.`)],
  },
  no_tick: {
    ...STOPPED,
    find: ({ queue, at }) => {
      if (queue === null || queue.fault !== null) return []
      if (queue.lastTick !== null && !isTickLate(queue.lastTick.at, at)) return []
      return [bad('No worker runs the regular work.', { since: queue.lastTick?.at ?? null })]
    },
  },
  jobs_dead: {
    about: 'work',
    command: 'jobs list',
    todo: 'Retry them if the cause has passed. Drop them if a later run has done the work.',
    find: ({ queue }) => {
      const dead = queue?.queues.filter((one) => one.dead > 0) ?? []
      if (dead.length === 0) return []
      const named = dead.map((one) => `${one.dead} of ${one.queue}`).join(', ')
      return [bad(`Dead jobs: ${named}.`)]
    },
  },
  no_process: {
    ...STOPPED,
    find: ({ processes }) => (processes?.length === 0 ? [bad('No worker and no API runs.')] : []),
  },
  role_missing: {
    ...STOPPED,
    find: ({ processes, at }) => {
      if (processes === null || processes.length === 0) return []
      const missing = missingRoles(processes, at)
      return missing.length === 0 ? [] : [bad(`No process has these roles: ${missing.join(', ')}.`)]
    },
  },
  process_silent: {
    about: 'work',
    command: 'status',
    todo: 'Restart it. One that is gone is forgotten after a day, or when its host starts it again.',
    find: ({ processes, at }) =>
      (processes ?? [])
        .filter((one) => isWithoutProgress(one, at))
        .map((one) =>
          warn(`The ${rolesText(one)} makes no progress.`, { since: one.lastProgressAt }),
        ),
  },
  clock_wrong: {
    about: 'work',
    command: 'doctor',
    todo: 'Synchronize the clocks: timedatectl set-ntp true.',
    find: ({ processes, at }) =>
      (processes ?? [])
        .filter((one) => hasWrongClock(one, at))
        .map((one) => {
          const apart = aheadText(1_000 * (one.clockAheadSeconds ?? 0))
          return bad(`The clock of the ${rolesText(one)} is ${apart} that of the database.`)
        }),
  },
  disk_filling: {
    about: 'work',
    command: 'doctor',
    todo: 'Free some space or use a larger disk. Delete no file in the data directory of PostgreSQL.',
    alert: {
      name: 'DiskFilling',
      after: '10m',
      otherwise: 'PostgreSQL stops when the disk is full, and nothing can be recorded.',
    },
    find: ({ disk }) =>
      disk !== null && isAlmostFull(disk)
        ? [bad(`The disk of the database has ${freeText(disk)}.`)]
        : [],
  },
}

/** Each thing that the status can find wrong, by its code. */
export const STATUS_CHECKS: StatusChecks = {
  ...PAUSES,
  ...LISTS,
  ...FARES,
  ...UPSTREAM,
  ...BUDGET,
  ...MASSES,
  ...HELD,
  ...DELIVERIES,
  ...WORK,
}
