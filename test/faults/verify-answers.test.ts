import { describe, expect, it } from 'vitest'
import { judgedBy } from '../../src/upstream/flights/answer-habits.ts'
import type { LegObservation } from '../../src/upstream/observation.ts'
import { questionWith } from '../../src/upstream/question.ts'
import { clientOf } from '../upstream/client-fixture.ts'
import { BACK, OUT } from './answers.ts'
import {
  deadlineFor,
  everythingOf,
  expectNoCredential,
  startHostileUpstream,
} from './hostile-upstream.ts'
import { MAX_BODY_BYTES } from './transport-answers.ts'
import { type Becomes, VERIFY_CASES } from './verify-answers.ts'

const QUESTION = questionWith({ flightId: OUT })
const UNUSUAL = { usual: new Set<string>() }

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
      const verifyDeadlineMs = deadlineFor(answer, becomes)
      const limits = { verifyDeadlineMs, maxVerifyBytes: MAX_BODY_BYTES }
      await using fixture = clientOf(upstream.url, { limits })
      const question = { ...QUESTION, returnFlightId: back === undefined ? null : BACK }

      const read = await fixture.client.verifyFares(question, {
        signal: new AbortController().signal,
      })
      const observation = judgedBy(UNUSUAL, read)

      const { outbound, return: returned, detail } = observation
      expect(readingOf(outbound)).toBe(becomes)
      expect(returned === null ? undefined : readingOf(returned)).toBe(back)
      if (outbound.kind === 'unknown') {
        expect(detail).not.toBe('')
        expect(detail).not.toContain('http://')
      }
      expect(upstream.requests()).toBe(1)
      expect(fixture.calls).toMatchObject([{ endpoint: 'verify' }])
      expectNoCredential([everythingOf(observation), fixture.logLines, fixture.calls])
    },
  )
})
