import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)

/** When a list is fetched: a cron pattern, and the time zone of its hours (an IANA name). */
export interface CronTimes {
  readonly pattern: string
  readonly zone: string
}

/**
 * The first due time after an instant.
 * @example nextDueAt({ pattern: '30 4 * * *', zone: 'UTC' }, new Date('2026-01-01T00:30Z')) // 2026-01-01T04:30Z
 */
export function nextDueAt(times: CronTimes, after: Date): Date {
  return dueAround(times, after).next
}

/**
 * The last due time at or before an instant.
 * @example lastDueAt({ pattern: '30 4 * * *', zone: 'UTC' }, new Date('2026-01-01T04:30Z')) // 2026-01-01T04:30Z
 */
export function lastDueAt(times: CronTimes, at: Date): Date {
  return dueAround(times, at).last
}

/**
 * The due times on both sides of an instant. They are those that follow each other from an earlier match on: the parser
 * alone would match an hour that a change of summer time repeats twice, and going back would miss one that it skips.
 */
function dueAround(times: CronTimes, at: Date): { readonly last: Date; readonly next: Date } {
  const back = parse(times, at)
  back.prev()
  back.prev()
  let last = back.prev().toDate()
  const matches = parse(times, last)
  for (;;) {
    const next = matches.next().toDate()
    if (next > at) return { last, next }
    last = next
  }
}

/** Enough matches to cover every gap of a pattern, including those of a month of working days. */
const GAPS_EXAMINED = 32

/**
 * The longest time between two successive matches, in milliseconds.
 * @example longestGapMs({ pattern: '0 8,20 * * 1-5', zone: 'UTC' }, new Date('2026-01-01T00:00Z'))
 * // 216_000_000, from Friday to Monday
 */
export function longestGapMs(times: CronTimes, after: Date): number {
  const matches = parse(times, after)
  let previous = matches.next().getTime()
  let longest = 0
  for (let i = 0; i < GAPS_EXAMINED; i += 1) {
    const next = matches.next().getTime()
    longest = Math.max(longest, next - previous)
    previous = next
  }
  return longest
}

/** Describes what is wrong with a cron pattern; undefined if it is valid. */
export function cronFault(pattern: string): string | undefined {
  // The parser fills missing fields from the left, so a pattern of four fields would match every minute.
  const fields = pattern.match(/\S+/g)?.length ?? 0
  if (!pattern.startsWith('@') && fields !== 5 && fields !== 6) {
    return `it has ${fields} of five fields, or six with seconds`
  }
  try {
    parse({ pattern, zone: 'UTC' }, new Date()).next()
    return undefined
  } catch (err) {
    return err instanceof Error ? err.message : String(err)
  }
}

/** Whether the name of a time zone is known. */
export function isZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name })
    return true
  } catch {
    return false
  }
}

/** The seed gives an `H` in the pattern the same value each time. */
function parse({ pattern, zone }: CronTimes, currentDate: Date) {
  // Loaded when a pattern is read: the parser and its calendar would cost each command 5 MB.
  const { CronExpressionParser }: typeof import('cron-parser') = require('cron-parser')
  return CronExpressionParser.parse(pattern, { currentDate, tz: zone, hashSeed: pattern })
}
