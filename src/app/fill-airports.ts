import { airportsByIata } from '../platform/airports/airports.ts'
import { type Db, sql } from '../platform/db/database.ts'
import { inTransaction } from '../platform/db/transaction.ts'

/**
 * Makes the table `airport` equal to the data file, for SQL. Rows that are equal already are not written, so
 * processes that start together do not wait for each other.
 */
export async function fillAirports(db: Db): Promise<void> {
  const airports = [...airportsByIata().values()]
  await inTransaction(db, async (tx) => {
    await sql`
      insert into airport
      select given.*
        from jsonb_to_recordset(${JSON.stringify(airports)}::jsonb)
          as given (iata text, country text, continent text, latitude float8, longitude float8, zone text)
        left join airport a on a.iata = given.iata
       where (a.country, a.continent, a.latitude, a.longitude, a.zone)
             is distinct from (given.country, given.continent, given.latitude, given.longitude, given.zone)
       order by given.iata
          on conflict (iata) do update
         set (country, continent, latitude, longitude, zone) =
             (excluded.country, excluded.continent, excluded.latitude, excluded.longitude, excluded.zone)
    `.execute(tx)
    await sql`
      delete from airport where iata <> all(${airports.map(({ iata }) => iata)}::text[])
    `.execute(tx)
  })
}
