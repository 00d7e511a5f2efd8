/** A reseller whose fares take turns. */
export interface Taker {
  readonly resellerId: number
  readonly share: number
  /** Who has the smallest comes next. A turn moves it by 1 / share. */
  readonly pass: number
}

/** A reseller that had nothing to check comes back at most so many turns before the others, not with savings. */
export const MOST_SAVED_TURNS = 2

/** Resellers with something to check, those that had nothing for a while at most two turns before the others. */
export function withoutSavings(takers: readonly Taker[], least: number): Taker[] {
  return takers.map((taker) => {
    return { ...taker, pass: Math.max(taker.pass, least - MOST_SAVED_TURNS / taker.share) }
  })
}

/**
 * How many of the next turns each reseller takes, by its number: each time the one with the smallest pass.
 * @example shareTurns([{ resellerId: 1, share: 3, pass: 0 }, { resellerId: 2, share: 1, pass: 0 }], 4) // 1: 3, 2: 1
 */
export function shareTurns(takers: readonly Taker[], turns: number): Map<number, number> {
  const counts = new Map<number, number>()
  const waiting = takers.map((taker) => ({ ...taker }))
  for (let turn = 0; turn < turns && waiting.length > 0; turn += 1) {
    const next = waiting.reduce((a, b) => (b.pass < a.pass ? b : a))
    next.pass += 1 / next.share
    counts.set(next.resellerId, (counts.get(next.resellerId) ?? 0) + 1)
  }
  return counts
}
