import { type Db, sql } from '../../platform/db/database.ts'
import { HISTORY_FLOOR } from '../../platform/db/history-floor.ts'

/** A place with its present attributes, and its airport's position where the code is known. */
export interface LocatedPlace {
  readonly id: string
  readonly iata: string
  readonly city: string
  readonly country: string
  readonly isoCountry: string | null
  readonly latitude: number | null
  readonly longitude: number | null
  readonly zone: string | null
}

export async function readPlaces(db: Db): Promise<LocatedPlace[]> {
  return db
    .selectFrom('place_version as p')
    .leftJoin('airport as a', 'a.iata', 'p.iata')
    .select(['p.place_id as id', 'p.iata', 'p.city', 'p.country', 'a.country as isoCountry'])
    .select(['a.latitude', 'a.longitude', 'a.zone'])
    .where('p.valid_to', 'is', null)
    .orderBy('p.place_id')
    .execute()
}

/** What was added and removed between two instants, and the routes that were live at the second one. */
export interface NetworkDifference {
  /** Destinations by departure, both as place ids. */
  readonly live: Readonly<Record<string, readonly string[]>>
  readonly changes: readonly NetworkChange[]
}

export interface NetworkChange {
  readonly departureId: string
  readonly destinationId: string
  readonly added: boolean
  readonly at: Date
}

/** The most changes that one answer carries. */
export const MAX_CHANGES = 200_000

/** The first list is no change: its routes count as live before. The changes are by valid time, oldest first. Undefined if there are more than MAX_CHANGES of them. */
export async function readDifference(
  db: Db,
  { from, to }: { readonly from: Date; readonly to: Date },
): Promise<NetworkDifference | undefined> {
  return db
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute(async (tx) => {
      const changes = await sql<NetworkChange>`
        select departure_id as "departureId", destination_id as "destinationId", added, at
          from (select departure_id, destination_id, true as added, valid_from as at from route_version
                 where valid_from > ${from} and valid_from <= ${to}
                   and valid_from > (select least(min(valid_from), ${HISTORY_FLOOR}) from route_version)
                union all
                select departure_id, destination_id, false, valid_to from route_version
                 where valid_to > ${from} and valid_to <= ${to}) c
         order by at, departure_id, destination_id
         limit ${MAX_CHANGES + 1}
      `.execute(tx)
      if (changes.rows.length > MAX_CHANGES) return undefined
      const live = await sql<{ id: string; destinations: string[] }>`
        select departure_id as id, array_agg(destination_id order by destination_id) as destinations
          from route_version
         where tstzrange(valid_from, valid_to) @> ${to}::timestamptz
         group by departure_id
         order by departure_id
      `.execute(tx)
      const byDeparture = live.rows.map(({ id, destinations }) => [id, destinations])
      return { live: Object.fromEntries(byDeparture), changes: changes.rows }
    })
}
