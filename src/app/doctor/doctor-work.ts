import { readDeliveryState } from '../../delivery/dispatch/delivery-gauges.ts'
import { listDisabled } from '../../delivery/endpoints/endpoint-queries.ts'
import { isMassKind } from '../../fares/hold/incidents.ts'
import { longestGapMs } from '../../platform/base/cron.ts'
import { HELD_BY } from '../../platform/base/kinds.ts'
import { durationText } from '../../platform/base/text.ts'
import { listSchedules } from '../../platform/ticks/schedules.ts'
import { countPastDepartures } from '../../views/fare-operations.ts'
import type { Status } from '../../views/status-shapes.ts'
import { deliveryLateMs } from '../../views/status-warnings.ts'
import { isPausedNow } from '../../views/work-warnings.ts'
import { schedulesOf } from '../settings-for.ts'
import { checksStopText, heldText, pauseText, sinceText } from '../state-text.ts'
import { type DoctorDeps, type Finding, ok, warning, wrong } from './doctor-finding.ts'

/** A tick enqueues due schedules within five seconds. */
const OVERDUE_MS = 120_000
/** The age of a list is a fault when the lists of two due times are missing and the second sync has had time to end. */
const MISSED_LISTS = 2
const SYNC_MS = 600_000
const STALE_SHARE = 0.1
/** A smaller usable part of the budget is a warning. */
const WARNING_SHARE = 0.8
/** A longer expected interval of a fare is a warning. */
const LONG_INTERVAL_MS = 3_600_000

