import { instantOfLocal, zoneOffsetMs } from '../../platform/base/local-time.ts'

/**
 * When an endpoint receives its records: joined in one message every quarter of an hour or every hour, or daily when the
 * clocks of an IANA zone show a full hour.
 */
export type Digest =
  | { readonly every: '15m' | '1h' }
  | { readonly daily_at: number; readonly zone: string }

const STEP_MS = { '15m': 15 * 60_000, '1h': 60 * 60_000 }
const DAY_MS = 86_400_000

/** What is wrong with a digest; undefined if it is valid. */
export function digestFault(digest: Digest): string | undefined {
  if ('every' in digest) {
    return Object.hasOwn(STEP_MS, digest.every) ? undefined : 'every must be "15m" or "1h"'
  }
  const { daily_at: hour, zone } = digest
  if (!Number.isInteger(hour) || hour < 0 || hour > 23)
    return 'daily_at must be an hour from 0 to 23'
  return isZone(zone) ? undefined : 'zone must be an IANA time zone such as "Europe/Madrid"'
}

function isZone(zone: string): boolean {
  // An offset such as "+02:00" would be accepted too, but it does not follow daylight saving.
  if (!/^[A-Za-z]/.test(zone)) return false
  try {
    zoneOffsetMs(zone, 0)
    return true
  } catch {
    return false
  }
}

/**
 * When a record that is ready now is due: at the next time of the digest, or now if there is none.
 *
 * A daily hour that the clocks skip is read by the offset before, so it is due an hour later by the clock. Of two equal
 * hours it is the later one. Each day has one time.
 */
export function nextDigestAt(digest: Digest | null, now: Date): Date {
  if (digest === null) return now
  const after = now.getTime()
  if ('every' in digest) {
    const step = STEP_MS[digest.every]
    return new Date((Math.floor(after / step) + 1) * step)
  }
  const { daily_at: hour, zone } = digest
  const localDay = Math.floor((after + zoneOffsetMs(zone, after)) / DAY_MS)
  const times = [0, 1, 2].map((days) =>
    instantOfLocal(zone, (localDay + days) * DAY_MS + hour * 3_600_000),
  )
  return new Date(times.find((time) => time > after) ?? after + DAY_MS)
}
