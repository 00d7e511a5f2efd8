/** How many checks a second this process carries, by what it recorded lately. */
export interface ClaimCapacity {
  /** Counts a batch: the checks that it recorded, and those whose slot had passed. */
  onBatch(batch: { readonly recorded: number; readonly late: number }): void
  /** Counts a batch that could not be recorded. */
  onFailure(): void
  /** @param asked how many a second there are calls for. */
  perSecond(asked: number): number
}

/** What ended in one window. */
export interface Window {
  readonly seconds: number
  readonly recorded: number
  readonly late: number
  readonly failed: number
  /** The most that there were calls for, a second. */
  readonly asked: number
}

interface Capacity {
  readonly perSecond: number
  /** The part of itself by which it is raised next. */
  readonly step: number
  /** What was recorded a second when slots were last in time. */
  readonly goodPerSecond: number
}

/** Any machine carries so many. Smaller budgets are never limited. */
const LEAST_PER_SECOND = 50
/** What a process claims before it has recorded anything. */
const FIRST_PER_SECOND = 1_000
const WINDOW_MS = 2_000
/**
 * The slots of claims from before a change have passed by then: they are at most five seconds ahead, and a second
 * late.
 */
const CHANGE_TAKES_MS = 6_000
/** A garbage collection, or a slow statement, makes some slots late. */
const LATE_SHARE = 0.02
const [LOWER_TO, LOWER_AT_MOST_TO] = [0.9, 0.5]
/** The first step after slots were late. Each window in time makes the next one longer, until the capacity doubles. */
const [LEAST_STEP, STEP_GROWS, MOST_STEP] = [0.1, 1.5, 1]

/**
 * The capacity after a window, as the congestion window of TCP. Late checks are work that records nothing: a
 * process that claims more than it carries records less than one that claims less. So when slots were late or
 * batches failed, the capacity is lowered to a tenth below what was last recorded in time, and if that is too much,
 * below what was recorded although slots were late, but by no more than half: processes that start together on one machine
 * record little at first. While more is asked than it is, it is raised by a step. The steps grow, so that seconds in which the
 * machine was busy with something else cost no minutes of a slow climb. What this process recorded is no limit to that: it
 * claims for all, and a window sees few batches.
 * @example nextCapacity(
 *   { perSecond: 4_000, step: 1, goodPerSecond: 2_000 },
 *   { seconds: 2, recorded: 3_000, late: 900, failed: 0, asked: 8_000 },
 * ) // { perSecond: 1_800, step: 0.1, goodPerSecond: 1_500 }
 */
export function nextCapacity(
  { perSecond, step, goodPerSecond }: Capacity,
  { seconds, recorded, late, failed, asked }: Window,
): Capacity {
  const rate = recorded / seconds
  if (failed > 0 || late > LATE_SHARE * (recorded + late)) {
    const carried = Math.max(rate, goodPerSecond, LOWER_AT_MOST_TO * perSecond)
    const lowered = LOWER_TO * Math.min(perSecond, carried)
    return {
      perSecond: Math.max(LEAST_PER_SECOND, lowered),
      step: LEAST_STEP,
      goodPerSecond: Math.min(rate, lowered),
    }
  }
  if (asked <= perSecond) return { perSecond, step, goodPerSecond: rate }
  return {
    perSecond: Math.min(asked, (1 + step) * perSecond),
    step: Math.min(MOST_STEP, STEP_GROWS * step),
    goodPerSecond: rate,
  }
}

const NOTHING = { recorded: 0, late: 0, failed: 0, asked: 0 }

/** @param nowMs a clock that is never set. */
export function createClaimCapacity(nowMs: () => number): ClaimCapacity {
  let capacity: Capacity = { perSecond: FIRST_PER_SECOND, step: MOST_STEP, goodPerSecond: 0 }
  let window = { ...NOTHING }
  let [beganMs, lowersAgainMs] = [nowMs(), nowMs()]

  const assess = () => {
    const now = nowMs()
    const shows = window.recorded + window.late + window.failed > 0
    if (!shows || now - beganMs < WINDOW_MS) return
    const next = nextCapacity(capacity, { ...window, seconds: (now - beganMs) / 1_000 })
    window = { ...NOTHING }
    beganMs = now
    // What is late soon after the capacity was lowered was claimed before.
    if (next.perSecond < capacity.perSecond && now < lowersAgainMs) return
    if (next.perSecond < capacity.perSecond) lowersAgainMs = now + CHANGE_TAKES_MS
    capacity = next
  }
  return {
    onBatch: ({ recorded, late }) => {
      window.recorded += recorded
      window.late += late
    },
    onFailure: () => {
      window.failed += 1
    },
    perSecond: (asked) => {
      window.asked = Math.max(window.asked, asked)
      assess()
      return capacity.perSecond
    },
  }
}
