/** Something that must move from time to time. */
export interface Sign {
  /** What is wrong when it does not: "no tick has ended". */
  readonly says: string
  /** When it last moved. */
  readonly at: Date
  /** How long it may stand still while the stores answer. */
  readonly limitMs: number
}

/**
 * The first sign that stands still for too long; null where all move.
 *
 * Only time in which the stores answered counts, so that nothing is blamed for an outage of theirs: `soundSince` is
 * when they began to answer without a break.
 * @example
 * judgeLiveness([{ says: 'no tick has ended', at: t(0), limitMs: 60_000 }], { now: t(90), soundSince: t(0) })
 * // 'no tick has ended for 90 s though the stores answer'
 */
export function judgeLiveness(
  signs: readonly Sign[],
  { now, soundSince }: { readonly now: Date; readonly soundSince: Date },
): string | null {
  const still = signs.find(({ at, limitMs }) => {
    const since = Math.max(at.getTime(), soundSince.getTime())
    return now.getTime() - since > limitMs
  })
  if (still === undefined) return null
  const seconds = Math.round((now.getTime() - still.at.getTime()) / 1000)
  return `${still.says} for ${seconds} s though the stores answer`
}
