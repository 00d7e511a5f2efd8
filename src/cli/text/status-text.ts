import { pauseText, processText } from '../../health/state-text.ts'
import type { StatusWarning } from '../../health/status-shapes.ts'
import { durationText, shortText } from '../../platform/base/text.ts'
import type { Answer, Sent } from '../api-client.ts'
import {
  agoText,
  count,
  countOf,
  hangingIndent,
  present,
  printable,
  secondText,
} from './text-format.ts'

type Status = Answer<'GET /status'>
type Calls = Answer<'GET /budget/calls'>
/** A warning as it is judged, or as JSON has it. */
type Warning = StatusWarning | Sent<StatusWarning>
type Line = readonly [name: string, text: string]

/** What is wrong, and the state of everything in about twenty lines. */
export function statusText(status: Status, calls: Calls, width: number): string {
  const { at, versions, warnings } = status
  const head = `farewatch ${versions.farewatch}, PostgreSQL ${versions.postgresql}, ${secondText(at)} UTC`
  const lines: readonly Line[] = [
    ...routeLines(status),
    ...fareLines(status),
    ...delayLines(status),
    ...budgetLines(status, calls),
    ...plannedLines(status),
    ...queueLines(status),
    ...processLines(status),
    ...feedLines(status),
    ['deliveries', deliveriesText(status)],
    ...demoLines(status),
  ]
  const body = lines.map(([name, text]) => hangingIndent(name.padEnd(11), printable(text), width))
  return [head, '', warningsText(warnings, width), '', ...body].join('\n')
}

const WORDS = { bad: 'WRONG', warn: 'warning' } as const
const COLOURS = { bad: '\x1b[31m', warn: '\x1b[33m' } as const
const RESET = '\x1b[0m'

/** Each warning with its times, and below it what shows more and what to do; then how many there are. */
export function warningsText(warnings: readonly Warning[], width: number): string {
  const of = (level: Warning['level']) => warnings.filter((one) => one.level === level).length
  const minor = of('warn') === 0 ? '' : `, ${countOf(of('warn'), 'warning')}`
  const total = of('bad') === 0 ? `nothing is wrong${minor}` : `${of('bad')} wrong${minor}`
  return [...warnings.map((one) => warningText(one, width)), total].join('\n')
}

function warningText(warning: Warning, width: number): string {
  const { level, code, text, since, until, command, todo } = warning
  const word = WORDS[level].padEnd(9)
  const times = present(
    since && `since ${secondText(since)} UTC`,
    until && `until ${secondText(until)} UTC`,
  )
  const says = `${code}: ${text}${times.length === 0 ? '' : ` (${times.join(', ')})`}`
  const line = hangingIndent(word, printable(says), width)
  const shown =
    process.stdout.isTTY === true
      ? `${COLOURS[level]}${word}${RESET}${line.slice(word.length)}`
      : line
  const help = present(command, todo)
  return [shown, ...help.map((one) => hangingIndent(`${' '.repeat(9)}→ `, one, width))].join('\n')
}

function routeLines({ routes, lists, at: read }: Status): Line[] {
  const at = new Date(read)
  const live =
    routes === null
      ? 'not known'
      : `${count(routes.live)} live, ${count(routes.available)} available`
  const each = lists.map(({ list, lastSuccessAt, lastAttemptAt, nextDueAt: due }): Line => {
    const accepted =
      lastSuccessAt === null ? 'never accepted' : `accepted ${agoText(lastSuccessAt, at)}`
    const isNewer =
      lastAttemptAt !== null && (lastSuccessAt === null || lastAttemptAt > lastSuccessAt)
    const tried = isNewer ? `, tried ${agoText(lastAttemptAt, at)}` : ''
    return [
      '',
      `${list}: ${accepted}${tried}${due === null ? '' : `, ${dueText(new Date(due), at)}`}`,
    ]
  })
  return [['routes', live], ...each]
}

function demoLines({ demo }: Status): Line[] {
  const { historySince: since, historyUntil: until } = demo ?? {}
  if (!since || !until) return []
  return [['demo', `the history from ${secondText(since)} to ${secondText(until)} UTC was made up`]]
}

/** @example dueText(due, at) // 'next in 42 min', or 'due for 5 min' */
function dueText(due: Date, at: Date): string {
  const ms = due.getTime() - at.getTime()
  return ms >= 0 ? `next in ${durationText(ms)}` : `due for ${durationText(-ms)}`
}

