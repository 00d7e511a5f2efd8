/** One answer that the upstream gave, by its own log. */
export interface LoggedAnswer {
  readonly realMs: number
  /** For each flight id of the question, what the answer said. */
  readonly available: Readonly<Record<string, boolean>>
}

interface Leg {
  belief: 'available' | 'unavailable' | 'unknown'
  losses: number
}

/**
 * The changes of availability that a naive reader of the answers would write: a gain at once, a loss when two
 * answers in a row say so.
 */
export function modelKinds(answers: readonly LoggedAnswer[], legs: readonly string[]): string[] {
  const state = new Map<string, Leg>(legs.map((id) => [id, { belief: 'unknown', losses: 0 }]))
  const pair = () => {
    const beliefs = [...state.values()].map((leg) => leg.belief)
    if (beliefs.includes('unavailable')) return 'not_bookable'
    return beliefs.includes('unknown') ? 'unknown' : 'bookable'
  }
  const beliefs = () => [...state.values()].map((leg) => leg.belief).join()

  return answers.flatMap(({ available }) => {
    const before = { pair: pair(), beliefs: beliefs() }
    for (const [id, leg] of state) hear(leg, available[id])
    const after = { pair: pair(), beliefs: beliefs() }
    if (after.beliefs === before.beliefs) return []
    if (after.pair === 'bookable') return ['became_available']
    if (before.pair === 'bookable') return ['became_unavailable']
    return ['legs_changed']
  })
}

function hear(leg: Leg, available: boolean | undefined): void {
  if (available === undefined) return
  leg.losses = available ? 0 : leg.losses + 1
  if (available) leg.belief = 'available'
  else if (leg.losses >= 2) leg.belief = 'unavailable'
}
