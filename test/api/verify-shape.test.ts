import { Value } from 'typebox/value'
import { describe, expect, it } from 'vitest'
import answers from '../../src/app/api-examples.json' with { type: 'json' }
import { VerifyResultShape } from '../../src/fares/on-demand/verify-operations.ts'
import { readFlight } from '../../src/upstream/flights/read-flight.ts'

const ID = '101103205320'
const PASSENGERS = {
  residents: { adults: 0, children: 0, infants: 0 },
  nonResidents: { adults: 2, children: 0, infants: 0 },
}
const { flight } = answers.verifyFares[ID]
const { price, from, airline } = flight

describe('the documented schema of a verify answer', () => {
  it.each([
    ['a price of three places', { price: { ...price, total: 97.635 } }],
    ['a price that is not a number', { price: { ...price, total: 'NaN' } }],
    ['no price', { price: undefined }],
    ['a price that is not an object', { price: '169.00' }],
    ['ids as text', { id: ID, from: { ...from, id: '101' }, airline: { ...airline, id: '7' } }],
    ['a flight number as text', { legs: flight.legs.map((leg) => ({ ...leg, number: '11' })) }],
    ['missing names', { from: { id: 101 }, airline: { id: 7, name: null } }],
    ['a duration in seconds', { duration: 5_400 }],
    ['no site, and an unknown field', { site: undefined, colour: 'red' }],
  ])('the schema allows %s', (_what, unusual) => {
    const sent = { ...flight, ...unusual }
    const viewed = () => readFlight(sent, { id: ID, passengers: PASSENGERS, show: (text) => text })

    expect(viewed).not.toThrow()
    expect(Value.Errors(VerifyResultShape, { [ID]: { available: true, flight: sent } })).toEqual([])
  })

  it('the schema does not allow an unreadable date', () => {
    const sent = { ...flight, dates: { departure: 'tomorrow' } }

    expect(Value.Check(VerifyResultShape, { [ID]: { available: true, flight: sent } })).toBe(false)
  })
})
