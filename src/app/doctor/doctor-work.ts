import { readDeliveryState } from '../../delivery/dispatch/delivery-gauges.ts'
import { listUnreached, type UnreachedEndpoint } from '../../delivery/endpoints/endpoint-queries.ts'
import { HELD_BY } from '../../platform/base/change-kinds.ts'
import { type CronTimes, longestGapMs } from '../../platform/base/cron.ts'
import { durationText } from '../../platform/base/text.ts'
import { countPastDepartures } from '../../views/fare-operations.ts'
import { deliveryLateMs, LIMITS, longRoundMs } from '../../views/status-limits.ts'
import type { Status } from '../../views/status-shapes.ts'
import { isForgotten, isPausedNow } from '../../views/work-warnings.ts'
import { listAllSchedulers } from '../periodic.ts'
import { schedulesOf, syncNameOf } from '../settings-for.ts'
import { checksStopText, heldText, pauseText, sinceText, unkeptText } from '../state-text.ts'
import { type DoctorDeps, type Finding, ok, warning, wrong } from './doctor-finding.ts'

/** A worker begins what is due within seconds. */
const OVERDUE_MS = 120_000
/** The age of a list is a fault when the lists of two due times are missing and the second sync has had time to end. */
const MISSED_LISTS = 2
const SYNC_MS = 600_000
/** A smaller usable part of the budget is a warning. */
const WARNING_SHARE = 0.8

/** Whether each schedule exists, is carried out, and brings accepted lists. */
export async function examineSchedules(deps: DoctorDeps, status: Status): Promise<Finding[]> {
  const { lists, at } = status
  // The pause is a finding of its own.
  if (isPausedNow(status, 'syncs')) return []
  // A store that does not answer is a finding of its own.
  const saved = await listAllSchedulers(deps.queue).catch(() => undefined)
  if (saved === undefined) return []
  const findings: Finding[] = []
  const due: string[] = []
  for (const { list: listName, times } of schedulesOf(deps.app.config)) {
    const name = syncNameOf(listName)
    const found = saved.find((one) => one.name === name)
    if (found === undefined || 'everyMs' in found.times) {
      const says = `${name} is not in the queue`
      findings.push(wrong('schedules', says, 'start a worker, which writes the schedules'))
      continue
    }
    const overdueMs = at.getTime() - found.nextDueAt.getTime()
    if (overdueMs > OVERDUE_MS) {
      const says = `${name} is overdue for ${durationText(overdueMs)}: no worker runs it`
      findings.push(
        wrong('schedules', says, 'start a worker; /readyz of a running worker shows the cause'),
      )
      continue
    }
    // The sandbox has schedules of its own.
    const [inQueue, here] = [timesText(found.times), timesText(times)]
    if (deps.given.UPSTREAM_BASE_URL !== undefined && inQueue !== here) {
      const says = `${name} runs by "${inQueue}", but "${here}" is configured here`
      findings.push(
        warning('schedules', says, 'restart the workers, or correct this configuration'),
      )
    }
    due.push(overdueMs >= 0 ? `${name} now` : `${name} in ${durationText(-overdueMs)}`)
    const list = lists.find((one) => one.list === listName)
    if (list !== undefined) findings.push(...listFindings(list, { times: found.times, now: at }))
  }
  return due.length === 0 ? findings : [ok('schedules', `due: ${due.join(', ')}`), ...findings]
}

function timesText({ pattern, zone }: CronTimes): string {
  return `${pattern} ${zone}`
}

function listFindings(
  { list, lastSuccessAt, lastAttemptAt, held }: Status['lists'][number],
  { times, now }: { times: CronTimes; now: Date },
): Finding[] {
  const todo = `bin/farewatch sync runs --list ${list} --limit 5; then bin/farewatch sync --list ${list}`
  if (lastSuccessAt === null) {
    const first = lastAttemptAt === null || now.getTime() - lastAttemptAt.getTime() < SYNC_MS
    const says = `no ${list} list was ever accepted`
    return [held === 0 && !first ? wrong('lists', says, todo) : warning('lists', says, todo)]
  }
  const ageMs = now.getTime() - lastSuccessAt.getTime()
  const says = `the last accepted ${list} list is ${durationText(ageMs)} old`
  const late = ageMs > MISSED_LISTS * longestGapMs(times, now) + SYNC_MS
  if (!late) return [ok('lists', says)]
  // A held list has a finding of its own.
  return held > 0
    ? [warning('lists', says, 'bin/farewatch sync review')]
    : [wrong('lists', says, todo)]
}

