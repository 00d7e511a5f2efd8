import { sql, type Tx } from '../../platform/db/database.ts'
import type { FirstRows } from '../rows/check-rows.ts'

/** How many warnings are reported one by one. */
const SHOWN_WARNINGS = 50

/**
 * Finds the rows of `watch_plan` that begin to ask about what will hardly be found: a flight whose id is no number, as the
 * upstream's are, that has departed, or that no answer has shown; and a route from or to a code of no place. An id that is
 * new to farewatch may be good, and so may an airport that no list has had: nothing is said of them.
 *
 * What answers have shown counts only where the reseller watches the fare: otherwise a plan, which leaves no watch,
 * would reveal what others have asked. A row that has two warnings is named twice.
 */
export async function findWarnings(tx: Tx, resellerId: number): Promise<FirstRows> {
  const { rows } = await sql<{ line: number; column: string; message: string; count: number }>`
    with begun as (
           select p.line, c.column, c.flight, c.belief, c.is_first, s.departs_at, s.flights_id is not null as is_shown
             from watch_plan p
             left join fare_state s
               on s.tracked_fare_id = p.tracked_fare_id
                  and exists (select from watch w
                               where w.tracked_fare_id = p.tracked_fare_id and w.reseller_id = ${resellerId})
            cross join lateral (values ('flight_id', p.flight_id, s.outbound, true),
                                       ('return_flight_id', p.return_flight_id, s.return, false))
                         c ("column", flight, belief, is_first)
            where (p.watch_id is null or p.other_question) and c.flight <> ''),
         doubted as (
           select p.line, c.column, 'is the code of no airport, and of no place in the lists' as message
             from watch_plan p
            cross join lateral (values ('departure', p.departure), ('destination', p.destination)) c ("column", iata)
            where (p.watch_id is null or p.other_question)
              and not exists (select from airport a where a.iata = c.iata)
              and not exists (select from place_version v where v.iata = c.iata)
              and c.iata <> ''
            union all
           select line, "column",
                  case when flight !~ '^[0-9]+$' then 'is no number, as the flight ids of the upstream are'
                       when is_first and departs_at <= clock_timestamp()
                       then 'departed at ' || to_char(departs_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
                       when belief = 'unavailable' and not is_shown
                       then 'was not available when the upstream was asked, and no answer has shown it' end as message
             from begun)
    select line, "column", message, count(*) over () as count
      from doubted
     where message is not null
     order by line, "column"
     limit ${SHOWN_WARNINGS}
  `.execute(tx)
  return {
    rows: rows.map(({ line, column, message }) => ({ line, errors: [{ column, message }] })),
    count: rows[0]?.count ?? 0,
  }
}
