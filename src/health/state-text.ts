import { durationText } from '../platform/base/text.ts'
import type { KnownProcess, Status } from './status-shapes.ts'

type Instant = Date | string
/** A state as it is read, or as JSON has it. */
type Shown<T> = {
  readonly [Name in keyof T]: T[Name] extends Date
    ? Instant
    : T[Name] extends Date | null
      ? Instant | null
      : T[Name]
}

/**
 * An instant, and how long ago it was.
 * @example sinceText(new Date('2026-01-31T03:07:07Z'), new Date('2026-01-31T03:12:07Z')) // '2026-01-31 03:07:07 UTC (5 min)'
 */
function sinceText(instant: Instant, now: Date): string {
  return `${instantText(instant)} (${durationText(now.getTime() - new Date(instant).getTime())})`
}

function instantText(instant: Instant): string {
  return `${new Date(instant).toISOString().slice(0, 19).replace('T', ' ')} UTC`
}

/** @example pauseText(pause, now) // 'checks PAUSED since 2026-01-31 03:07:07 UTC (5 min) until it is resumed: maintenance (cli)' */
export function pauseText(pause: Shown<Status['pauses'][number]>, now: Date): string {
  const { what, from, until, running, reason, by } = pause
  const begins = running
    ? `PAUSED since ${sinceText(from, now)}`
    : `pause from ${instantText(from)}`
  const end = until === null ? 'until it is resumed' : `until ${instantText(until)}`
  return `${what} ${begins} ${end}: ${reason} (${by})`
}

/** @example processText(one, now) // 'worker 0.1.0 on host a (pid 7) since 2026-01-31 03:07:07 UTC (5 min), progress 3 s ago' */
export function processText(one: Shown<KnownProcess>, now: Date): string {
  const { role, version, host, pid, startedAt, lastProgressAt } = one
  const ago = durationText(now.getTime() - new Date(lastProgressAt).getTime())
  return `${role} ${version} on host ${host} (pid ${pid}) since ${sinceText(startedAt, now)}, progress ${ago} ago`
}
