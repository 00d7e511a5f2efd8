import { expect, it } from 'vitest'
import type { PassengerCounts, Question } from '../../src/upstream/question.ts'
import { assertQuestion, PassengerRuleError, QuestionError } from '../../src/upstream/question.ts'
import { json } from './answering-server.ts'
import { clientFor } from './client-fixture.ts'
import { question } from './verify-fixtures.ts'

function mix(
  residents: Partial<PassengerCounts>,
  nonResidents: Partial<PassengerCounts> = {},
): Question['passengers'] {
  const none = { adults: 0, children: 0, infants: 0 }
  return { residents: { ...none, ...residents }, nonResidents: { ...none, ...nonResidents } }
}

const FORBIDDEN: [Question['passengers'], string][] = [
  [mix({}), 'there must be at least one adult'],
  [mix({ children: 2 }), 'there must be at least one adult'],
  [mix({ adults: 1, infants: 2 }), 'infants must not outnumber adults'],
  [mix({ adults: 1, infants: 1 }, { infants: 1 }), 'infants must not outnumber adults'],
  [mix({ adults: 13 }), 'residents[adults] must be a whole number from 0 to 12'],
  [mix({ adults: 1 }, { children: -1 }), 'nonResidents[children] must be a whole number'],
  [mix({ adults: 1 }, { infants: 0.5 }), 'nonResidents[infants] must be a whole number'],
  [mix({ adults: Number.NaN }), 'residents[adults] must be a whole number'],
]

it.each(FORBIDDEN)('the mix %j is forbidden', (passengers, rule) => {
  const ask = () => assertQuestion(question({ passengers }))

  expect(ask).toThrow(PassengerRuleError)
  expect(ask).toThrow(rule)
})

it.each([
  mix({ adults: 1 }),
  mix({}, { adults: 1 }),
  mix({ adults: 12, children: 12, infants: 12 }, { adults: 12, children: 12, infants: 12 }),
  mix({ adults: 2 }, { infants: 2 }),
])('the mix %j is allowed', (passengers) => {
  expect(() => assertQuestion(question({ passengers }))).not.toThrow()
})

it.each([
  [{ flightId: '' }, 'flightId must not be empty'],
  [{ flightId: ' \n' }, 'flightId must not be empty'],
  [{ returnFlightId: '' }, 'returnFlightId must not be empty'],
  [{ flightId: '1'.repeat(201) }, 'flightId must have at most 200 characters'],
  [{ flightId: '1\u0000' }, 'flightId must not contain NUL or lone surrogates'],
  [{ returnFlightId: '\ud800' }, 'returnFlightId must not contain NUL or lone surrogates'],
])('a question with %j is refused', (parts, rule) => {
  const ask = () => assertQuestion(question(parts))

  expect(ask).toThrow(QuestionError)
  expect(ask).toThrow(rule)
})

it('an invalid question is refused before any call', async () => {
  await using fixture = await clientFor(json('{}'))
  const { signal } = new AbortController()

  const asked = fixture.client.verifyFares(question({ passengers: mix({}) }), { signal })

  await expect(asked).rejects.toMatchObject({ code: 'upstream.passenger_rule', retryable: false })
  expect(fixture.calls).toEqual([])
})
