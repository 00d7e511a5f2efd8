import { quote } from '../base/text.ts'
import type { ProblemFault } from '../http/problems.ts'
import type { PassengerCounts } from '../upstream/observation.ts'
import { checkRow } from './rows/check-row.ts'
import type { Column, WrittenRow } from './rows/written-row.ts'

type GivenCounts = { readonly [T in keyof PassengerCounts]?: number | undefined }

/** A watch as the API takes it. A count that is missing is 0. */
export interface GivenWatch {
  readonly reference: string
  readonly flightId: string
  readonly returnFlightId?: string | null | undefined
  readonly passengers: {
    readonly residents?: GivenCounts | undefined
    readonly nonResidents?: GivenCounts | undefined
  }
  readonly priceThresholdAmount?: string | null | undefined
  readonly priceThresholdPercent?: string | null | undefined
  readonly departsOn?: string | null | undefined
  readonly minIntervalSeconds?: number | null | undefined
}

export type Cells = WrittenRow['cells']

/** The watch as a row of a file: one set of rules holds for both. */
export function cellsOfGiven(list: string, watch: GivenWatch): Cells {
  const { residents, nonResidents } = watch.passengers
  const count = (counts: GivenCounts | undefined, type: keyof PassengerCounts) =>
    String(counts?.[type] ?? 0)
  return {
    list,
    reference: watch.reference,
    flight_id: watch.flightId,
    return_flight_id: watch.returnFlightId ?? '',
    residents_adults: count(residents, 'adults'),
    residents_children: count(residents, 'children'),
    residents_infants: count(residents, 'infants'),
    non_residents_adults: count(nonResidents, 'adults'),
    non_residents_children: count(nonResidents, 'children'),
    non_residents_infants: count(nonResidents, 'infants'),
    price_threshold_amount: watch.priceThresholdAmount ?? '',
    price_threshold_percent: watch.priceThresholdPercent ?? '',
    departs_on: watch.departsOn ?? '',
    min_interval_seconds: String(watch.minIntervalSeconds ?? ''),
  }
}

const PLACES: Readonly<Record<Column, string>> = {
  // It stands in the path, and has passed already.
  list: '',
  reference: '/reference',
  flight_id: '/flightId',
  return_flight_id: '/returnFlightId',
  residents_adults: '/passengers/residents/adults',
  residents_children: '/passengers/residents/children',
  residents_infants: '/passengers/residents/infants',
  non_residents_adults: '/passengers/nonResidents/adults',
  non_residents_children: '/passengers/nonResidents/children',
  non_residents_infants: '/passengers/nonResidents/infants',
  price_threshold_amount: '/priceThresholdAmount',
  price_threshold_percent: '/priceThresholdPercent',
  departs_on: '/departsOn',
  min_interval_seconds: '/minIntervalSeconds',
}

/** What is wrong with rows of a body, each fault with the place of what is wrong, in their order. */
export function faultsOfGiven(rows: readonly Cells[]): ProblemFault[] {
  const firstOf = new Map<string, number>()
  return rows.flatMap((cells, index) => {
    const checked = checkRow({ line: index + 1, cells, faults: [] })
    const faults = 'faults' in checked ? checked.faults : []
    const found = faults.map(({ column, says }) => ({
      // Several columns of one rule are the passenger mix.
      pointer: `/watches/${index}${PLACES[column as Column] ?? '/passengers'}`,
      detail: says,
    }))
    const { reference = '' } = cells
    const first = firstOf.get(reference)
    if (first === undefined) {
      firstOf.set(reference, index)
      return found
    }
    const detail = `${quote(reference)} is the reference of /watches/${first} already`
    return [...found, { pointer: `/watches/${index}/reference`, detail }]
  })
}
