import { type RawBuilder, sql } from '../../db/database.ts'
import type { Question } from '../../upstream/observation.ts'

/** Whether a tracked fare asks a question, of the columns of `tracked_fare`; its unique index serves that. */
export function asksQuestion({
  flightId,
  returnFlightId,
  passengers,
}: Question): RawBuilder<boolean> {
  const { residents, nonResidents } = passengers
  return sql<boolean>`
    flight_id = ${flightId} and return_flight_id is not distinct from ${returnFlightId}
      and (residents_adults, residents_children, residents_infants)
          = (${residents.adults}, ${residents.children}, ${residents.infants})
      and (non_residents_adults, non_residents_children, non_residents_infants)
          = (${nonResidents.adults}, ${nonResidents.children}, ${nonResidents.infants})
  `
}
