import type { Overview } from '../../app/read-overview.ts'
import {
  breakerText,
  checksStopText,
  heldText,
  pauseText,
  processText,
  sinceText,
  unkeptText,
} from '../../app/state-text.ts'
import { durationText } from '../../platform/base/text.ts'
import type { BudgetLimit } from '../../upstream/budget/budget-limit.ts'
import {
  areMostUnknown,
  deliveryLateMs,
  isAlmostFull,
  isOverdue,
  isTickLate,
  longRoundMs,
} from '../../views/status-limits.ts'
import type { QueueState } from '../../views/status-shapes.ts'
import { freeText, isPausedNow, missingRoles } from '../../views/work-warnings.ts'
import { agoText, count, countOf, hangingIndent, printable, secondText } from './text-format.ts'

/** The state of everything in about twenty lines, problems in capitals. */
export function statusText(overview: Overview, width: number): string {
  const { at, versions } = overview
  const head = `farewatch ${versions.farewatch}, PostgreSQL ${versions.postgresql}, ${secondText(at)} UTC`
  const none = overview.processes.length === 0
  const lines: [string, string][] = [
    ...(none
      ? [['processes', 'NONE RUNS: what follows is how the last one left it'] as [string, string]]
      : []),
    [
      'routes',
      `${count(overview.routes.live)} live, ${count(overview.routes.available)} available`,
    ],
    ...listLines(overview),
    ...heldLines(overview),
    ...fareLines(overview),
    ...delayLines(overview),
    ...overview.unkeptMaxDelays.map((one): [string, string] => [
      '',
      `MAX DELAYS of ${one.reseller} NOT KEPT: ${unkeptText(one)}`,
    ]),
    ...budgetLines(overview),
    ...callLines(overview),
    ['upstream', upstreamText(overview)],
    ...pauseLines(overview),
    ['incidents', incidentsText(overview)],
    ...queueLines(overview.queue, at),
    ...processLines(overview),
    ...feedLines(overview),
    ['deliveries', deliveriesText(overview)],
    ...diskLines(overview),
  ]
  const body = lines.map(([name, text]) => hangingIndent(name.padEnd(11), printable(text), width))
  return [head, '', ...body].join('\n')
}

function listLines(overview: Overview): [string, string][] {
  const { lists, at } = overview
  const isPaused = isPausedNow(overview, 'syncs')
  return lists.map(({ list, lastSuccessAt, lastAttemptAt, nextDueAt: due }) => {
    const accepted =
      lastSuccessAt === null ? 'NEVER ACCEPTED' : `accepted ${agoText(lastSuccessAt, at)}`
    const tried =
      lastAttemptAt === null || (lastSuccessAt !== null && lastAttemptAt <= lastSuccessAt)
        ? ''
        : `, tried ${agoText(lastAttemptAt, at)}`
    return ['', `${list}: ${accepted}${tried}${due === null || isPaused ? '' : nextText(due, at)}`]
  })
}

function nextText(due: Date, at: Date): string {
  const text = dueText(due, at)
  return text.startsWith('OVERDUE') ? `, ${text}` : `, next ${text}`
}

/** "in 42 min", "now" or "OVERDUE 5 min". */
export function dueText(due: Date, at: Date): string {
  const ms = due.getTime() - at.getTime()
  if (ms >= 0) return `in ${durationText(ms)}`
  return isOverdue(due, at) ? `OVERDUE ${durationText(-ms)}` : 'now'
}

function heldLines({ heldRuns }: Overview): [string, string][] {
  return heldRuns.map(({ runId, list, reason }) => [
    '',
    `HELD run ${runId} of ${list}: ${reason?.text ?? 'no reason given'}`,
  ])
}

function fareLines({ beliefs }: Overview): [string, string][] {
  const { fares, stale, silent, unanswered, ageSeconds } = beliefs
  if (fares === 0) return [['fares', 'none watched']]
  const notes = [
    ...(stale > 0 ? [`${count(stale)} stale`] : []),
    ...(silent > 0 ? [`${count(silent)} with unusable answers`] : []),
    ...(unanswered > 0 ? [`${count(unanswered)} without a good check`] : []),
  ]
  const head = `${count(fares)} watched${notes.length === 0 ? '' : `: ${notes.join(', ')}`}`
  if (ageSeconds === null) return [['fares', head]]
  const within = (seconds: number) => durationText(seconds * 1000)
  const { p50, p90, p99, max } = ageSeconds
  const ages = `half checked within ${within(p50)}, 90 % ${within(p90)}, 99 % ${within(p99)}, all ${within(max)}`
  return [
    ['fares', head],
    ['', ages],
  ]
}

