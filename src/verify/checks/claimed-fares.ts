import { type Db, sql } from '../../db/database.ts'
import type { Question } from '../../upstream/observation.ts'

/** A fare that a claim holds, with its question and the slot at which it may be asked. */
export interface ClaimedFare {
  readonly fareId: number
  readonly slotAt: Date
  readonly question: Question
}

interface ClaimedRow {
  readonly fareId: number
  readonly slotAt: Date
  readonly flightId: string
  readonly returnFlightId: string | null
  readonly residents: Question['passengers']['residents']
  readonly nonResidents: Question['passengers']['nonResidents']
  readonly now: Date
}

/** What a claim holds, in the order of its slots, and the database's clock at the moment of asking. */
export async function findClaimedFares(
  db: Db,
  claimId: string,
): Promise<{ fares: ClaimedFare[]; now: Date | undefined }> {
  const { rows } = await sql<ClaimedRow>`
    select s.tracked_fare_id as "fareId", s.slot_at as "slotAt",
           f.flight_id as "flightId", f.return_flight_id as "returnFlightId",
           jsonb_build_object('adults', f.residents_adults, 'children', f.residents_children,
                              'infants', f.residents_infants) as residents,
           jsonb_build_object('adults', f.non_residents_adults, 'children', f.non_residents_children,
                              'infants', f.non_residents_infants) as "nonResidents",
           clock_timestamp() as now
      from fare_schedule s
      join tracked_fare f on f.id = s.tracked_fare_id
     where s.claim_id = ${claimId}
     order by s.slot_at
  `.execute(db)
  const fares = rows.map(
    ({ fareId, slotAt, flightId, returnFlightId, residents, nonResidents }) => ({
      fareId,
      slotAt,
      question: { flightId, returnFlightId, passengers: { residents, nonResidents } },
    }),
  )
  return { fares, now: rows[0]?.now }
}
