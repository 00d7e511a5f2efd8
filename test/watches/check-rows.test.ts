import { describe, expect, it } from 'vitest'
import { checkRow } from '../../src/watches/rows/check-rows.ts'
import { type Cells, cells } from './watch-fixtures.ts'

function check(given: Cells) {
  return checkRow({ line: 7, cells: cells(given), errors: [] })
}

/** The errors of a row as "column: message". */
function errorsOf(given: Cells): string[] {
  const checked = check(given)
  return 'errors' in checked
    ? checked.errors.map(({ column, message }) => `${column}: ${message}`)
    : []
}

describe('a row of a watch list', () => {
  it('a row with valid cells becomes an entry', () => {
    expect(
      check({
        list: 'summer',
        reference: 'A-1',
        flight_id: '101103206540',
        return_flight_id: '103101206610',
        residents_adults: '2',
        residents_children: '1',
        residents_infants: '',
        non_residents_adults: '0',
        price_threshold_amount: '10.50',
        price_threshold_percent: '5',
        departs_on: '2028-02-29',
        min_interval_seconds: '300',
        priority: 'high',
        max_delay_seconds: '300',
      }),
    ).toEqual({
      line: 7,
      entry: {
        list: 'summer',
        reference: 'A-1',
        route: null,
        question: {
          flightId: '101103206540',
          returnFlightId: '103101206610',
          passengers: {
            residents: { adults: 2, children: 1, infants: 0 },
            nonResidents: { adults: 0, children: 0, infants: 0 },
          },
        },
        priceThresholdAmount: '10.5',
        priceThresholdPercent: '5',
        departsOn: '2028-02-29',
        maxDelaySeconds: 300,
        intents: null,
        minIntervalSeconds: 300,
        priority: 'high',
      },
    })
  })

  it.each<[string, Cells, Cells]>([
    ['white space around a flight id', { flight_id: ' 101\t' }, { flight_id: '101' }],
    ['white space for no return flight', { return_flight_id: '  ' }, {}],
    ['leading zeros of a count', { residents_adults: '05' }, { residents_adults: '5' }],
    ['white space around a count', { residents_adults: ' 5 ' }, { residents_adults: '5' }],
    ['a count of 0', { residents_children: '0' }, { residents_children: '' }],
    ['superfluous zeros', { price_threshold_amount: '012.50' }, { price_threshold_amount: '12.5' }],
    [
      'a superfluous fraction',
      { price_threshold_percent: '7.0' },
      { price_threshold_percent: '7' },
    ],
    ['a threshold of 0', { price_threshold_amount: '0.00' }, { price_threshold_amount: '0' }],
  ])('a row has the same meaning with and without %s', (_, one, other) => {
    expect(check(one)).toEqual(check(other))
    expect(check(one)).toHaveProperty('entry')
  })

  it.each<[Cells, string]>([
    [{ list: '' }, 'list: is missing'],
    [{ list: ' summer' }, 'list: must not begin or end with white space'],
    [{ reference: '..' }, 'reference: must not be "." or "..", which an address cannot end in'],
    [{ reference: 'A\0' }, 'reference: must not hold a NUL character'],
    [{ reference: 'A\ud800B' }, 'reference: must not hold half of a surrogate pair'],
    [{ reference: 'A\nB' }, 'reference: must not hold control characters'],
    [{ reference: 'x'.repeat(201) }, 'reference: must not be longer than 200 characters'],
    [{ flight_id: ' ' }, 'flight_id: is missing'],
    [{ residents_adults: '' }, 'residents_adults: is missing'],
    [{ residents_adults: '13' }, 'residents_adults: must be a whole number from 0 to 12, not "13"'],
    [
      { residents_infants: '-1' },
      'residents_infants: must be a whole number from 0 to 12, not "-1"',
    ],
    [
      { non_residents_adults: '0' },
      'residents_adults, non_residents_adults: there must be at least one adult',
    ],
    [
      { price_threshold_amount: '-1' },
      'price_threshold_amount: must be a decimal number of 0 or more such as 12.50, not "-1"',
    ],
    [
      { price_threshold_percent: '5%' },
      'price_threshold_percent: must be a decimal number of 0 or more such as 12.50, not "5%"',
    ],
    [
      { departs_on: '2026-02-30' },
      'departs_on: must be a date such as 2026-01-31, not "2026-02-30"',
    ],
    [
      { min_interval_seconds: '0' },
      'min_interval_seconds: must be a whole number from 1 to 2592000, not "0"',
    ],
    [{ priority: 'Urgent' }, 'priority: must be low, normal, high or urgent, not "Urgent"'],
  ])('a row with %j is invalid', (given, error) => {
    expect(errorsOf(given)).toEqual([error])
  })

  it('an error escapes characters that a terminal would act on', () => {
    expect(errorsOf({ departs_on: '\u001b[31m\u202e\u009b' })).toEqual([
      'departs_on: must be a date such as 2026-01-31, not "\\u001b[31m\\u202e\\u009b"',
    ])
  })
})
