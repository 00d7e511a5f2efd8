import type { PassengerMix } from '../../upstream/observation.ts'
import { totalOf, violatedPassengerRule } from '../../upstream/passenger-rules.ts'
import type { Fault } from './written-row.ts'

/** What the upstream would refuse of counts that are right one by one, by the columns to look at. */
export function passengerFaults(mix: PassengerMix): Fault[] {
  const rule = violatedPassengerRule(mix)
  if (rule === undefined) return []
  const type = totalOf(mix, 'adults') < 1 ? 'adults' : 'infants'
  return [{ column: `residents_${type}, non_residents_${type}`, says: rule }]
}
