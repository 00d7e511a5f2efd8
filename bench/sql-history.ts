/** A history for bench/sql.ts, written by a few set-based statements, the same in every run. */
import { type Db, type RawBuilder, sql } from '../src/platform/db/database.ts'

/** Three years of daily lists, up to the summer for which the documented questions ask. */
const BEGIN = sql`timestamptz '2023-07-03T06:00Z'`
const DAYS = 1096
/** Intervals of belief a fare: spells of four prices, each ended by a loss. */
const INTERVALS = 30

export interface HistorySize {
  /** Live routes. There are twice as many changes. */
  readonly routes: number
  readonly places: number
  readonly fares: number
}

export async function seedHistory(db: Db, size: HistorySize): Promise<void> {
  await db.connection().execute(async (session) => {
    await sql`set work_mem = '256MB'`.execute(session)
    for (const statement of [...routeStatements(size), ...fareStatements(size)]) {
      await statement.execute(session)
    }
    await sql`reset work_mem`.execute(session)
    await sql`vacuum (analyze)`.execute(session)
  })
}

/** When the routes list of a day was fetched; its run has the number 2 * day + 1, that of the other list one more. */
function fetchedAt(day: string): RawBuilder<unknown> {
  return sql`${BEGIN} + ${sql.raw(day)} * interval '1 day'`
}

function routeStatements({ routes, places }: HistorySize): RawBuilder<unknown>[] {
  const perPlace = Math.floor(routes / places)
  const step = Math.max(1, Math.floor((places - 1) / perPlace))
  return [
    sql`
      insert into sync_run (list, status, baseline, started_at, arrived_at, fetched_at, finished_at, live)
      select list, 'applied', day = 0, at, at, at, at + interval '5 seconds', ${routes}::int
        from generate_series(0, ${DAYS - 1}::int) day
       cross join lateral (values ('routes', ${fetchedAt('day')}),
                                  ('with-availability', ${fetchedAt('day')} + interval '1 hour')) l (list, at)
       order by at`,
    sql`
      insert into place_version (place_id, iata, city, country, valid_from, valid_to)
      select 'p' || n, iata, 'City ' || n || case when nr = 1 then ' (new)' else '' end,
             case when n % 90 = 1 then 'Spain' else 'Country ' || n % 90 end,
             case when nr = 0 then ${fetchedAt('0')} else ${fetchedAt('(1 + n % 1000)')} end,
             case when nr = 0 then ${fetchedAt('(1 + n % 1000)')} end
        from (select row_number() over (order by iata <> 'PMI', iata) as n, iata from airport) a, generate_series(0, 1) nr
       where n <= ${places}::int`,
    // Of four routes one leaves and returns twice, and one loses its availability twice.
    sql`
      create temp table cycle as
      select n, departure_id, destination_id, kind, array[0, a1, b1, a2, a2 + 5 + h % 200] as turns
        from (select *, b1 + 50 + h % 150 as a2
                from (select *, a1 + 5 + (h / 7) % 195 as b1
                        from (select n, h, 100 + h % 300 as a1, n % 4 as kind,
                                     'p' || n / ${perPlace}::int + 1 as departure_id,
                                     'p' || (n / ${perPlace}::int + 1 + n % ${perPlace}::int * ${step}::int) % ${places}::int + 1
                                       as destination_id
                                from (select n, abs(hashint4(n)) as h from generate_series(0, ${perPlace * places - 1}::int) n) i
                             ) x) y) z`,
    sql`
      insert into route_version (departure_id, destination_id, valid_from, valid_to, added_by, removed_by, last_seen_at, first_missed_at)
      select departure_id, destination_id, ${fetchedAt('f')}, ${fetchedAt('t')}, 1 + 2 * f, 1 + 2 * t,
             ${fetchedAt('(t - 2)')}, ${fetchedAt('(t - 1)')}
        from (select *, turns[1 + 2 * i] as f, case when kind = 0 then turns[2 + 2 * i] end as t
                from cycle, generate_series(0, 2) i where i = 0 or kind = 0) v
       order by f`,
    sql`
      insert into route_availability_version (departure_id, destination_id, available, valid_from, valid_to)
      select departure_id, destination_id, case when kind = 1 then i % 2 = 0 else n % 3 > 0 end,
             ${fetchedAt('f')} + interval '1 hour', ${fetchedAt('t')} + case when kind = 1 then interval '1 hour' else '0' end
        from (select *, turns[1 + i] as f, case when kind < 2 then turns[2 + i] end as t
                from cycle, generate_series(0, 4) i where i = 0 or kind = 1 or kind = 0 and i % 2 = 0) v
       order by f`,
    sql`
      insert into route_change (seq, kind, departure_id, destination_id, place_id, before, after, last_seen_at, first_missed_at, recorded_at, sync_run_id)
      select row_number() over (order by day, kind, departure_id, destination_id), kind, departure_id, destination_id, place_id,
             before, after, ${fetchedAt('(day - 2)')}, ${fetchedAt('(day - 1)')}, ${fetchedAt('day')} + interval '4 seconds', run
        from (select turns[i] as day,
                     (array[array['route_removed', 'route_added'], array['route_lost_availability', 'route_gained_availability']])[kind + 1][1 + i % 2] as kind,
                     departure_id, destination_id, null as place_id,
                     case when kind = 1 or i % 2 = 0 then jsonb_build_object('available', i % 2 = 0) end as before,
                     case when kind = 1 or i % 2 = 1 then jsonb_build_object('available', i % 2 = 1) end as after,
                     1 + 2 * turns[i] + kind as run
                from cycle, generate_series(2, 5) i where kind < 2
              union all
              select 1 + substr(place_id, 2)::int % 1000, 'place_changed', null, null, place_id,
                     jsonb_build_object('city', city), jsonb_build_object('city', city || ' (new)'),
                     1 + 2 * (1 + substr(place_id, 2)::int % 1000)
                from place_version where valid_to is not null) c`,
    sql`update feed_head set last_seq = (select max(seq) from route_change) where feed = 'route'`,
  ]
}