function fareLines({ beliefs }: Status): Line[] {
  const { fares, stale, silent, unanswered, ageSeconds } = beliefs
  if (fares === 0) return [['fares', 'none watched']]
  const notes = present(
    stale > 0 && `${count(stale)} stale`,
    silent > 0 && `${count(silent)} with unusable answers`,
    unanswered > 0 && `${count(unanswered)} without a good check`,
  )
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

function delayLines({ detectionDelays, contradicted, at }: Status): Line[] {
  const [all, ...groups] = detectionDelays ?? []
  // With one priority its line would say the same again.
  const shown = groups.length > 1 ? groups : []
  const delays = present(all, ...shown).map((delay) => {
    const { priority, changes, midpointSeconds, atMostSeconds } = delay
    const times = [midpointSeconds.p50, midpointSeconds.p95].map(shortText)
    const whose = priority === 'all' ? '' : ` of ${priority} priority`
    return `${countOf(changes, 'change')} in a day${whose}: half detected within about ${times[0]}, 95 % within ${times[1]} (at most ${shortText(atMostSeconds.p95)})`
  })
  const waits = contradicted?.waits.map(({ wait, fares, since }) => {
    const oldest = durationText(new Date(at).getTime() - new Date(since).getTime())
    return `${count(fares)} ${WAITS[wait]}, the oldest for ${oldest}`
  })
  const waiting = waits && `not recorded yet: ${waits.join('; ')}`
  return present(...delays, waiting).map((text) => ['', text])
}

const WAITS = { confirmation: 'to be confirmed', late: 'late', held: 'held' } as const

/** What operators will pause. A pause that runs is a warning. */
function plannedLines({ pauses, at }: Status): Line[] {
  return pauses
    .filter(({ running }) => !running)
    .map((one) => ['planned', pauseText(one, new Date(at))])
}

function budgetLines({ budget }: Status, calls: Calls): Line[] {
  if (budget === null) return []
  const { requestsPerSecond, share, used, checksLastMinute, unknownLastMinute } = budget
  const allowed = share < 1 ? `, ${percent(share)} may be used now` : ''
  const unknown = unknownLastMinute === 0 ? '' : `, ${count(unknownLastMinute)} of them unknown`
  return [
    ['budget', `${requestsPerSecond} requests a second, ${percent(used)} used${allowed}`],
    ['', `${countOf(checksLastMinute, 'check')} in the last whole minute${unknown}`],
    ...callLines(calls),
  ]
}

const SHOWN_CALLERS = 5

/** Where the calls of the last hour went. One reseller alone, or one priority, would say nothing. */
function callLines({ byLane, byReseller, byPriority }: Calls): Line[] {
  const lanes = sumsOf(byLane, ({ lane }) => lane.replaceAll('_', ' '))
  const resellers = sumsOf(byReseller, ({ reseller }) => reseller)
  const priorities = sumsOf(byPriority, ({ priority }) => priority)
  const total = lanes.reduce((sum, { calls }) => sum + calls, 0)
  const shares = (sums: readonly Sum[]) =>
    sums.map(({ name, calls }) => `${name} ${percent(calls / total)}`).join(', ')
  return present(
    lanes.length > 0 && `calls of the last hour: ${shares(lanes)}`,
    resellers.length > 1 && `by reseller: ${shares(resellers.slice(0, SHOWN_CALLERS))}`,
    priorities.length > 1 && `by priority: ${shares(priorities)}`,
  ).map((text) => ['', text])
}

interface Sum {
  readonly name: string
  readonly calls: number
}

/** The calls of all minutes, the most first. Those without a name are left out. */
function sumsOf<Row extends { readonly calls: readonly number[] }>(
  rows: readonly Row[],
  nameOf: (row: Row) => string | null,
): Sum[] {
  return rows
    .map((row) => ({
      name: nameOf(row),
      calls: Math.round(row.calls.reduce((sum, one) => sum + one, 0)),
    }))
    .filter((sum): sum is Sum => sum.name !== null && sum.calls > 0)
    .toSorted((a, b) => b.calls - a.calls)
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`
}

function queueLines({ queue, at }: Status): Line[] {
  if (queue === null || queue.fault !== null) return []
  const store = queue.kind === 'redis' ? 'Redis' : 'PostgreSQL'
  const tick =
    queue.lastTick === null
      ? 'no tick yet'
      : `last tick ${agoText(queue.lastTick.at, new Date(at))}`
  const figures = queue.queues.map(({ queue: name, waiting, active, delayed, dead }): Line => {
    const died = dead === 0 ? '' : `, ${count(dead)} dead`
    return [
      '',
      `${name}: ${count(waiting)} waiting, ${count(active)} active, ${count(delayed)} delayed${died}`,
    ]
  })
  return [['queue', `in ${store}, ${tick}`], ...figures]
}

function deliveriesText({ deliveries }: Status): string {
  const { pending, dead, endpoints, disabled } = deliveries
  const { paused = 0, gone = 0, failing = 0 } = disabled
  const enabled = endpoints.healthy + endpoints.busy + endpoints.failing
  if (enabled + paused + gone + failing === 0) return 'no endpoints'
  const states = present(
    `${countOf(enabled, 'endpoint')} enabled`,
    endpoints.failing > 0 && `${count(endpoints.failing)} failing`,
    gone + failing > 0 && `${count(gone + failing)} disabled`,
    paused > 0 && `${count(paused)} paused`,
  )
  return `${count(pending)} pending, ${count(dead)} dead; ${states.join(', ')}`
}

function processLines({ processes, at }: Status): Line[] {
  return (processes ?? []).map((one, i) => [
    i === 0 ? 'processes' : '',
    processText(one, new Date(at)),
  ])
}

const FEED_NAMES: Readonly<Record<string, string>> = {
  route: 'routes',
  availability: 'fares',
  watch: 'resellers',
}

function feedLines({ feeds, at }: Status): Line[] {
  const parts = (feeds ?? []).map(({ feed, lastSeq, lastRecordAt }) => {
    const last = lastRecordAt === 0 ? '' : ` (${agoText(lastRecordAt * 1000, new Date(at))})`
    return `${FEED_NAMES[feed] ?? feed} ${count(lastSeq)}${last}`
  })
  return parts.length === 0 ? [] : [['changes', parts.join(', ')]]
}
