import { rollUpDay } from '../../src/history/roll-up-days.ts'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { inTransaction } from '../../src/platform/db/transaction.ts'
import { savePlaceCodes } from '../../src/routes/places.ts'
import { instantOf, type SampleNetwork } from './sample-network.ts'

const at = (day: number) => new Date(instantOf(day)).toISOString()
const dateOf = (day: number) => at(day).slice(0, 10)

/** Writes a network with the rows that a routes list each day would have written, and the daily tables of the firsts of months. */
export async function writeSample(db: Db, network: SampleNetwork): Promise<void> {
  const days = Array.from({ length: network.days }, (_, day) => ({ day, at: at(day) }))
  await sql`
    insert into sync_run (list, status, baseline, started_at, arrived_at, fetched_at, finished_at)
    select 'routes', 'applied', day = 0, at, at, at, at
      from jsonb_to_recordset(${JSON.stringify(days)}) as v (day int, at timestamptz)
     order by day
  `.execute(db)
  await sql`
    insert into place_version (place_id, iata, city, country, valid_from)
    select iata, iata, city, country, ${at(0)}
      from jsonb_to_recordset(${JSON.stringify(network.places)}) as v (iata text, city text, country text)
  `.execute(db)
  const intervals = network.routes.flatMap(({ from, to, intervals: flown }) =>
    flown.map(([begins, ends]) => ({
      from,
      to,
      begins: at(begins),
      ends: ends === null ? null : at(ends),
    })),
  )
  await sql`
    insert into route_version (departure_id, destination_id, valid_from, valid_to, added_by, removed_by)
    select "from", "to", begins, ends, a.id, r.id
      from jsonb_to_recordset(${JSON.stringify(intervals)}) as v ("from" text, "to" text, begins timestamptz, ends timestamptz)
      join sync_run a on a.fetched_at = begins
      left join sync_run r on r.fetched_at = ends
  `.execute(db)
  await inTransaction(db, savePlaceCodes)
  for (const day of firstsOfMonths(network)) await inTransaction(db, (tx) => rollUpDay(tx, day))
  await writePrices(db, network)
}

async function writePrices(db: Db, { prices }: SampleNetwork): Promise<void> {
  const rows = prices.map((price) => ({ ...price, date: dateOf(price.day) }))
  await sql`
    insert into daily_fares (day, departure_iata, destination_iata, departure_id, destination_id, days_to_departure,
                             has_return, residents_adults, residents_children, residents_infants, non_residents_adults,
                             non_residents_children, non_residents_infants, fares, bookable, bookable_share, currency, p10, median, p90)
    select date, "from", "to", "from", "to", "daysToDeparture", false, 0, 0, 0, 1, 0, 0,
           fares, bookable, round(bookable::numeric / fares, 4), 'EUR', median, median, median
      from jsonb_to_recordset(${JSON.stringify(rows)})
        as v (date date, "from" text, "to" text, "daysToDeparture" int, fares int, bookable int, median numeric)
  `.execute(db)
}

/** The days that the questions read from the daily tables of the network. */
export function firstsOfMonths({ days }: SampleNetwork): string[] {
  return Array.from({ length: days }, (_, day) => dateOf(day)).filter((date) =>
    date.endsWith('-01'),
  )
}