/** A flight as records show it. A fare flies from one of the first places to another one. */
const FLIGHT = sql`
  jsonb_build_object('from', d.iata, 'to', a.iata, 'airline', 'Airline ' || n % 40, 'numbers', jsonb_build_array(1000 + n % 9000),
                     'departsAt', to_char(departs, 'YYYY-MM-DD HH24:MI'), 'arrivesAt', to_char(departs + interval '2 hours', 'YYYY-MM-DD HH24:MI'),
                     'stops', '[]'::jsonb)`

/** What a record shows of a fare in its i-th interval, as 0.4 KB of JSON. */
function viewAt(interval: string): RawBuilder<unknown> {
  const at = sql.raw(interval)
  return sql`
    case when ${at} % 5 = 4 or ${at} < 0 then
           jsonb_build_object('pair', 'not_bookable', 'price', null, 'return', null,
             'outbound', jsonb_build_object('belief', 'unavailable', 'price', null, 'identity', null, 'itinerary', null, 'flight', null))
         else
           jsonb_build_object('pair', 'bookable', 'price', jsonb_build_object('amount', 100 + (n + ${at}) % 90, 'currency', 'EUR'), 'return', null,
             'outbound', jsonb_build_object('belief', 'available', 'price', jsonb_build_object('amount', 100 + (n + ${at}) % 90, 'currency', 'EUR'),
                                            'identity', 'airline ' || n % 40 || ', legs 1, ' || n || ' to ' || n || ', 2026-06-20',
                                            'itinerary', '2026-06-20 08:00 to 2026-06-20 10:00; 1234: 1 2026-06-20 08:00 to 2 2026-06-20 10:00',
                                            'flight', flight)) end`
}

