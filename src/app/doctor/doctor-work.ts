import { longestGapMs } from '../../base/cron.ts'
import { durationText } from '../../base/text.ts'
import { listSchedules } from '../../schedules/schedules.ts'
import type { Status } from '../../verify/read/read-status.ts'
import { schedulesOf } from '../settings-for.ts'
import { type DoctorDeps, type Finding, look, ok, wrong } from './doctor-finding.ts'

/** A tick every five seconds takes what is due. */
const OVERDUE_MS = 120_000
/** Lists of two slots may be missing before their age is a fault, and the time that the second one's sync takes. */
const MISSED_SLOTS = 2
const SYNC_MS = 600_000
const STALE_SHARE = 0.1
const SHARE_TO_LOOK_AT = 0.8
/** A fare that is asked less often than this is hardly watched. */
const LONG_TURN_MS = 3_600_000

/** Whether each schedule exists, is carried out, and has brought what it is for. */
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
        wrong(
          'schedules',
          `${name} is not in its table yet`,
          'start a worker: it saves the schedules',
        ),
      )
      continue
    }
    const overdueMs = at.getTime() - found.nextDueAt.getTime()
    if (overdueMs > OVERDUE_MS) {
      const says = `${name} is overdue for ${durationText(overdueMs)}: no worker takes it`
      findings.push(
        wrong(
          'schedules',
          says,
          'start a worker; a running one tells at its /readyz why it does not',
        ),
      )
      continue
    }
    // What is embedded has a schedule of its own.
    if (deps.given.UPSTREAM_BASE_URL !== undefined && found.cron !== cron) {
      const says = `${name} runs by "${found.cron}", but "${cron}" is configured here`
      findings.push(look('schedules', says, 'restart the workers, or mend this configuration'))
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
    const says = `${list} was never accepted`
    return [held === 0 && !first ? wrong('lists', says, todo) : look('lists', `${says} yet`, todo)]
  }
  const ageMs = now.getTime() - lastSuccessAt.getTime()
  const says = `${list} of ${durationText(ageMs)} ago is the last accepted`
  const late = ageMs > MISSED_SLOTS * longestGapMs(cron, now) + SYNC_MS
  if (!late) return [ok('lists', says)]
  // What is held waits for a person, who is told of it by its own line.
  return held > 0
    ? [look('lists', says, 'bin/farewatch sync review')]
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
          `${kind} for ${since}: losses are held, checks go at a tenth`,
          'bin/farewatch upstream probe',
        )
  })
}

export function examineBudget({ budget, upstream, beliefs }: Status): Finding[] {
  if (budget === null) return []
  const { requestsPerSecond, share, used } = budget
  const says = `${requestsPerSecond} requests a second, ${percent(share)} may be spent; checks took ${percent(used)} of the last whole minute`
  if (upstream.pausedUntil !== null) {
    const until = upstream.pausedUntil.toISOString()
    return [
      look(
        'budget',
        `the upstream asked for a pause until ${until}`,
        'bin/farewatch upstream probe tells its limits',
      ),
    ]
  }
  if (share < SHARE_TO_LOOK_AT) {
    return [look('budget', says, 'ask less: lower UPSTREAM_REQUESTS_PER_SECOND, or agree on more')]
  }
  const turnMs = (1000 * beliefs.fares) / requestsPerSecond
  if (turnMs > LONG_TURN_MS) {
    const turn = `${beliefs.fares} fares have a turn in ${durationText(turnMs)}`
    return [
      look('budget', `${says}; ${turn}`, 'raise UPSTREAM_REQUESTS_PER_SECOND as far as is agreed'),
    ]
  }
  return [ok('budget', says)]
}

/** Whether the upstream lets us in, and answers; by what its last calls met, without a call of our own. */
export function examineUpstream(
  { given }: DoctorDeps,
  { upstream, beliefs, at }: Status,
): Finding[] {
  if (given.UPSTREAM_BASE_URL === undefined) {
    return [
      look(
        'upstream',
        'UPSTREAM_BASE_URL is not set: a sandbox stands in',
        'set it for real fares',
      ),
    ]
  }
  const findings = upstream.openBreakers.map(({ endpoint, breaker, since }) => {
    const ms = durationText(at.getTime() - since.getTime())
    return breaker === 'auth'
      ? wrong(
          'credential',
          `the upstream refuses it for ${endpoint}, for ${ms}`,
          'put a new one where UPSTREAM_ACCESS_TOKEN points, try it by bin/farewatch upstream probe --flight ID, restart the workers',
        )
      : wrong(
          'upstream',
          `calls of ${endpoint} fail, for ${ms}; probes go on`,
          'bin/farewatch upstream probe --flight ID',
        )
  })
  if (given.UPSTREAM_ACCESS_TOKEN === undefined) {
    const level = beliefs.fares > 0 ? wrong : look
    findings.push(
      level(
        'credential',
        'UPSTREAM_ACCESS_TOKEN is not set: no fare can be asked',
        'set it, or UPSTREAM_ACCESS_TOKEN_FILE',
      ),
    )
  }
  // The line about the budget tells of a pause, and until when.
  if (findings.length > 0 || upstream.pausedUntil !== null) return findings
  return [
    ok('upstream', 'its last calls were answered'),
    ok('credential', 'set, and not refused now'),
  ]
}

export function examineBeliefs({ beliefs }: Status): Finding[] {
  const { fares, stale, unanswered, ageSeconds } = beliefs
  if (fares === 0) return [ok('fares', 'none is watched')]
  const ages =
    ageSeconds === null
      ? 'none was ever well answered'
      : `half were checked within ${durationText(ageSeconds.p50 * 1000)}, 99 % within ${durationText(ageSeconds.p99 * 1000)}`
  const says = `${fares} are watched; ${ages}; ${stale} stale, ${unanswered} never answered`
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
