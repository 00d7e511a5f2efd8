import type { PassengerMix } from '../upstream/observation.ts'
import type { Fault } from './written-row.ts'

/** The upstream's rules on six counts of 0 to 12 each; it would refuse what breaks them. */
export function passengerFaults({ residents, nonResidents }: PassengerMix): Fault[] {
  const adults = residents.adults + nonResidents.adults
  const infants = residents.infants + nonResidents.infants
  const faults: Fault[] = []
  if (adults < 1) {
    faults.push({
      column: 'residents_adults, non_residents_adults',
      says: 'there must be at least one adult',
    })
  }
  if (infants > adults) {
    faults.push({
      column: 'residents_infants, non_residents_infants',
      says: 'infants must not outnumber adults',
    })
  }
  return faults
}