function delayLines({ detectionDelays, contradicted, at }: Overview): [string, string][] {
  const [all, ...groups] = detectionDelays ?? []
  // With one priority its line would say the same again.
  const shown = groups.length > 1 ? groups : []
  const delays = [...(all === undefined ? [] : [all]), ...shown].map((delay) => {
    const { priority, changes, midpointSeconds, atMostSeconds } = delay
    const times = [midpointSeconds.p50, midpointSeconds.p95].map(shortText)
    const whose = priority === 'all' ? '' : ` of ${priority} priority`
    return `${countOf(changes, 'change')} in a day${whose}: half detected within about ${times[0]}, 95 % within ${times[1]} (at most ${shortText(atMostSeconds.p95)})`
  })
  const waits = contradicted?.waits.map(({ wait, fares, since }) => {
    const oldest = durationText(at.getTime() - since.getTime())
    return `${count(fares)} ${WAITS[wait]}, the oldest for ${oldest}`
  })
  const waiting = waits === undefined ? [] : [`not recorded yet: ${waits.join('; ')}`]
  return [...delays, ...waiting].map((text) => ['', text])
}

const WAITS = { confirmation: 'to be confirmed', late: 'LATE', held: 'held' } as const

/** Tenths below ten seconds, because a delay may be short. */
function shortText(seconds: number): string {
  return seconds < 10 ? `${seconds.toFixed(1)} s` : durationText(seconds * 1000)
}

function pauseLines({ pauses, at }: Overview): [string, string][] {
  return pauses.map((one, i) => [i === 0 ? 'pauses' : '', pauseText(one, at)])
}

function budgetLines(overview: Overview): [string, string][] {
  const { budget } = overview
  if (budget === null) return []
  const { requestsPerSecond, share, used, checksLastMinute, unknownLastMinute, limit } = budget
  const spendable = share < 1 ? `, ONLY ${percent(share)} may be spent` : ''
  // The last whole minute says nothing about checks that have been stopped since.
  const stop = checksStopText(overview)
  const use = stop === null ? `${percent(used)} used${spendable}` : `checks STOPPED: ${stop}`
  const roundMs = longRoundMs(overview)
  const round =
    roundMs === null ? '' : `; TOO SMALL: one check of all fares takes ${durationText(roundMs)}`
  const unknown = unknownLastMinute === 0 ? '' : `, ${count(unknownLastMinute)} of them unknown`
  return [
    ['budget', `${requestsPerSecond} requests a second, ${use}${round}`],
    ...(limit === null ? [] : [['', limitText(limit)] as [string, string]]),
    ['', `${countOf(checksLastMinute, 'check')} in the last whole minute${unknown}`],
  ]
}

function limitText({ requestsPerSecond, until, reason, by }: BudgetLimit): string {
  return `LIMITED to ${requestsPerSecond} requests a second until ${secondText(until)} UTC: ${reason} (${by})`
}

const SHOWN_CALLERS = 5

