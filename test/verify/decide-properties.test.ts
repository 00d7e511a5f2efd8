import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type FareView, initialState, pairOf, viewOf } from '../../src/verify/decide/fare-state.ts'
import { parseFareState } from '../../src/verify/decide/parse-fare-state.ts'
import { restoreState, reverseKind } from '../../src/verify/incidents/restore-state.ts'
import { RULES, unknown } from './answers.ts'
import { expectedChanges } from './naive-model.ts'
import { answerOf, anyCounts, anyStory, type Played, play, type Situation } from './stories.ts'

const RUNS = { numRuns: 500 }

/** The last state of a story; the initial state of an empty one. */
function endOf(played: readonly Played[], hasReturn: boolean) {
  return played.at(-1)?.decision.state ?? initialState(hasReturn)
}

function recordedChanges(played: readonly Played[]) {
  return played.flatMap(({ decision }) =>
    decision.changes.map(({ kind, after, detectedAt, lastGoodCheckAt }) => {
      return { kind, detectedAt, lastGoodCheckAt, pair: after.pair, price: after.price }
    }),
  )
}

function mute(
  { gapSeconds, return: back, held }: Situation,
  reason: 'timeout' | 'http_5xx',
): Situation {
  return { gapSeconds, outbound: unknown(reason), return: back && unknown(reason), held }
}