/** The last interval of every third fare was never lost, and every sixth fare has departed in it. */
function fareStatements({ fares, places }: HistorySize): RawBuilder<unknown>[] {
  const intervals = sql.lit(INTERVALS)
  return [
    sql`
      create temp table fare as
      select n, timestamp '2026-06-10 08:00' + n % 60 * interval '1 day' as departs,
             timestamptz '2026-04-01T00:00Z' + n % 40 * interval '1 day' + n % 97 * interval '7 minutes' as begins,
             case when n % 3 = 0 then ${intervals} - 2 else ${intervals} - 1 end as last
        from generate_series(1, ${fares}::int) n`,
    sql`
      insert into tracked_fare (flight_id, residents_adults, residents_children, residents_infants,
                                non_residents_adults, non_residents_children, non_residents_infants)
      select 'F' || n, 0, 0, 0, 1, 0, 0 from fare order by n`,
    sql`
      create temp table flown as
      select f.*, ${FLIGHT} as flight
        from fare f
        join place_version d on d.place_id = 'p' || 1 + n % least(200, ${places}::int) and d.valid_to is null
        join place_version a on a.place_id = 'p' || 1 + (n + 1 + n % 7) % least(200, ${places}::int) and a.valid_to is null`,
    sql`
      insert into fare_flights (tracked_fare_id, outbound_from, outbound_to, outbound_airline, outbound_numbers, outbound_departs_local)
      select n, flight ->> 'from', flight ->> 'to', flight ->> 'airline', array[1000 + n % 9000], departs from flown order by n`,
    sql`
      insert into fare_state (tracked_fare_id, outbound, pair, price, currency, state, last_good_check_at, last_check_at, asked_at,
                              price_checked_at, ever_available_at, expired_at, departs_at, flights_id)
      select n, case when last % 5 = 4 then 'unavailable' else 'available' end,
             case when last % 5 = 4 then 'not_bookable' else 'bookable' end, 100 + n % 90, 'EUR',
             jsonb_build_object('outbound', jsonb_build_object('belief', 'available', 'flight', flight, 'identity', repeat('x', 300))),
             begins + (last + 1) * interval '30 hours', begins, begins, begins, begins,
             case when n % 6 = 0 then begins + (last + 1) * interval '30 hours' end, departs, n
        from flown`,
    sql`
      insert into fare_belief_version (tracked_fare_id, outbound, pair, price, currency, valid_from, valid_to, flights_id)
      select n, case when i % 5 = 4 then 'unavailable' else 'available' end,
             case when i % 5 = 4 then 'not_bookable' else 'bookable' end,
             case when i % 5 < 4 then 100 + (n + i) % 90 end, case when i % 5 < 4 then 'EUR' end,
             begins + i * interval '30 hours', case when i < last or n % 6 = 0 then begins + (i + 1) * interval '30 hours' end,
             case when i < last or n % 6 = 0 then n end
        from fare, generate_series(0, last) i
       order by begins + i * interval '30 hours'`,
    sql`
      insert into availability_change (seq, kind, reason, tracked_fare_id, before, after, last_good_check_at, detected_at, recorded_at, provenance)
      select row_number() over (order by at, n), kind, case kind when 'became_unavailable' then 'sold_out' when 'expired' then 'departed' end,
             n, before, after, at - interval '2 minutes', at - interval '20 seconds', at, '{"status": 200, "claimId": null, "latencyMs": 80}'
        from (select n, case when i > last then 'expired' when i % 5 = 0 then 'became_available' when i % 5 = 4 then 'became_unavailable'
                             else 'price_changed' end as kind,
                     ${viewAt('(i - 1)')} as before, ${viewAt('i')} as after, begins + i * interval '30 hours' as at
                from flown
               cross join generate_series(0, last + case when n % 6 = 0 then 1 else 0 end) i) c
       order by at, n`,
    sql`update feed_head set last_seq = (select max(seq) from availability_change) where feed = 'availability'`,
  ]
}
