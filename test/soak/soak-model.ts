/** One answer in the log of the upstream. */
export interface LoggedAnswer {
  readonly realMs: number
  /** Availability by flight id. */
  readonly available: Readonly<Record<string, boolean>>
}

interface Leg {
  belief: 'available' | 'unavailable' | 'unknown'
  losses: number
  /** When the first of these losses was requested. */
  lostMs: number
}

/** A second loss counts if its request is at least this long after the first. */
const COUNT_GAP_MS = 10_000

/**
 * The availability changes that follow from these answers: a gain counts at once, a loss after two consecutive answers
 * that are 10 s apart. A gain does not count if the other leg is then believed available and the answer does not show it.
 */
export function modelKinds(answers: readonly LoggedAnswer[], legs: readonly string[]): string[] {
  const state = new Map<string, Leg>(
    legs.map((id) => [id, { belief: 'unknown', losses: 0, lostMs: 0 }]),
  )
  const pair = () => {
    const beliefs = [...state.values()].map((leg) => leg.belief)
    if (beliefs.includes('unavailable')) return 'not_bookable'
    return beliefs.includes('unknown') ? 'unknown' : 'bookable'
  }
  const beliefs = () => [...state.values()].map((leg) => leg.belief).join()

  return answers.flatMap(({ realMs, available }) => {
    const before = { pair: pair(), beliefs: beliefs() }
    const gains = legs.filter((id) => available[id] && state.get(id)?.belief !== 'available')
    for (const [id, leg] of state) {
      if (!gains.includes(id)) applyAnswer(leg, available[id], realMs)
    }
    for (const id of gains) {
      const other = legs.find((one) => one !== id && !gains.includes(one)) ?? id
      const isLone = state.get(other)?.belief === 'available' && !available[other]
      const leg = state.get(id)
      if (leg && !isLone) applyAnswer(leg, true, realMs)
    }
    const after = { pair: pair(), beliefs: beliefs() }
    if (after.beliefs === before.beliefs) return []
    if (after.pair === 'bookable') return ['became_available']
    if (before.pair === 'bookable') return ['became_unavailable']
    return ['legs_changed']
  })
}

function applyAnswer(leg: Leg, available: boolean | undefined, realMs: number): void {
  if (available === undefined) return
  if (available) {
    leg.losses = 0
    leg.belief = 'available'
    return
  }
  if (leg.losses === 0) leg.lostMs = realMs
  if (realMs - leg.lostMs >= leg.losses * COUNT_GAP_MS) leg.losses += 1
  if (leg.losses >= 2) leg.belief = 'unavailable'
}