/** Where the calls of the last hour went. One reseller alone, or one priority, would say nothing. */
function callLines({ callsLastHour }: Overview): [string, string][] {
  const { byLane, byReseller, byPriority } = callsLastHour
  const total = byLane.reduce((sum, { calls }) => sum + calls, 0)
  const shares = (rows: readonly { readonly name: string; readonly calls: number }[]) =>
    rows.map(({ name, calls }) => `${name} ${percent(calls / total)}`).join(', ')
  const lanes = byLane.map(({ lane, calls }) => ({ name: lane.replaceAll('_', ' '), calls }))
  const resellers = byReseller.flatMap(({ reseller, calls }) =>
    reseller === null ? [] : [{ name: reseller, calls }],
  )
  const priorities = byPriority.flatMap(({ priority, calls }) =>
    priority === null ? [] : [{ name: priority, calls }],
  )
  return [
    ...(lanes.length === 0 ? [] : [`calls of the last hour: ${shares(lanes)}`]),
    ...(resellers.length < 2 ? [] : [`by reseller: ${shares(resellers.slice(0, SHOWN_CALLERS))}`]),
    ...(priorities.length < 2 ? [] : [`by priority: ${shares(priorities)}`]),
  ].map((text) => ['', text])
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`
}

function upstreamText({ upstream, budget, at }: Overview): string {
  const { pausedUntil, openBreakers } = upstream
  const parts = [
    ...(pausedUntil === null
      ? []
      : [
          `PAUSED until ${secondText(pausedUntil)} UTC (${durationText(pausedUntil.getTime() - at.getTime())})`,
        ]),
    ...openBreakers.map((open) => {
      const { endpoint, breaker } = open
      const what =
        breaker === 'auth' ? `${endpoint} REFUSES OUR CREDENTIAL` : `calls to ${endpoint} FAIL`
      return `${what}${breakerText(open, at)}`
    }),
  ]
  if (parts.length > 0) return parts.join('; ')
  return areMostUnknown(budget) ? 'MOST CHECKS are unknown' : 'no trouble'
}

function incidentsText({ incidents, held, at }: Overview): string {
  const open = incidents.map(
    ({ kind, openedAt }) => `${kind.toUpperCase()} since ${sinceText(openedAt, at)}`,
  )
  const waiting = held.map((one) => heldText(one, at))
  return [...(open.length === 0 ? ['none open'] : open), ...waiting].join('; ')
}

function queueLines({ kind, fault, lastTick, queues }: QueueState, at: Date): [string, string][] {
  const store = kind === 'redis' ? 'Redis' : 'PostgreSQL'
  if (fault !== null) return [['queue', `NO ANSWER: ${fault}`]]
  const ticked = lastTick === null ? 'NO TICK YET' : tickText(lastTick.at, at)
  const figures = queues.map(({ queue, waiting, active, delayed, dead }): [string, string] => [
    '',
    `${queue}: ${count(waiting)} waiting, ${count(active)} active, ${count(delayed)} delayed${deadText(dead)}`,
  ])
  return [['queue', `in ${store}, ${ticked}`], ...figures]
}

/** Endpoints that their resellers paused receive nothing on purpose, so they are no problem. */
function deliveriesText({ deliveries, at }: Overview): string {
  const { pending, dead, diedLastHour, endpoints, disabled, failingForHours } = deliveries
  const { paused = 0, gone = 0, failing = 0 } = disabled
  const enabled = endpoints.healthy + endpoints.busy + endpoints.failing
  if (enabled + paused + gone + failing === 0) return 'no endpoints'
  const lateMs = deliveryLateMs(deliveries, at)
  const late = lateMs === null ? '' : `, the oldest LATE by ${durationText(lateMs)}`
  const died = diedLastHour === 0 ? '' : ` (${count(diedLastHour)} DIED in the last hour)`
  const hours = failingForHours === 0 ? '' : ` (${count(failingForHours)} for hours)`
  const notes = [
    ...(endpoints.failing > 0 ? [`${count(endpoints.failing)} FAILING${hours}`] : []),
    ...(gone + failing > 0 ? [`${count(gone + failing)} DISABLED`] : []),
    ...(paused > 0 ? [`${count(paused)} paused`] : []),
  ]
  return `${count(pending)} pending${late}, ${count(dead)} dead${died}; ${[`${countOf(enabled, 'endpoint')} enabled`, ...notes].join(', ')}`
}

function tickText(tickedAt: Date, at: Date): string {
  return isTickLate(tickedAt, at)
    ? `NO TICK for ${durationText(at.getTime() - tickedAt.getTime())}`
    : `last tick ${agoText(tickedAt, at)}`
}

function deadText(dead: number): string {
  return dead === 0 ? '' : `, ${count(dead)} DEAD`
}

function processLines({ processes, at }: Overview): [string, string][] {
  if (processes.length === 0) return []
  const missing = missingRoles(processes, at)
  const lacking = missing.length === 0 ? [] : [`NO PROCESS for ${missing.join(', ')}`]
  const texts = [...processes.map((one) => processText(one, at)), ...lacking]
  return texts.map((text, i) => [i === 0 ? 'processes' : '', text])
}

/** A disk with enough space is no news. */
function diskLines({ disk }: Overview): [string, string][] {
  return disk !== null && isAlmostFull(disk) ? [['disk', `ONLY ${freeText(disk)}`]] : []
}

const FEED_NAMES: Readonly<Record<string, string>> = {
  route: 'routes',
  availability: 'fares',
  watch: 'resellers',
}

function feedLines({ feeds, at }: Overview): [string, string][] {
  const parts = feeds.map(({ feed, lastSeq, lastRecordAt }) => {
    const last = lastRecordAt === 0 ? '' : ` (${agoText(new Date(lastRecordAt * 1000), at)})`
    return `${FEED_NAMES[feed] ?? feed} ${count(lastSeq)}${last}`
  })
  return parts.length === 0 ? [] : [['changes', parts.join(', ')]]
}
