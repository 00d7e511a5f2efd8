import { describe, expect, it } from 'vitest'
import type { LockedFare } from '../../src/fares/beliefs.ts'
import { countChecks } from '../../src/fares/record.ts'
import { heldKindOf, storedState } from '../../src/fares/state.ts'
import { createScrub } from '../../src/platform/base/secrets.ts'
import { readVerifyAnswer } from '../../src/upstream/fares/read-verify-answer.ts'
import type { Question } from '../../src/upstream/question.ts'
import { answering, json } from '../upstream/answering-server.ts'
import { clientOf } from '../upstream/client-fixture.ts'
import {
  ONE_ADULT,
  price,
  question,
  available as wireAvailable,
} from '../upstream/verify-fixtures.ts'
import { at, CALM, eur, massesOf, observation, UNAVAILABLE } from './answers.ts'
import { inward, type LoneFare, loneFare, outward } from './lies-alone.ts'
import { falseRecords, replicaTruth, watchReplicas } from './lies-replicas.ts'

/** Each record shows what one answer has shown of the whole fare, prices as well. */
function expectWhole({ records, readings }: LoneFare): void {
  for (const { after } of records) expect(readings).toContainEqual(after)
}

describe('one answer in which both legs of a pair have changed', () => {
  it('is recorded with the new prices of both legs, and never with the old price of one', () => {
    const fare = loneFare({ hasReturn: true })
    fare.answer(0, [outward('1000.00'), inward('1000.00')])
    const shown = [60, 80, 120, 180].flatMap((seconds) =>
      fare.answer(seconds, [outward('1200.00'), inward('400.00')]),
    )

    expect(shown).toEqual(['price_changed'])
    expect(fare.records.map(({ after }) => after.price)).toEqual([eur('2000.00'), eur('1600.00')])
    expectWhole(fare)
  })
})

describe('a lie about prices that was recorded when its hold ended', () => {
  it('is corrected without a second hold, however many prices were recorded in between', () => {
    const mass = { ...CALM, masses: massesOf(['price_changed']) }
    const fare = loneFare()
    fare.answer(0, [outward('100.00')])
    const lies = [
      [60, '10000.00'],
      [660, '10000.00'],
      [720, '10100.00'],
      [780, '10200.00'],
      [840, '10300.00'],
      [900, '10400.00'],
    ] as const
    const shown = lies.flatMap(([seconds, amount]) => fare.answer(seconds, [outward(amount)], mass))

    expect(shown).toHaveLength(lies.length - 1)
    expect(fare.answer(960, [outward('100.00')], mass)).toEqual([])
    expect(heldKindOf(fare.state())).toBeNull()
    expect(fare.answer(990, [outward('100.00')], mass)).toEqual([])
    expect(fare.answer(1_020, [outward('100.00')], mass)).toEqual(['price_changed'])
  })
})

function read(body: object, parts: Partial<Question> = {}) {
  return readVerifyAnswer([Buffer.from(JSON.stringify(body))], question(parts), createScrub([]))
}

describe('an answer to another question', () => {
  it('is believed without the price of a category that was asked and has none', () => {
    const passengers = { ...ONE_ADULT, nonResidents: { adults: 1, children: 0, infants: 1 } }
    expect(read(wireAvailable(), { passengers }).outbound).toMatchObject({
      kind: 'available',
      flight: { price: eur('84.50'), priceIsOdd: false },
    })
  })

  it('keeps the believed price where its total is unlike the sum, until a second answer agrees', () => {
    const odd = read(wireAvailable({ price: price({ total: '90.00' }) })).outbound
    const even = read(wireAvailable()).outbound
    const fare = loneFare()
    fare.answer(0, [even])

    expect(fare.answer(60, [odd])).toEqual([])
    expect(fare.state()).toMatchObject({
      belief: { price: eur('84.50') },
      priceReason: 'unconfirmed',
    })
    expect(fare.answer(90, [odd])).toEqual(['price_changed'])
    expect(fare.state()).toMatchObject({ belief: { price: eur('90.00') }, priceReason: null })
  })
})

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
    fare.answer(0, [outward('100.00')])
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
  it.each([1, 2, 3, 4, 5, 6])(
    'give no false record of losses, gains and prices: run %i',
    (seed) => {
      const truth = replicaTruth({ seed, fares: 60, seconds: 3 * 3600 })
      const found = watchReplicas(truth, { seed, olderBy: 60, everySeconds: 4 + 12 * (seed % 3) })

      expect(found.length).toBeGreaterThan(500)
      expect(falseRecords(truth, found)).toEqual([])
    },
  )
})
