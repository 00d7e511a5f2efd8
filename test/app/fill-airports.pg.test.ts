import { expect } from 'vitest'
import { fillAirports } from '../../src/app/fill-airports.ts'
import { airportsByIata } from '../../src/platform/airports/airports.ts'
import { sql } from '../../src/platform/db/database.ts'
import { it } from '../support/test-database.ts'

it('the table of airports equals the data file, and equal rows are not written again', async ({
  db,
}) => {
  const read = async () => {
    const { rows } = await sql<{ xmin: string; iata: string }>`
      select xmin::text, a.* from airport a order by iata
    `.execute(db)
    return rows
  }
  const before = await read()
  await sql`update airport set zone = 'Etc/UTC' where iata = 'PMI'`.execute(db)
  await sql`delete from airport where iata = 'MAD'`.execute(db)
  await sql`insert into airport select '???', 'XX', 'EU', 0, 0, 'Etc/UTC'`.execute(db)

  await fillAirports(db)

  const after = await read()
  const airports = after.map(({ xmin: _, ...airport }) => airport)
  expect(new Map(airports.map((one) => [one.iata, one]))).toEqual(airportsByIata())
  const known = new Map(before.map(({ iata, xmin }) => [iata, xmin]))
  const written = after.filter(({ xmin, iata }) => known.get(iata) !== xmin)
  expect(written.map(({ iata }) => iata)).toEqual(['MAD', 'PMI'])
})
