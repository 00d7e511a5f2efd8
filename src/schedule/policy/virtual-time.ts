/**
 * The virtual time of the schedule. Each fare has a virtual due time, and the fare with the smallest is checked
 * next. V is the largest that was checked. A fare with the rate r comes back 1/r later.
 *
 * The rates of all fares add up to at most the budget, so V is never slower than the clock, and no fare waits
 * longer than 1/r. What the resellers leave unused makes V faster for all. A change of the budget, an outage or a
 * 429 changes no due time.
 */
export interface VirtualClock {
  readonly v: number
  /** How fast V runs at most: what lanes leave of the budget, divided by the sum of all rates. */
  readonly speed: number
}

export interface DueFare {
  readonly vdue: number
  /** The checks a second of the fare. */
  readonly rate: number
}

/**
 * The virtual due time after a check of the schedule: one interval after the last one, and at least at the end of
 * the shortest interval. A fare that was late is checked sooner, but not twice.
 */
export function dueAfterCheck(
  { vdue, rate }: DueFare,
  { v, speed }: VirtualClock,
  shortestSeconds: number,
): number {
  return Math.max(vdue + 1 / rate, v + shortestSeconds * speed)
}

/**
 * The virtual due time of a fare whose rate has changed: the same part of its interval is left. A late fare stays
 * late.
 */
export function dueAtRate({ vdue, rate }: DueFare, newRate: number, v: number): number {
  return vdue <= v ? vdue : v + ((vdue - v) * rate) / newRate
}

/**
 * The virtual due time of a fare that joins the queue: somewhere in its first interval, so that an import is spread
 * over it. Its place is another one each time, so that no fare that joins again and again is always early. On
 * average it waits half an interval: one that leaves right after each check and joins again is checked up to twice
 * as often as one that stays.
 */
export function dueAtJoin(
  { fareId, rate }: { readonly fareId: number; readonly rate: number },
  v: number,
): number {
  return v + placeOf(fareId + v) / rate
}

/** A place in [0, 1). Multiples of the golden ratio are even for any run of numbers. */
function placeOf(number: number): number {
  return (number * 0.6180339887498949) % 1
}
