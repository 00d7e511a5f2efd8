import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { MassContext } from '../../src/fares/mass.ts'
import {
  type FareView,
  type LegView,
  legOf,
  legsOf,
  stateOfRow,
  storedState,
  unknownView,
} from '../../src/fares/state.ts'
import { CALM, massesOf, RULES, unknown } from './answers.ts'
import { anyCounts, anyStory, type Played, play, type Situation } from './stories.ts'

const RUNS = { numRuns: 500 }
const HELD_KINDS = ['became_unavailable', 'became_available', 'identity_changed'] as const

function recordedChanges(played: readonly Played[]) {
  return played.flatMap(({ decision }) =>
    decision.changes.map(({ kind, after, detectedAt, lastGoodCheckAt }) => {
      return { kind, detectedAt, lastGoodCheckAt, pair: after.pair, price: after.price }
    }),
  )
}

function answersOf({ outbound, return: back }: Situation) {
  return back === null ? [outbound] : [outbound, back]
}

function isComplete(situation: Situation): boolean {
  return answersOf(situation).every(({ kind }) => kind !== 'unknown')
}

/** An answer without a site leaves the one that is believed of the same flight. */
function withSiteOf(leg: LegView, believed: LegView | undefined): LegView {
  const site = believed?.identity === leg.identity ? believed.flight?.site : undefined
  if (leg.flight === null || leg.flight.site || !site) return leg
  return { ...leg, flight: { ...leg.flight, site } }
}

describe('in any story', () => {
  it('the records replay to the belief, each beginning where the last one ended', () => {
    fc.assert(
      fc.property(anyStory, anyCounts, (story, counts) => {
        let view: FareView = unknownView(story[0]?.return != null)
        for (const { decision } of play(story, counts)) {
          for (const change of decision.changes) {
            // Answers that agree may have shown a site where none was known.
            expect(change.before).toMatchObject(view)
            expect(change.after).toEqual(decision.state.belief)
          }
          if (decision.changes.length > 0) view = decision.state.belief
        }
      }),
      RUNS,
    )
  })

  it('a change is recorded once, however often its answers repeat', () => {
    fc.assert(
      fc.property(anyStory, anyCounts, (story, counts) => {
        const last = story.at(-1)
        if (last === undefined) return
        const again = { ...last, gapSeconds: 300, held: false }
        // As often as the slowest confirmation needs, and longer than a hold: after that the answers agree with the belief.
        const echo = [again, again, again, again]

        const played = play([...story, ...echo, ...echo], counts)

        expect(recordedChanges(played.slice(-echo.length))).toEqual([])
      }),
      RUNS,
    )
  })

  // Fault: One answer changes both legs of a pair: availability, prices, a currency, or a price and a loss; or it has no
  // readable price for a leg.
  it('what is recorded is one answer: each leg is what the answer shows, and the price is its sum', () => {
    fc.assert(
      fc.property(anyStory, anyCounts, (story, counts) => {
        for (const { situation, before, decision } of play(story, counts)) {
          for (const { after } of decision.changes) {
            const isWithheld = after.priceReason === 'unconfirmed'
            // Only of a price that the answer before did not show.
            const last = before.candidate?.view.price ?? null
            if (isWithheld)
              expect(answersOf(situation).map((one) => legOf(one).price)).not.toEqual([last])
            const isPriced = after.pair === 'bookable' && !isWithheld
            for (const [i, leg] of legsOf(after).entries()) {
              const answer = legOf(answersOf(situation)[i] ?? unknown())
              const believed = legsOf(before.belief)[i]
              const shown = isPriced ? answer : { ...answer, price: null }
              // Of a loss alone, a leg keeps its belief where it has no answer, or shows another flight.
              const kept = { ...believed, price: null }
              const isLoss = after.pair === 'not_bookable' && answer.belief === 'available'
              const sited = withSiteOf(shown, believed)
              if (isLoss) expect([sited, kept]).toContainEqual(leg)
              else expect(leg).toEqual(answer.belief === 'unknown' ? kept : sited)
            }
            if (!isComplete(situation)) expect(after.pair).toBe('not_bookable')
          }
        }
      }),
      RUNS,
    )
  })

  it('every hold ends: a complete answer that contradicts the belief after its time is recorded, unless two in a row said nothing of it', () => {
    fc.assert(
      fc.property(anyStory, (story) => {
        const context: MassContext = { ...CALM, masses: massesOf(HELD_KINDS) }
        for (const { askedAt, situation, before, decision } of play(story, { context })) {
          const { heldSince = null, unshown = 0 } = before.candidate ?? {}
          if (heldSince === null || unshown > 1 || !isComplete(situation)) continue
          if (askedAt.getTime() - Date.parse(heldSince) < RULES.massHoldMs) continue
          const { candidate } = decision.state
          // Without a readable price an answer says nothing of the price that waits.
          if ((candidate?.unshown ?? 0) > unshown) continue
          expect(candidate?.heldSince === heldSince && candidate.heldUntil !== null).toBe(false)
        }
      }),
      RUNS,
    )
  })

  it('a stored state is read back unchanged', () => {
    fc.assert(
      fc.property(anyStory, anyCounts, (story, counts) => {
        for (const { decision } of play(story, counts)) {
          const { state } = decision
          const instant = (text: string | null) => (text === null ? null : new Date(text))
          const row = {
            state: JSON.parse(JSON.stringify(storedState(state))) as object,
            hasReturn: state.belief.return !== null,
            lastGoodCheckAt: instant(state.lastGoodCheckAt),
            priceCheckedAt: instant(state.pricedAt),
            priceReason: state.priceReason,
            everAvailableAt: instant(state.everAvailableAt),
            silence: state.silence,
          }
          expect(stateOfRow(row)).toEqual(state)
        }
      }),
      { numRuns: 300 },
    )
  })
})
