import type { LegState } from './leg-state.ts'

/** How far two counted answers lie apart at least: half the wait for a second look. */
export const COUNT_GAP_MS = 10_000

export interface DecisionRules {
  /** Answers in a row that make a leg unavailable. */
  readonly lossConfirmations: number
  /** Answers in a row that make an unavailable leg available. */
  readonly gainConfirmations: number
  /** The second answer against a belief counts so much after the first at the soonest, a third one twice as much. */
  readonly countGapMs: number
  /** Whether an incident is open: losses wait for its end. */
  readonly holdLosses: boolean
}

/** When a check was asked, and by which rules it is judged. */
export interface Look {
  readonly askedAt: string
  readonly rules: DecisionRules
}

/** When something happened: after `lastGoodCheckAt`, and by `detectedAt`, when an answer first showed it. */
export interface Interval {
  readonly lastGoodCheckAt: string | null
  readonly detectedAt: string
}

export interface CountedAnswer {
  readonly counters: Pick<LegState, 'belief' | 'against' | 'againstSince'>
  /** Where the belief moved. */
  readonly moved: Interval | null
  /** Whether an open incident keeps the answer from being believed. */
  readonly held: boolean
}

/**
 * Counts an answer for or against what is believed of a leg, and moves the belief when enough agree.
 *
 * Two looks in one breath are one look: whoever asks on demand twice in a second would confirm the upstream's hiccup.
 *
 * A leg of which nothing is known becomes available at the first sight, whatever a gain needs: nothing spoke
 * against it. It becomes unavailable like any other leg, for a false "sold out" costs as much as a false loss.
 */
export function countAnswer(
  leg: LegState,
  said: 'available' | 'unavailable',
  look: Look,
): CountedAnswer {
  if (said === leg.belief) return agreed(said)
  // What was counted before said "unavailable": it does not speak for this.
  if (said === 'available' && leg.belief === 'unknown') return moved(leg, said, look.askedAt)

  const { lossConfirmations, gainConfirmations, holdLosses } = look.rules
  const against = leg.against + (isFurtherCount(leg, look) ? 1 : 0)
  const againstSince = leg.againstSince ?? look.askedAt
  const needed = said === 'unavailable' ? lossConfirmations : gainConfirmations
  // Counted, but not believed: when the incident is over, one more such answer makes it true.
  const held = said === 'unavailable' && holdLosses
  if (against >= needed && !held) return moved(leg, said, againstSince)
  return { counters: { belief: leg.belief, against, againstSince }, moved: null, held }
}

/** The first of a row, or one that lies as far behind it as so many counts must. */
function isFurtherCount({ against, againstSince }: LegState, { askedAt, rules }: Look): boolean {
  if (againstSince === null) return true
  return Date.parse(askedAt) - Date.parse(againstSince) >= against * rules.countGapMs
}

function agreed(belief: 'available' | 'unavailable'): CountedAnswer {
  return { counters: { belief, against: 0, againstSince: null }, moved: null, held: false }
}

function moved(
  leg: LegState,
  belief: 'available' | 'unavailable',
  detectedAt: string,
): CountedAnswer {
  return { ...agreed(belief), moved: { lastGoodCheckAt: leg.agreedAt, detectedAt } }
}