describe('in any story', () => {
  it('decide records what the naive model expects, and nothing else', () => {
    fc.assert(
      fc.property(anyStory, anyCounts, (story, counts) => {
        const played = play(story, counts)

        const asked = played.map(({ situation, askedAt }) => ({
          askedAt,
          outbound: answerOf(situation.outbound),
          return: situation.return && answerOf(situation.return),
          held: situation.held,
        }))
        expect(recordedChanges(played)).toEqual(expectedChanges(asked, { ...RULES, ...counts }))
      }),
      RUNS,
    )
  })

  it('the records replay to the belief, each beginning where the last one ended', () => {
    fc.assert(
      fc.property(anyStory, anyCounts, (story, counts) => {
        const played = play(story, counts)

        let view: FareView = viewOf(initialState(story[0]?.return != null))
        for (const { decision } of played) {
          for (const change of decision.changes) expect(change.before).toEqual(view)
          view = decision.changes.at(-1)?.after ?? view
          expect(viewOf(decision.state)).toEqual(view)
        }
      }),
      RUNS,
    )
  })

  it('an open incident keeps the changes that it holds from being recorded', () => {
    const anyHolds = fc.subarray([
      'became_unavailable',
      'identity_changed',
      'itinerary_changed',
    ] as const)
    fc.assert(
      fc.property(anyStory, anyHolds, (story, holds) => {
        const kinds: string[] = recordedChanges(play(story, { holds })).map(({ kind }) => kind)

        expect(kinds.filter((kind) => holds.some((held) => held === kind))).toEqual([])
      }),
      RUNS,
    )
  })

  it('a state that is restored shows what the undone record shows as before, and the reverse record says how', () => {
    fc.assert(
      fc.property(anyStory, (story) => {
        for (const { decision } of play(story)) {
          for (const { kind, before, after } of decision.changes) {
            const restored = viewOf(restoreState(decision.state, before, null))

            expect(restored).toEqual(before)
            expect(reverseKind(after, restored)).not.toBeNull()
            if (kind === 'became_unavailable') {
              expect(reverseKind(after, restored)).toBe('became_available')
            }
          }
        }
      }),
      RUNS,
    )
  })

  it('every record has a difference, and no check records a kind twice', () => {
    fc.assert(
      fc.property(anyStory, anyCounts, (story, counts) => {
        for (const { decision } of play(story, counts)) {
          const kinds = decision.changes.map((change) => change.kind)
          expect(new Set(kinds).size).toBe(kinds.length)
          for (const { before, after } of decision.changes) expect(after).not.toEqual(before)
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
        const again = { ...last, gapSeconds: 60, held: false }
        // As often as the slowest confirmation needs: after that the answers agree with the belief.
        const echo = [again, again, again, again]

        const played = play([...story, ...echo, ...echo], counts)

        expect(recordedChanges(played.slice(-echo.length))).toEqual([])
      }),
      RUNS,
    )
  })

  it('a change has an interval that begins before it is detected, and ends no later than its check', () => {
    fc.assert(
      fc.property(anyStory, anyCounts, (story, counts) => {
        for (const { askedAt, decision } of play(story, counts)) {
          for (const { lastGoodCheckAt, detectedAt } of decision.changes) {
            expect(detectedAt <= askedAt.toISOString()).toBe(true)
            if (lastGoodCheckAt !== null) expect(lastGoodCheckAt < detectedAt).toBe(true)
          }
        }
      }),
      RUNS,
    )
  })

  it('an unknown answer changes nothing of its leg', () => {
    fc.assert(
      fc.property(anyStory, anyCounts, (story, counts) => {
        for (const { situation, before, decision } of play(story, counts)) {
          if (situation.outbound.kind === 'unknown') {
            expect(decision.state.outbound).toEqual(before.outbound)
          }
          if (situation.return?.kind === 'unknown') {
            expect(decision.state.return).toEqual(before.return)
          }
        }
      }),
      RUNS,
    )
  })

  it('unknown answers in between, in any order, lead to the same belief', () => {
    const anyMutes = fc.array(fc.constantFrom('timeout' as const, 'http_5xx' as const), {
      maxLength: 4,
    })
    fc.assert(
      fc.property(anyStory, anyMutes, fc.nat(), (story, reasons, place) => {
        const [first] = story
        if (first === undefined) return
        const cut = place % (story.length + 1)
        const mutes = reasons.map((reason) => ({ ...mute(first, reason), gapSeconds: 0 }))
        const between = (some: Situation[]) => [
          ...story.slice(0, cut),
          ...some,
          ...story.slice(cut),
        ]

        const plain = play(story)
        const muted = play(between(mutes))
        const turned = play(between(mutes.toReversed()))

        const hasReturn = first.return !== null
        expect(endOf(muted, hasReturn)).toEqual(endOf(plain, hasReturn))
        expect(endOf(turned, hasReturn)).toEqual(endOf(plain, hasReturn))
        expect(recordedChanges(muted)).toEqual(recordedChanges(plain))
      }),
      RUNS,
    )
  })

  it('a loss is believed only after two such answers in a row, and not during an incident', () => {
    fc.assert(
      fc.property(anyStory, (story) => {
        const played = play(story)
        for (const [i, { decision }] of played.entries()) {
          if (!decision.changes.some(({ kind }) => kind === 'became_unavailable')) continue
          const recorded = played.slice(0, i + 1)
          const twice = (leg: 'outbound' | 'return') => {
            const counted = recorded
              .map((one) => ({ outcome: one.decision.outcome[leg], held: one.situation.held }))
              .filter(({ outcome }) => outcome !== null && !outcome.startsWith('unknown:'))
            const [first, second] = counted.slice(-2)
            return first?.outcome === 'unavailable' && second?.outcome === 'unavailable'
          }
          expect(played[i]?.situation.held).toBe(false)
          expect(twice('outbound') || twice('return')).toBe(true)
        }
      }),
      RUNS,
    )
  })

  it('a pair enters and leaves bookable with exactly the records of that name', () => {
    fc.assert(
      fc.property(anyStory, anyCounts, (story, counts) => {
        for (const { before, decision } of play(story, counts)) {
          const was = pairOf(before) === 'bookable'
          const is = pairOf(decision.state) === 'bookable'
          const kinds = decision.changes.map((change) => change.kind)
          expect(kinds.includes('became_available')).toBe(!was && is)
          expect(kinds.includes('became_unavailable')).toBe(was && !is)
        }
      }),
      RUNS,
    )
  })

  it('a pair becomes bookable only with an answer that shows every leg available', () => {
    fc.assert(
      fc.property(anyStory, anyCounts, (story, counts) => {
        for (const { situation, before, decision } of play(story, counts)) {
          if (pairOf(before) === 'bookable' || pairOf(decision.state) !== 'bookable') continue
          expect(situation.outbound.kind).toBe('available')
          expect(situation.return?.kind ?? 'available').toBe('available')
        }
      }),
      RUNS,
    )
  })

  it('a stored state is read back unchanged', () => {
    fc.assert(
      fc.property(anyStory, anyCounts, (story, counts) => {
        for (const { decision } of play(story, counts)) {
          const stored: unknown = JSON.parse(JSON.stringify(decision.state))
          expect(parseFareState(stored)).toEqual(decision.state)
        }
      }),
      { numRuns: 300 },
    )
  })

  it('a check is good if it showed every leg, and is followed early if it did not', () => {
    fc.assert(
      fc.property(anyStory, anyCounts, (story, counts) => {
        for (const { askedAt, before, decision } of play(story, counts)) {
          const { outbound, return: back } = decision.outcome
          const recorded = [outbound, back].every((outcome) => !outcome?.startsWith('unknown:'))
          const goodAt = recorded ? askedAt.toISOString() : before.lastGoodCheckAt
          expect(decision.good).toBe(recorded)
          expect(decision.state.lastGoodCheckAt).toBe(goodAt)
          if (!recorded) expect(decision.next).not.toBe('normal')
          else expect(decision.next).not.toBe('retry')
        }
      }),
      RUNS,
    )
  })
})