export function examineHeldRuns({ heldRuns, at }: Status): Finding[] {
  if (heldRuns.length === 0) return [ok('held runs', 'none')]
  return heldRuns.map(({ runId, list, since, reason }) => {
    const age = durationText(at.getTime() - since.getTime())
    const says = `run ${runId} of ${list} is held for ${age}: ${reason?.text ?? 'no reason given'}`
    return wrong('held runs', says, `bin/farewatch sync review ${runId}`)
  })
}

export function examineIncidents(status: Status): Finding[] {
  const { incidents, at } = status
  if (incidents.length === 0) return [ok('incidents', 'none is open')]
  return incidents.map(({ kind, openedAt }) =>
    wrong(
      'incidents',
      `${kind} since ${sinceText(openedAt, at)}: changes of the kind ${HELD_BY[kind]} are held`,
      'bin/farewatch incidents list',
    ),
  )
}

/** What a mass holds stays unknown until it is confirmed. Every hold ends by itself. */
export function examineHeld({ held, at }: Status): Finding[] {
  return held.map((one) =>
    warning('held changes', heldText(one, at), 'bin/farewatch incidents list'),
  )
}

const RAISE_BUDGET =
  'raise UPSTREAM_REQUESTS_PER_SECOND within the agreed limit; bin/farewatch budget plan --fares N --delay 5m says how far'

export function examineBudget(status: Status): Finding[] {
  const { budget, upstream, beliefs } = status
  if (budget === null) return []
  const { requestsPerSecond, share, used, limit } = budget
  const roundMs = longRoundMs(status)
  const round = `one check of all ${beliefs.fares} fares takes ${durationText(roundMs ?? 0)}`
  if (limit !== null) {
    const until = limit.until.toISOString()
    const says = `operators allow ${limit.requestsPerSecond} of ${requestsPerSecond} requests a second until ${until}: ${limit.reason}`
    const todo = 'bin/farewatch budget limit --off'
    return [
      roundMs === null ? warning('budget', says, todo) : wrong('budget', `${says}; ${round}`, todo),
    ]
  }
  const stop = checksStopText(status)
  const use = stop ?? `checks used ${percent(used)} in the last whole minute`
  const says = `${requestsPerSecond} requests a second, of which ${percent(share)} may be used; ${use}`
  if (upstream.pausedUntil !== null) {
    const until = upstream.pausedUntil.toISOString()
    return [
      warning(
        'budget',
        `the upstream asked for a pause until ${until}`,
        'bin/farewatch upstream probe shows its limits',
      ),
    ]
  }
  if (share < WARNING_SHARE) {
    return [
      warning(
        'budget',
        says,
        'lower UPSTREAM_REQUESTS_PER_SECOND, or agree on a higher limit with the upstream',
      ),
    ]
  }
  if (roundMs !== null) return [wrong('budget', `${says}; ${round}`, RAISE_BUDGET)]
  return [ok('budget', says)]
}

/** What operators have paused, now or at a planned time. */
export function examinePauses({ pauses, at }: Status): Finding[] {
  return pauses.map((one) => {
    if (!one.running) return ok('pauses', pauseText(one, at))
    const level = isForgotten(one, at) ? wrong : warning
    return level('pauses', pauseText(one, at), `bin/farewatch resume ${one.what}`)
  })
}

