import { describe, expect, it } from 'vitest'
import { readVerifyAnswer } from '../../src/upstream/fares/read-verify-answer.ts'
import { judgedBy } from '../../src/upstream/flights/answer-habits.ts'
import type { Observation } from '../../src/upstream/observation.ts'
import { questionWith } from '../../src/upstream/question.ts'
import { BACK, OUT } from './answers.ts'
import { type Becomes, readingOf, VERIFY_CASES } from './verify-answers.ts'

const UNUSUAL = { usual: new Set<string>() }
/** What the detail of some unknown answers says. */
const SAYS: Readonly<Record<string, string>> = {
  'no body': 'the body is empty',
  'available twice': 'a name twice in one object',
  'a thousand levels': 'deeper than 32 levels',
  'thirteen legs': 'flight.legs is a list of 13, not of 1 to 12',
  'a segment without a destination': 'legs[0].to.id is missing',
  'an id with a fraction': 'flight.airline.id is not a whole number',
  'hour 25': 'departure is not a time of the calendar',
}

// Fault: Contract violations: rejected, or unknown; never an unavailable fare.
describe('an upstream that was written from the interface alone', () => {
  it('has at least 90 kinds of answer to a question, each under its own name', () => {
    const names = new Set(VERIFY_CASES.map(({ name }) => name))
    expect(names.size).toBe(VERIFY_CASES.length)
    expect(VERIFY_CASES.length).toBeGreaterThanOrEqual(90)
    expect(Object.keys(SAYS).filter((name) => !names.has(name))).toEqual([])
  })

  it.each(VERIFY_CASES)(
    // Fault: The upstream answers a verify call in any of over 160 ways, such as an error with `available: false`, impossible
    // times or a price of zero. Each becomes what `fares/cases.md` says. An arrival before its departure by local time can be
    // true: NRT to HNL, AKL to LAX, SYD to SFO.
    'is read as $becomes when it sends $name',
    ({ name, answer, becomes, back, anomalies }) => {
      const returnFlightId = back === undefined ? null : BACK
      const question = { ...questionWith({ flightId: OUT }), returnFlightId }

      const read = readVerifyAnswer([Buffer.from(answer.body ?? '')], question, (text) => text)
      const { outbound, return: returned, detail } = judgedBy(UNUSUAL, read as Observation)

      const readings = [readingOf(outbound), returned && readingOf(returned)]
      expect(readings).toEqual([becomes, back ?? null] satisfies (Becomes | null)[])
      expect(new Set(read.anomalies)).toEqual(new Set(anomalies))
      if (outbound.kind === 'unknown') expect(detail).toContain(SAYS[name] ?? ' ')
    },
  )
})
