import { describe, expect, it } from 'vitest'
import type { LegObservation } from '../../src/upstream/observation.ts'
import { clientOf } from '../upstream/client-fixture.ts'
import { BACK, OUT } from './answers.ts'
import { startHostileUpstream } from './hostile-upstream.ts'
import { type Becomes, VERIFY_CASES } from './verify-answers.ts'

const NONE = { adults: 0, children: 0, infants: 0 }
const QUESTION = {
  flightId: OUT,
  returnFlightId: null,
  passengers: { residents: NONE, nonResidents: { ...NONE, adults: 1 } },
}
/** The timeout of the client where the upstream stays silent, and in all other cases, even on a busy machine. */
const SILENCE_MS = 700
const BUSY_MS = 30_000

function readingOf(leg: LegObservation): Becomes {
  if (leg.kind === 'unknown') return leg.reason as Becomes
  if (leg.kind === 'unavailable') return 'unavailable'
  return leg.flight.price === null ? 'priceless' : 'available'
}

describe('an upstream that was written from the interface alone', () => {
  it('has at least 120 kinds of answer, each under its own name', () => {
    expect(new Set(VERIFY_CASES.map(({ name }) => name)).size).toBe(VERIFY_CASES.length)
    expect(VERIFY_CASES.length).toBeGreaterThanOrEqual(120)
  })

  it.each(VERIFY_CASES)(
    'is read as $becomes when it sends $name',
    async ({ answer, becomes, back }) => {
      await using upstream = await startHostileUpstream(answer)
      const verifyDeadlineMs = becomes === 'timeout' ? SILENCE_MS : BUSY_MS
      await using fixture = clientOf(upstream.url, { limits: { verifyDeadlineMs } })
      const question = { ...QUESTION, returnFlightId: back === undefined ? null : BACK }

      const { outbound, return: returned } = await fixture.client.verifyFares(question, {
        signal: new AbortController().signal,
      })

      expect(readingOf(outbound)).toBe(becomes)
      expect(returned === null ? undefined : readingOf(returned)).toBe(back)
    },
  )
})
