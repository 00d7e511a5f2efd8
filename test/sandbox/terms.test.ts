import { describe, expect, it } from 'vitest'
import { readTerms } from '../../sandbox/world/terms.ts'

const ONE_ADULT = { 'residents[adults]': '0', 'nonResidents[adults]': '1' }
const NONE = { adults: 0, children: 0, infants: 0 }

describe('the rules of terms', () => {
  it('read six counts, of which only the adults are required', () => {
    expect(
      readTerms({ ...ONE_ADULT, 'residents[children]': '3', 'nonResidents[infants]': '1' }),
    ).toMatchObject({
      terms: {
        residents: { ...NONE, children: 3 },
        nonResidents: { adults: 1, children: 0, infants: 1 },
      },
    })
  })

  it.each(['two', '', '1e1', '0x2', 'NaN', '2 adults'])(
    'ignore the non-numeric count %j',
    (text) => {
      expect(readTerms({ ...ONE_ADULT, 'residents[adults]': text })).toMatchObject({
        terms: { residents: NONE, nonResidents: { ...NONE, adults: 1 } },
      })
    },
  )

  it.each([
    ['a count above twelve', { ...ONE_ADULT, 'residents[children]': '13' }, 'residents[children]'],
    ['a negative count', { ...ONE_ADULT, 'nonResidents[infants]': '-1' }, 'nonResidents[infants]'],
    ['half a passenger', { ...ONE_ADULT, 'residents[adults]': '0.5' }, 'residents[adults]'],
    ['no adult', { ...ONE_ADULT, 'nonResidents[adults]': '0' }, 'at least one adult'],
    ['only ignored adults', { ...ONE_ADULT, 'nonResidents[adults]': 'x' }, 'at least one adult'],
    ['more infants than adults', { ...ONE_ADULT, 'residents[infants]': '2' }, 'infants'],
    ['adults that are not given', { 'nonResidents[adults]': '1' }, 'residents[adults] is required'],
  ])('are broken by %s', (_what, query, named) => {
    expect(readTerms(query)).toEqual({ brokenRule: expect.stringContaining(named) })
  })

  it('compare infants with the adults of both groups', () => {
    const query = {
      'residents[adults]': '1',
      'nonResidents[adults]': '1',
      'residents[infants]': '2',
    }

    expect(readTerms(query)).toHaveProperty('terms.residents.infants', 2)
  })

  it('allow twelve of each type', () => {
    const query = {
      'residents[adults]': '12',
      'residents[infants]': '12',
      'nonResidents[adults]': '12',
    }

    expect(readTerms(query)).toHaveProperty('terms.nonResidents.adults', 12)
  })
})
