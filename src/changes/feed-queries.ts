import { type Db, sql } from '../db/database.ts'
import type { AvailabilityChangeKind } from './availability-feed.ts'

/** A record of the feed of all fares. */
export interface AvailabilityChange {
  readonly seq: number
  readonly id: string
  readonly kind: AvailabilityChangeKind
  readonly fareId: number
  readonly flightId: string
  readonly returnFlightId: string | null
  readonly before: unknown
  readonly after: unknown
  readonly lastGoodCheckAt: Date | null
  readonly detectedAt: Date
  readonly recordedAt: Date
}

/** The records after a number, in order. */
export async function readAvailabilityChanges(
  db: Db,
  { after, limit }: { after: number; limit: number },
): Promise<AvailabilityChange[]> {
  const { rows } = await sql<AvailabilityChange>`
    select c.seq, c.id, c.kind, c.tracked_fare_id as "fareId", f.flight_id as "flightId",
           f.return_flight_id as "returnFlightId", c.before, c.after, c.last_good_check_at as "lastGoodCheckAt",
           c.detected_at as "detectedAt", c.recorded_at as "recordedAt"
      from availability_change c
      join tracked_fare f on f.id = c.tracked_fare_id
     where c.seq > ${after}
     order by c.seq
     limit ${limit}
  `.execute(db)
  return rows
}
