import { describe, expect, it } from 'vitest'
import type { LockedFare } from '../../src/fares/beliefs.ts'
import { countChecks } from '../../src/fares/record.ts'
import { storedState } from '../../src/fares/state.ts'
import { answering, json } from '../upstream/answering-server.ts'
import { clientOf } from '../upstream/client-fixture.ts'
import { question, available as wireAvailable } from '../upstream/verify-fixtures.ts'
import { at, observation, UNAVAILABLE } from './answers.ts'
import { falseRecords, loneFare, outward, replicaTruth, watchReplicas } from './lies-replicas.ts'

describe('an answer with an Age', () => {
  const signal = new AbortController().signal
  const YESTERDAY = new Date(Date.now() - 86_400_000).toUTCString()

  async function ageOf(headers: Record<string, string>): Promise<number> {
    await using server = await answering(json(JSON.stringify(wireAvailable()), headers))
    await using fixture = clientOf(server.url)
    const { ageSeconds } = await fixture.client.verifyFares(question(), { signal })
    return ageSeconds
  }

  it('is so much older than its request, and a Date alone makes no answer older', async () => {
    expect(await ageOf({ age: '86400', date: YESTERDAY })).toBe(86_400)
    expect(await ageOf({ age: '7' })).toBe(7)
    expect(await ageOf({ date: YESTERDAY })).toBe(0)
  })

  it.each(['-5', '1.5', 'old', '', '9999999999'])('of %j has none', async (age) => {
    expect(await ageOf({ age })).toBe(0)
  })

  it('is dropped if it is older than the last answer that counted, or than ten minutes: two do not confirm a loss', () => {
    const fare = loneFare()
    fare.answer(0, outward('100.00'))
    const locked: LockedFare = {
      fareId: 1,
      state: storedState(fare.state()),
      hasReturn: false,
      hasFlights: true,
      hasUnstartedWatch: false,
      isAhead: false,
      lastGoodCheckAt: at(0),
      priceCheckedAt: at(0),
      priceReason: null,
      everAvailableAt: at(0),
      askedAt: at(0),
      datedAt: null,
      outbound: 'available',
      return: null,
      pair: 'bookable',
      amount: '100.00',
      currency: 'EUR',
      intervalSeconds: 60,
      lastReason: null,
      heldUntil: null,
      heldSince: null,
    }
    const asked = (seconds: number, ageSeconds: number) => ({
      fareId: 1,
      askedAt: at(seconds),
      why: 'scheduled' as const,
      observation: { ...observation(UNAVAILABLE), ageSeconds },
    })

    expect(countChecks([asked(60, 86_400), asked(80, 86_400), asked(60, 60)], [locked])).toEqual([])
    const [counted] = countChecks([asked(80, 50)], [locked])
    expect(counted?.askedAt).toEqual(at(30))
    // The first answer about a fare, too.
    const unseen = { ...locked, state: {}, askedAt: null }
    expect(countChecks([asked(0, 86_400)], [unseen])).toEqual([])
    expect(countChecks([asked(0, 60)], [unseen])).toHaveLength(1)
  })
})

describe('two replicas of the upstream, one of them 60 s older, that answer at random', () => {
  // Fault: Two replicas of the upstream, a minute apart, answer at random; a cache answers with `Age: 86400`.
  it.each([1, 2, 3])('give no false record of losses, gains and prices: run %i', (seed) => {
    const truth = replicaTruth({ seed, fares: 20, seconds: 3 * 3600 })
    const found = watchReplicas(truth, { seed, olderBy: 60, everySeconds: 4 + 12 * (seed % 3) })

    expect(found.length).toBeGreaterThan(150)
    expect(falseRecords(truth, found)).toEqual([])
  })
})