/** Whether each schedule exists, is carried out, and brings accepted lists. */
export async function examineSchedules(deps: DoctorDeps, status: Status): Promise<Finding[]> {
  const { lists, at } = status
  // The pause is a finding of its own.
  if (isPausedNow(status, 'syncs')) return []
  const saved = await listSchedules(deps.app.database.db)
  const findings: Finding[] = []
  const due: string[] = []
  for (const { name, cron, payload } of schedulesOf(deps.app.config)) {
    const found = saved.find((one) => one.name === name)
    if (found === undefined) {
      findings.push(
        wrong('schedules', `${name} is not saved yet`, 'start a worker, which saves the schedules'),
      )
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
    if (deps.given.UPSTREAM_BASE_URL !== undefined && found.cron !== cron) {
      const says = `${name} runs by "${found.cron}", but "${cron}" is configured here`
      findings.push(
        warning('schedules', says, 'restart the workers, or correct this configuration'),
      )
    }
    due.push(overdueMs >= 0 ? `${name} now` : `${name} in ${durationText(-overdueMs)}`)
    const list = lists.find((one) => one.list === payload.list)
    if (list !== undefined) findings.push(...listFindings(list, { cron: found.cron, now: at }))
  }
  return due.length === 0 ? findings : [ok('schedules', `due: ${due.join(', ')}`), ...findings]
}

function listFindings(
  { list, lastSuccessAt, lastAttemptAt, held }: Status['lists'][number],
  { cron, now }: { cron: string; now: Date },
): Finding[] {
  const todo = `bin/farewatch sync runs --list ${list} --limit 5; then bin/farewatch sync --list ${list}`
  if (lastSuccessAt === null) {
    const first = lastAttemptAt === null || now.getTime() - lastAttemptAt.getTime() < SYNC_MS
    const says = `no ${list} list was ever accepted`
    return [held === 0 && !first ? wrong('lists', says, todo) : warning('lists', says, todo)]
  }
  const ageMs = now.getTime() - lastSuccessAt.getTime()
  const says = `the last accepted ${list} list is ${durationText(ageMs)} old`
  const late = ageMs > MISSED_LISTS * longestGapMs(cron, now) + SYNC_MS
  if (!late) return [ok('lists', says)]
  // A held list has a finding of its own.
  return held > 0
    ? [warning('lists', says, 'bin/farewatch sync review')]
    : [wrong('lists', says, todo)]
}

export function examineHeldRuns({ heldRuns, at }: Status): Finding[] {
  if (heldRuns.length === 0) return [ok('held runs', 'none')]
  return heldRuns.map(({ runId, list, fetchedAt, reason }) => {
    const since =
      fetchedAt === null ? '' : ` for ${durationText(at.getTime() - fetchedAt.getTime())}`
    const says = `run ${runId} of ${list} is held${since}: ${reason?.text ?? 'no reason given'}`
    return wrong('held runs', says, `bin/farewatch sync review ${runId}`)
  })
}

export function examineIncidents(status: Status): Finding[] {
  const { incidents, at } = status
  if (incidents.length === 0) return [ok('incidents', 'none is open')]
  const stop = checksStopText(status)
  const checks = stop === null ? 'checks use a tenth of the budget' : `no fare is checked: ${stop}`
  return incidents.map(({ kind, openedAt }) => {
    const since = sinceText(openedAt, at)
    return isMassKind(kind)
      ? wrong(
          'incidents',
          `${kind} since ${since}: changes of the kind ${HELD_BY[kind]} are held`,
          'bin/farewatch incidents list',
        )
      : wrong('incidents', `${kind} since ${since}: ${checks}`, 'bin/farewatch upstream probe')
  })
}

/** What a mass holds stays unknown until it is confirmed. Every hold ends by itself. */
export function examineHeld({ held, at }: Status): Finding[] {
  return held.map((one) =>
    warning('held changes', heldText(one, at), 'bin/farewatch incidents list'),
  )
}

export function examineBudget(status: Status): Finding[] {
  const { budget, upstream, beliefs } = status
  if (budget === null) return []
  const { requestsPerSecond, share, used, limit } = budget
  if (limit !== null) {
    const until = limit.until.toISOString()
    const says = `operators allow ${limit.requestsPerSecond} of ${requestsPerSecond} requests a second until ${until}: ${limit.reason}`
    return [warning('budget', says, 'bin/farewatch budget limit --off')]
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
  const intervalMs = (1000 * beliefs.fares) / requestsPerSecond
  if (intervalMs > LONG_INTERVAL_MS) {
    const interval = `one check of all ${beliefs.fares} fares takes ${durationText(intervalMs)}`
    return [
      warning(
        'budget',
        `${says}; ${interval}`,
        'raise UPSTREAM_REQUESTS_PER_SECOND within the agreed limit',
      ),
    ]
  }
  return [ok('budget', says)]
}

/** What operators have paused, now or at a planned time. */
export function examinePauses({ pauses, at }: Status): Finding[] {
  return pauses.map((one) =>
    one.running
      ? warning('pauses', pauseText(one, at), `bin/farewatch resume ${one.what}`)
      : ok('pauses', pauseText(one, at)),
  )
}

export function examineBeliefs(status: Status): Finding[] {
  const { beliefs } = status
  const { fares, stale, unanswered, ageSeconds } = beliefs
  if (fares === 0) return [ok('fares', 'none is tracked')]
  const ages =
    ageSeconds === null
      ? 'none had a good check yet'
      : `half had a good check within ${durationText(ageSeconds.p50 * 1000)}, 99 % within ${durationText(ageSeconds.p99 * 1000)}`
  const says = `${fares} are tracked; ${ages}; ${stale} are stale, ${unanswered} had no good check yet`
  if (stale <= STALE_SHARE * fares) return [ok('fares', says)]
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
  const todo = `bin/farewatch sql "select tracked_fare_id, flight_id from farewatch.fares_current where last_reason = 'contract_violation'"`
  return [warning('departures', says, todo)]
}

/** A finding names so many disabled endpoints at most. */
const NAMED_ENDPOINTS = 5

/** Whether deliveries wait that could be sent, and which endpoints receive nothing because they are gone or failed. */
export async function examineDeliveries(
  { app }: DoctorDeps,
  status: Pick<Status, 'pauses'>,
): Promise<Finding[]> {
  const { db } = app.database
  const state = await readDeliveryState(db)
  const { pending, dead, endpoints, disabled } = state
  const isPaused = isPausedNow(status, 'deliveries')
  const lateMs = isPaused ? null : deliveryLateMs(state, app.clock.now())
  const findings: Finding[] = []
  if (lateMs !== null) {
    const says = `deliveries that could be sent wait for ${durationText(lateMs)}`
    findings.push(wrong('deliveries', says, 'see the log of the worker: "tick failed"'))
  }
  const { gone = 0, failing = 0 } = disabled
  if (gone + failing > 0) {
    const named = (await listDisabled(db, NAMED_ENDPOINTS)).map(
      ({ id, reseller, reason }) =>
        `${id} of ${reseller} (${reason === 'gone' ? 'answered 410' : 'failed for five days'})`,
    )
    const more = gone + failing - named.length
    const others = more > 0 ? `, and ${more} more` : ''
    const says = `endpoints receive nothing: ${named.join(', ')}${others}`
    const todo = 'ask the reseller to enable the endpoint or to delete it'
    findings.push(warning('deliveries', says, todo))
  }
  if (findings.length > 0) return findings
  const says = `${pending} wait, none is late, ${dead} are dead; endpoints whose last attempt failed: ${endpoints.failing}`
  return [ok('deliveries', says)]
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`
}
