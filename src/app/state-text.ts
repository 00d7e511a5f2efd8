import { aheadText, durationText } from '../platform/base/text.ts'
import { exceedsShare, hasWrongClock, isWithoutProgress } from '../views/status-limits.ts'
import type { KnownProcess, Status, UpstreamState } from '../views/status-shapes.ts'
import type { UnkeptMaxDelays } from '../watches/max-delays.ts'

/**
 * An instant, and how long ago it was.
 * @example sinceText(new Date('2026-01-31T03:07:07Z'), new Date('2026-01-31T03:12:07Z')) // '2026-01-31 03:07:07 UTC (5 min)'
 */
export function sinceText(instant: Date, now: Date): string {
  return `${instantText(instant)} (${durationText(now.getTime() - instant.getTime())})`
}

function instantText(instant: Date): string {
  return `${instant.toISOString().slice(0, 19).replace('T', ' ')} UTC`
}

/**
 * Why and since when a breaker is open.
 * @example breakerText(open, now) // ' (ECONNREFUSED) since 2026-01-31 03:07:07 UTC (5 min), last good answer 2026-01-31 03:07:05 UTC'
 */
export function breakerText(
  { cause, since, lastGoodAt }: UpstreamState['openBreakers'][number],
  now: Date,
): string {
  const why = cause === null ? '' : ` (${cause})`
  const good = lastGoodAt === null ? '' : `, last good answer ${instantText(lastGoodAt)}`
  return `${why} since ${sinceText(since, now)}${good}`
}

/** @example pauseText(pause, now) // 'checks PAUSED since 2026-01-31 03:07:07 UTC (5 min) until it is resumed: maintenance (cli)' */
export function pauseText(pause: Status['pauses'][number], now: Date): string {
  const { what, from, until, running, reason, by } = pause
  const begins = running
    ? `PAUSED since ${sinceText(from, now)}`
    : `pause from ${instantText(from)}`
  const end = until === null ? 'until it is resumed' : `until ${instantText(until)}`
  return `${what} ${begins} ${end}: ${reason} (${by})`
}

/** What stops the checks of fares now, apart from single probes. Null if nothing does. */
export function checksStopText({
  upstream: { pausedUntil, openBreakers },
  pauses,
}: Pick<Status, 'upstream' | 'pauses'>): string | null {
  const paused = pauses.find(({ what, running }) => running && what === 'checks')
  if (paused !== undefined) return `operators have paused them: ${paused.reason}`
  if (pausedUntil !== null)
    return `the upstream asked for a pause until ${instantText(pausedUntil)}`
  const open = openBreakers.find(({ endpoint }) => endpoint === 'verify')
  if (open === undefined) return null
  const why = open.cause === null ? '' : ` (${open.cause})`
  return open.breaker === 'auth'
    ? `the upstream refuses our credential${why}; only probes are sent`
    : `calls to verify fail${why}; only probes are sent`
}

/**
 * How many fares wait because of a mass, and since when.
 * @example heldText(held, now) // '110 fares wait with became_available since 2026-01-31 03:07:07 UTC (5 min)'
 */
export function heldText({ kind, fares, since }: Status['held'][number], now: Date): string {
  const wait = fares === 1 ? '1 fare waits' : `${fares} fares wait`
  return `${wait} with ${kind} since ${sinceText(since, now)}`
}

/** Why longest delays are not kept. */
export function unkeptText(unkept: UnkeptMaxDelays): string {
  const { fares, tooShort, neededPerSecond, allowedPerSecond } = unkept
  const need = `${ofFares(fares)} need ${rateText(neededPerSecond)} checks a second, its share allows ${rateText(allowedPerSecond)}`
  const short = `${ofFares(tooShort)} with a delay below the minimum interval between two checks`
  return [...(exceedsShare(unkept) ? [need] : []), ...(tooShort > 0 ? [short] : [])].join('; ')
}

/** @example rateText(0.0035) // '0.0035' */
function rateText(perSecond: number): string {
  return String(Number(perSecond.toPrecision(3)))
}

function ofFares(n: number): string {
  return n === 1 ? '1 fare' : `${n} fares`
}

/** @example processText(one, now) // 'worker 0.1.0 on host a (pid 7) since 2026-01-31 03:07:07 UTC (5 min), progress 3 s ago' */
export function processText(one: KnownProcess, now: Date): string {
  const { role, version, host, pid, startedAt, lastProgressAt, clockAheadSeconds } = one
  const ms = durationText(now.getTime() - lastProgressAt.getTime())
  const progress = isWithoutProgress(one, now) ? `NO PROGRESS for ${ms}` : `progress ${ms} ago`
  const clock = hasWrongClock(one, now)
    ? `, CLOCK ${aheadText(1_000 * (clockAheadSeconds ?? 0))} that of the database`
    : ''
  return `${role} ${version} on host ${host} (pid ${pid}) since ${sinceText(startedAt, now)}, ${progress}${clock}`
}
