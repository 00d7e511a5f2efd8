import { CronExpressionParser } from 'cron-parser'

const MAX_JITTER_MS = 5 * 60_000
const JITTER_SHARE = 0.1

/**
 * The next due time of a schedule: the first match of the pattern after `after`, in UTC, plus jitter.
 *
 * The jitter is at most a tenth of the pattern's step and at most five minutes. It keeps different installations from
 * calling the upstream in the same second, and due times keep their order.
 * @param random uniform in [0, 1).
 * @example nextDueAt('30 4 * * *', new Date('2026-01-01T00:30Z'), () => 0) // 2026-01-01T04:30Z
 */
export function nextDueAt(pattern: string, after: Date, random: () => number): Date {
  const matches = parse(pattern, after)
  const first = matches.next().getTime()
  const step = matches.next().getTime() - first
  const jitterMs = Math.floor(random() * Math.min(MAX_JITTER_MS, step * JITTER_SHARE))
  return new Date(first + jitterMs)
}

/** Enough matches to cover every gap of a pattern, including those of a month of working days. */
const GAPS_EXAMINED = 32

/**
 * The longest time between two successive matches of a pattern, in milliseconds.
 * @example longestGapMs('0 8,20 * * 1-5', new Date('2026-01-01T00:00Z')) // 216_000_000, from Friday to Monday
 */
export function longestGapMs(pattern: string, after: Date): number {
  const matches = parse(pattern, after)
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
    parse(pattern, new Date()).next()
    return undefined
  } catch (err) {
    return err instanceof Error ? err.message : String(err)
  }
}

/** The seed gives an `H` in the pattern the same value each time. */
function parse(pattern: string, currentDate: Date) {
  return CronExpressionParser.parse(pattern, { currentDate, tz: 'UTC', hashSeed: pattern })
}
