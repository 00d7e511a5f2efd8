import { longestGapMs } from '../../base/cron.ts'
import { durationText } from '../../base/text.ts'
import { listSchedules } from '../../schedules/schedules.ts'
import { ENDPOINT_GROUPS } from '../../upstream/breaker/breaker-state.ts'
import { readHealth } from '../../upstream/breaker/breaker-store.ts'
import type { Status } from '../../verify/read/read-status.ts'
import { schedulesOf } from '../settings-for.ts'
import { type DoctorDeps, type Finding, ok, warning, wrong } from './doctor-finding.ts'

/** A tick enqueues due schedules every five seconds. */
const OVERDUE_MS = 120_000
/** The age of a list is a fault when the lists of two due times are missing and the second sync has had time to end. */
const MISSED_LISTS = 2
const SYNC_MS = 600_000
const STALE_SHARE = 0.1
/** With a smaller usable part of the budget there is a warning. */
const WARNING_SHARE = 0.8
/** With a longer expected interval of a fare there is a warning. */
const LONG_INTERVAL_MS = 3_600_000

/** Whether each schedule exists, is carried out, and brings accepted lists. */
export async function examineSchedules(
  deps: DoctorDeps,
  { lists, at }: Status,
): Promise<Finding[]> {
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

export function examineIncidents({ incidents, at }: Status): Finding[] {
  if (incidents.length === 0) return [ok('incidents', 'none is open')]
  return incidents.map(({ kind, openedAt }) => {
    const since = durationText(at.getTime() - openedAt.getTime())
    return kind === 'mass_loss'
      ? wrong(
          'incidents',
          `mass_loss for ${since}: losses are held`,
          'bin/farewatch incidents list',
        )
      : wrong(
          'incidents',
          `${kind} for ${since}: losses are held, and checks use a tenth of the budget`,
          'bin/farewatch upstream probe',
        )
  })
}

export function examineBudget({ budget, upstream, beliefs }: Status): Finding[] {
  if (budget === null) return []
  const { requestsPerSecond, share, used } = budget
  const says = `${requestsPerSecond} requests a second, of which ${percent(share)} may be used; checks used ${percent(used)} in the last full minute`
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

/** Whether the upstream accepts our credential and answers, judged by recent requests. Sends no request. */
export function examineUpstream(
  { given }: DoctorDeps,
  { upstream, beliefs, at }: Status,
): Finding[] {
  if (given.UPSTREAM_BASE_URL === undefined) {
    return [
      warning(
        'upstream',
        'UPSTREAM_BASE_URL is not set: the sandbox is used',
        'set it to get real fares',
      ),
    ]
  }
  const findings = upstream.openBreakers.map(({ endpoint, breaker, since }) => {
    const ms = durationText(at.getTime() - since.getTime())
    return breaker === 'auth'
      ? wrong(
          'credential',
          `the upstream refuses it for ${endpoint}, for ${ms}`,
          'put a new one into UPSTREAM_ACCESS_TOKEN, test it with bin/farewatch upstream probe --flight ID, restart the workers',
        )
      : wrong(
          'upstream',
          `requests to ${endpoint} fail, for ${ms}; only probes are sent`,
          'bin/farewatch upstream probe --flight ID',
        )
  })
  if (given.UPSTREAM_ACCESS_TOKEN === undefined) {
    const level = beliefs.fares > 0 ? wrong : warning
    findings.push(
      level(
        'credential',
        'UPSTREAM_ACCESS_TOKEN is not set: fares cannot be checked',
        'set it, or UPSTREAM_ACCESS_TOKEN_FILE',
      ),
    )
  }
  // During a pause the finding about the budget says until when.
  if (findings.length > 0 || upstream.pausedUntil !== null) return findings
  return [ok('upstream', 'it answers requests'), ok('credential', 'set and accepted')]
}

export function examineBeliefs({ beliefs }: Status): Finding[] {
  const { fares, stale, unanswered, ageSeconds } = beliefs
  if (fares === 0) return [ok('fares', 'none is tracked')]
  const ages =
    ageSeconds === null
      ? 'none had a good check yet'
      : `half had a good check within ${durationText(ageSeconds.p50 * 1000)}, 99 % within ${durationText(ageSeconds.p99 * 1000)}`
  const says = `${fares} are tracked; ${ages}; ${stale} are stale, ${unanswered} had no good check yet`
  if (stale <= STALE_SHARE * fares) return [ok('fares', says)]
  return [
    wrong(
      'fares',
      says,
      'bin/farewatch sql "select last_reason, count(*) from farewatch.availability_current where stale group by 1"',
    ),
  ]
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`
}

const RECENT_MS = 600_000

/**
 * Whether the credential was refused recently but is not now. If one of several processes has an old credential, each of
 * its requests is refused, and the requests of the others close the circuit breaker again.
 */
export async function examineRefusals({ app }: DoctorDeps): Promise<Finding[]> {
  const { breakers, nowMs } = await readHealth(app.database.db)
  return ENDPOINT_GROUPS.flatMap((endpoint) => {
    const { open, closedAtMs } = breakers[endpoint].auth
    const agoMs = closedAtMs === null ? Number.POSITIVE_INFINITY : nowMs - closedAtMs
    if (open !== null || agoMs > RECENT_MS) return []
    const says = `the upstream last refused a credential for ${endpoint} ${durationText(Math.max(0, agoMs))} ago`
    const todo =
      'run bin/farewatch doctor again; if this remains, a worker has an old credential: restart it'
    return [warning('credential', says, todo)]
  })
}
