import { CronExpressionParser } from 'cron-parser'

const MAX_JITTER_MS = 5 * 60_000
const JITTER_SHARE = 0.1

/**
 * The next instant at which a schedule is due: the first slot of the pattern after `after`, in UTC, plus jitter.
 *
 * The jitter is up to a tenth of the pattern's own step, five minutes at most, so that the installations of the
 * world do not all ask in the same second and slots never overtake each other.
 * @param random uniform in [0, 1).
 * @example nextDueAt('30 4 * * *', new Date('2026-01-01T00:30Z'), () => 0) // 2026-01-01T04:30Z
 */
export function nextDueAt(pattern: string, after: Date, random: () => number): Date {
  const slots = parse(pattern, after)
  const slot = slots.next().getTime()
  const step = slots.next().getTime() - slot
  const jitterMs = Math.floor(random() * Math.min(MAX_JITTER_MS, step * JITTER_SHARE))
  return new Date(slot + jitterMs)
}

/** So many slots of a pattern see each of its gaps: those of a month of working days too. */
const GAPS_LOOKED_AT = 32

/**
 * The longest time between two of the next slots of a pattern, in milliseconds.
 * @example longestGapMs('0 8,20 * * 1-5', new Date('2026-01-01T00:00Z')) // 216_000_000, from Friday to Monday
 */
export function longestGapMs(pattern: string, after: Date): number {
  const slots = parse(pattern, after)
  let previous = slots.next().getTime()
  let longest = 0
  for (let i = 0; i < GAPS_LOOKED_AT; i += 1) {
    const next = slots.next().getTime()
    longest = Math.max(longest, next - previous)
    previous = next
  }
  return longest
}

/** What is wrong with a cron pattern, or undefined. */
export function cronFault(pattern: string): string | undefined {
  // The parser fills fields that are missing from the left: four of them would be one slot a minute.
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

/** The seed makes an `H` in the pattern the same value each time. */
function parse(pattern: string, currentDate: Date) {
  return CronExpressionParser.parse(pattern, { currentDate, tz: 'UTC', hashSeed: pattern })
}