export function examineBeliefs(status: Status): Finding[] {
  const { beliefs } = status
  const { fares, stale, silent, unanswered, ageSeconds } = beliefs
  if (fares === 0) return [ok('fares', 'none is tracked')]
  const ages =
    ageSeconds === null
      ? 'none had a good check yet'
      : `half had a good check within ${durationText(ageSeconds.p50 * 1000)}, 99 % within ${durationText(ageSeconds.p99 * 1000)}`
  const says = `${fares} are tracked; ${ages}; ${stale} are stale, ${silent} have unusable answers, ${unanswered} had no good check yet`
  if (stale <= LIMITS.staleShare * fares) return [ok('fares', says)]
  const level = isPausedNow(status, 'checks') ? warning : wrong
  return [
    level(
      'fares',
      says,
      'bin/farewatch sql "select last_reason, count(*) from farewatch.fares_current where stale group by 1"',
    ),
  ]
}

/** A departure that is past at first sight is a wrong answer, or a watch of a flight that is gone. */
export async function examineDepartures({ app }: DoctorDeps): Promise<Finding[]> {
  const past = await countPastDepartures(app.database.db)
  if (past === 0) return []
  const says = `the upstream answers with a departure in the past for ${past} fares; nothing of that is believed`
  const todo = `bin/farewatch sql "select fare_id, flight_id from farewatch.fares_current where last_reason = 'contract_violation'"`
  return [warning('departures', says, todo)]
}

/** A finding names so many endpoints at most. */
const NAMED_ENDPOINTS = 5

/** Whether deliveries wait that could be sent or have died, and which endpoints receive nothing. */
export async function examineDeliveries(
  { app }: DoctorDeps,
  status: Pick<Status, 'pauses'>,
): Promise<Finding[]> {
  const { db } = app.database
  const state = await readDeliveryState(db)
  const { pending, dead, diedLastHour, endpoints, disabled, failingForHours } = state
  const { gone = 0, failing = 0 } = disabled
  const now = app.clock.now()
  const lateMs = isPausedNow(status, 'deliveries') ? null : deliveryLateMs(state, now)
  const unreached = gone + failing + failingForHours
  const named = unreached === 0 ? [] : await listUnreached(db, NAMED_ENDPOINTS)
  const names = named.map((one) => unreachedText(one, now)).join(', ')
  const more = unreached > named.length ? `, and ${unreached - named.length} more` : ''
  const level = failingForHours > 0 ? wrong : warning
  const found: readonly (Finding | false)[] = [
    lateMs !== null &&
      wrong(
        'deliveries',
        `deliveries that could be sent wait for ${durationText(lateMs)}`,
        SEE_LOG,
      ),
    unreached > 0 &&
      level('deliveries', `endpoints receive nothing: ${names}${more}`, ASK_RESELLER),
    diedLastHour > 0 &&
      wrong('deliveries', `${diedLastHour} ended without success in the last hour`, SEE_DEAD),
  ]
  const findings = found.filter((one) => one !== false)
  if (findings.length > 0) return findings
  const says = `${pending} wait, none is late, ${dead} are dead; endpoints whose last attempt failed: ${endpoints.failing}`
  return [ok('deliveries', says)]
}

const SEE_LOG = 'see the log of the worker: "tick failed"'
const ASK_RESELLER =
  'ask the reseller to repair the receiver, and to enable the endpoint or to delete it; bin/farewatch endpoints test ID --reseller NAME tries it'
const SEE_DEAD =
  'bin/farewatch deliveries list --state dead shows why; bin/farewatch deliveries replay sends them again'

function unreachedText({ id, reseller, reason, failingSince }: UnreachedEndpoint, now: Date) {
  const why =
    reason === null
      ? `every attempt has failed since ${sinceText(failingSince ?? now, now)}`
      : { gone: 'answered 410', failing: 'failed for five days' }[reason]
  return `${id} of ${reseller} (${why})`
}

/** Which resellers have longest delays that are not kept. */
export function examineMaxDelays({ unkeptMaxDelays }: Status): Finding[] {
  return unkeptMaxDelays.map((unkept) =>
    wrong('max delays', `${unkept.reseller}: ${unkeptText(unkept)}`, RAISE_SHARE),
  )
}

const RAISE_SHARE =
  'raise the share of the reseller or UPSTREAM_REQUESTS_PER_SECOND, or lower MIN_INTERVAL_SECONDS'

function percent(share: number): string {
  return `${Math.round(share * 100)} %`
}
