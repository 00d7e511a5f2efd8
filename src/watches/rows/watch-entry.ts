import type { WatchPriority } from '../../platform/base/kinds.ts'
import type { PassengerMix, Question } from '../../upstream/observation.ts'
import type { Column } from './raw-row.ts'

/** A row of a watch list in canonical form: two rows with the same meaning are equal. */
export interface WatchEntry {
  readonly list: string
  /** The reseller's name for the watch, unique within the list. */
  readonly reference: string
  readonly question: Question
  /** Decimal text without superfluous zeros. If null, the reseller is notified of every change of the price. */
  readonly priceThresholdAmount: string | null
  readonly priceThresholdPercent: string | null
  /** `YYYY-MM-DD`; null if the reseller did not give it. */
  readonly departsOn: string | null
  readonly minIntervalSeconds: number | null
  readonly priority: WatchPriority
  /** The longest expected interval between two checks; null if the reseller set none. */
  readonly maxDelaySeconds: number | null
}

/** A watch entry as the columns of one SQL row. */
export interface FlatEntry {
  readonly list: string
  readonly reference: string
  readonly flightId: string
  readonly returnFlightId: string | null
  readonly residentsAdults: number
  readonly residentsChildren: number
  readonly residentsInfants: number
  readonly nonResidentsAdults: number
  readonly nonResidentsChildren: number
  readonly nonResidentsInfants: number
  readonly priceThresholdAmount: string | null
  readonly priceThresholdPercent: string | null
  readonly departsOn: string | null
  readonly minIntervalSeconds: number | null
  readonly priority: WatchPriority
  readonly maxDelaySeconds: number | null
}

export function entryOf(flat: FlatEntry): WatchEntry {
  const passengers: PassengerMix = {
    residents: {
      adults: flat.residentsAdults,
      children: flat.residentsChildren,
      infants: flat.residentsInfants,
    },
    nonResidents: {
      adults: flat.nonResidentsAdults,
      children: flat.nonResidentsChildren,
      infants: flat.nonResidentsInfants,
    },
  }
  return {
    list: flat.list,
    reference: flat.reference,
    question: { flightId: flat.flightId, returnFlightId: flat.returnFlightId, passengers },
    priceThresholdAmount: flat.priceThresholdAmount,
    priceThresholdPercent: flat.priceThresholdPercent,
    departsOn: flat.departsOn,
    minIntervalSeconds: flat.minIntervalSeconds,
    priority: flat.priority,
    maxDelaySeconds: flat.maxDelaySeconds,
  }
}

/** The entry as the cells of a file. Missing values are null; counts are always written. */
export function cellsOf(entry: WatchEntry): Record<Column, string | number | null> {
  const { flightId, returnFlightId, passengers } = entry.question
  const { residents, nonResidents } = passengers
  return {
    list: entry.list,
    reference: entry.reference,
    flight_id: flightId,
    return_flight_id: returnFlightId,
    residents_adults: residents.adults,
    residents_children: residents.children,
    residents_infants: residents.infants,
    non_residents_adults: nonResidents.adults,
    non_residents_children: nonResidents.children,
    non_residents_infants: nonResidents.infants,
    price_threshold_amount: entry.priceThresholdAmount,
    price_threshold_percent: entry.priceThresholdPercent,
    departs_on: entry.departsOn,
    min_interval_seconds: entry.minIntervalSeconds,
    priority: entry.priority,
    max_delay_seconds: entry.maxDelaySeconds,
  }
}
