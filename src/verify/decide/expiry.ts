import { type FareState, viewOf } from './fare-state.ts'

/** What is told of a fare, or of a watch, that has ended: nothing of it can be bought any more. */
export function expiryOf(state: FareState, now: Date) {
  const before = viewOf(state)
  return {
    kind: 'expired' as const,
    before,
    after: { ...before, pair: 'not_bookable', price: null },
    lastGoodCheckAt: state.lastGoodCheckAt,
    detectedAt: now.toISOString(),
  }
}
