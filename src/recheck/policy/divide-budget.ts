/** What a reseller asks of the budget. */
export interface Claimant {
  readonly share: number
  /** The checks a second of its fares, if each is checked as soon as its minimum interval ends. */
  readonly most: number
}

/**
 * The part of the budget that each reseller can have, in the order given: its share, and what the others cannot use of
 * theirs (max-min fairness: Bertsekas and Gallager, "Data networks", 1992, section 6.5.2). The parts of resellers that need
 * less than they can have overlap.
 * @example divideBudget([{ share: 1, most: 2 }, { share: 1, most: 99 }], 10) // [0.5, 0.8]
 */
export function divideBudget(claimants: readonly Claimant[], requestsPerSecond: number): number[] {
  const byNeed = claimants.toSorted((a, b) => a.most / a.share - b.most / b.share)
  const shares = claimants.reduce((sum, { share }) => sum + share, 0)
  return claimants.map((claimant) => {
    let [left, waiting] = [requestsPerSecond, shares]
    for (const other of byNeed) {
      if (other === claimant) continue
      if (other.most * waiting >= left * other.share) break
      left -= other.most
      waiting -= other.share
    }
    return Math.min(1, (left * claimant.share) / (waiting * requestsPerSecond))
  })
}
