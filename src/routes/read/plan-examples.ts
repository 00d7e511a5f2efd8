import type { RouteListName } from '../../platform/base/kinds.ts'
import { type RawBuilder, sql, type Tx } from '../../platform/db/database.ts'
import type { Place } from '../../upstream/route-list.ts'
import { LIVE } from '../absences.ts'

/** Examples of each kind. */
const EXAMPLES = 5

export interface RouteExample {
  readonly departure: Place
  readonly destination: Place
}

interface CountryShare {
  readonly country: string
  readonly missing: number
  readonly live: number
}

/**
 * A few examples of what a list would change. Routes are a sample, the same in each report, in the order of their
 * ids.
 */
export type PlanExamples = Awaited<ReturnType<typeof readExamples>>

/** Reads the examples from the temporary tables of a plan's transaction. */
export async function readExamples(tx: Tx, list: RouteListName) {
  const live = LIVE[list]
  return {
    missing: await readRoutes(tx, sql`snapshot_missing`),
    added: await readRoutes(tx, sql`snapshot_added`),
    countries: await readCountries(tx, live),
    placesLost: await readPlacesLost(tx, live),
    placesChanged: list === 'routes' ? await readPlacesChanged(tx) : [],
  }
}

/** The current attributes; for a new place those of the list, the smallest if it gives several. */
const attributesOf = (id: RawBuilder<unknown>) => sql`
  coalesce((select jsonb_build_object('id', place_id, 'iata', iata, 'city', city, 'country', country)
              from place_version where place_id = ${id} and valid_to is null),
           (select jsonb_build_object('id', place_id, 'iata', iata, 'city', city, 'country', country)
              from staged_place where place_id = ${id}
             order by iata collate "C", city collate "C", country collate "C" limit 1))`

async function readRoutes(tx: Tx, pairs: RawBuilder<unknown>): Promise<RouteExample[]> {
  const { rows } = await sql<RouteExample>`
    select ${attributesOf(sql`p.departure_id`)} as departure,
           ${attributesOf(sql`p.destination_id`)} as destination
      from (select departure_id, destination_id from ${pairs}
             order by md5(departure_id || ' ' || destination_id) limit ${EXAMPLES}) p
     order by p.departure_id, p.destination_id
  `.execute(tx)
  return rows
}

/** The countries of departure with the most missing routes. */
async function readCountries(tx: Tx, live: RawBuilder<unknown>): Promise<CountryShare[]> {
  const { rows } = await sql<CountryShare>`
    select v.country, count(m.departure_id) as missing, count(*) as live
      from ${live} r
      join place_version v on v.place_id = r.departure_id and v.valid_to is null
      left join snapshot_missing m
             on (m.departure_id, m.destination_id) = (r.departure_id, r.destination_id)
     group by v.country
    having count(m.departure_id) > 0
     order by missing desc, v.country
     limit ${EXAMPLES}
  `.execute(tx)
  return rows
}

/** Places that lose their last route: how many, and a few of them. */
async function readPlacesLost(tx: Tx, live: RawBuilder<unknown>) {
  const { rows } = await sql<Place & { total: number }>`
    with missing_of as (
           select place_id, count(*) as ends
             from (select departure_id as place_id from snapshot_missing
                    union all select destination_id from snapshot_missing) e
            group by place_id),
         live_of as (
           select place_id, count(*) as ends
             from (select departure_id as place_id from ${live} a
                    union all select destination_id from ${live} b) e
            group by place_id),
         lost as (
           select l.place_id, l.ends from live_of l join missing_of m using (place_id, ends))
    select v.place_id as id, v.iata, v.city, v.country, (select count(*) from lost) as total
      from lost
      join place_version v on v.place_id = lost.place_id and v.valid_to is null
     order by lost.ends desc, v.place_id
     limit ${EXAMPLES}
  `.execute(tx)
  const places = rows.map(({ total: _total, ...place }) => place)
  return { count: rows[0]?.total ?? 0, places }
}

async function readPlacesChanged(tx: Tx): Promise<{ before: Place; after: Place }[]> {
  const { rows } = await sql<{ before: Place; after: Place }>`
    select jsonb_build_object('id', v.place_id, 'iata', v.iata, 'city', v.city, 'country', v.country) as before,
           jsonb_build_object('id', s.place_id, 'iata', s.iata, 'city', s.city, 'country', s.country) as after
      from snapshot_place s
      join place_version v on v.place_id = s.place_id and v.valid_to is null
     where s.changed
     order by s.place_id
     limit ${EXAMPLES}
  `.execute(tx)
  return rows
}
