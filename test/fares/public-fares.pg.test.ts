import { describe, expect } from 'vitest'
import { readPublicTables } from '../../src/history/public-tables.ts'
import { asAnalyst } from '../../src/platform/db/analyst-session.ts'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { STALE_SECONDS } from '../../src/schedule/due.ts'
import type { LegObservation } from '../../src/upstream/observation.ts'
import { place, sync } from '../routes/sync-fixtures.ts'
import { it } from '../support/test-database.ts'
import { available, endFares, minute, record, trackFare } from './fare-fixtures.ts'

function flightAt(departsAt: string, from = 'PMI', to = 'MAD'): LegObservation {
  const leg = available()
  if (leg.kind !== 'available') return leg
  const itinerary = `${departsAt}|3900`
  const flight = { ...leg.flight.flight, departsAt, from, to }
  return { kind: 'available', flight: { ...leg.flight, itinerary, departsAt, flight } }
}

describe('the flights of a fare in the public SQL', () => {
  it('each leg shows its codes, places, airline, numbers and departure, so that fares join routes', async ({
    db,
  }) => {
    const [palma, madrid] = [place('p1', { iata: 'PMI' }), place('p2', { iata: 'MAD' })]
    await sync(db, [{ departure: palma, destination: madrid }])
    const fare = await trackFare(db, { returnFlightId: 'F2' })
    await record(
      db,
      fare,
      minute(0),
      flightAt('2027-07-10 08:00'),
      flightAt('2027-01-20 21:00', 'MAD', 'Springfield'),
    )

    const { rows } = await sql`
      select outbound_departure_iata, outbound_departure_id, outbound_destination_iata, outbound_destination_id,
             outbound_airline, outbound_flight_numbers, outbound_departs_local::text, outbound_departs_at,
             return_departure_id, return_destination_iata, return_destination_id, return_departs_at
        from farewatch.fares_current
    `.execute(db)
    expect(rows).toEqual([
      {
        outbound_departure_iata: 'PMI',
        outbound_departure_id: 'p1',
        outbound_destination_iata: 'MAD',
        outbound_destination_id: 'p2',
        outbound_airline: 'VY',
        outbound_flight_numbers: [3900],
        outbound_departs_local: '2027-07-10 08:00:00',
        outbound_departs_at: new Date('2027-07-10T06:00Z'),
        return_departure_id: 'p2',
        return_destination_iata: null,
        return_destination_id: null,
        return_departs_at: new Date('2027-01-20T20:00Z'),
      },
    ])
    const { rows: joined } = await sql`
      select r.destination_city, h.non_residents_adults
        from farewatch.fare_history h
        join farewatch.routes_current r
          on (r.departure_id, r.destination_id) = (h.outbound_departure_id, h.outbound_destination_id)
    `.execute(db)
    expect(joined).toEqual([{ destination_city: 'City p2', non_residents_adults: 1 }])
  })
})

/** The columns of a query with their types. */
async function columnsOf(db: Db, from: string): Promise<string[]> {
  const { rows } = await sql<{ column: string }>`
    select key || ' ' || value as column
      from jsonb_each_text((select jsonb_object_agg(attname, atttypid::regtype) from pg_attribute
                             where attrelid = ${from}::regclass and attnum > 0))
     order by 1
  `.execute(db)
  return rows.map(({ column }) => column)
}

describe('fares_as_of', () => {
  it('an ended fare is ended, also for later instants, until it is believed of again', async ({
    db,
  }) => {
    const fare = await trackFare(db)
    await record(db, fare, minute(0), available())
    await sql`update fare_state set departs_at = clock_timestamp()`.execute(db)
    await endFares(db)
    const at = async (instant: Date | string) => {
      const { rows } = await sql`
        select state, outbound, price::text, expired_at is not null as ended
          from farewatch.fares_as_of(${instant}::timestamptz)
      `.execute(db)
      return rows
    }
    const bookable = { state: 'bookable', outbound: 'available', price: '100.00', ended: false }
    const ended = { state: 'ended', outbound: null, price: null, ended: true }

    expect(await at(minute(-1))).toEqual([])
    expect(await at(minute(0))).toEqual([bookable])
    expect(await at('infinity')).toEqual([ended])

    await sql`
      insert into fare_belief_version (tracked_fare_id, outbound, pair, price, currency, valid_from)
      select ${fare}, 'available', 'bookable', 100.00, 'EUR', valid_to + interval '1 hour' from fare_belief_version
    `.execute(db)

    expect(await at('infinity')).toEqual([bookable])
    expect(await at(new Date(Date.now() + 60_000))).toEqual([ended])
  })

  it('has the columns of fares_current that the history knows, with the same types', async ({
    db,
  }) => {
    await sql`create temporary table as_of as select * from farewatch.fares_as_of(now())`.execute(
      db,
    )
    const present = new Set(await columnsOf(db, 'farewatch.fares_current'))

    const columns = await columnsOf(db, 'as_of')

    const others = columns.filter((column) => !present.has(column))
    expect(others).toEqual(['valid_from timestamp with time zone'])
  })
})

describe('a belief in fares_current', () => {
  it.for([
    ['ten minutes', 1, STALE_SECONDS],
    ['six intervals, if these are longer', 1 / 200, 1_200],
  ] as const)('is stale after %s', async ([, rate, limit], { db }) => {
    for (const age of [limit - 60, limit + 1]) {
      const fareId = await trackFare(db, { flightId: `F${age}` })
      await record(db, fareId, new Date(Date.now() - age * 1_000), available())
    }
    await sql`update fare_schedule set rate = ${rate}`.execute(db)

    const { rows } = await sql`
      select stale from farewatch.fares_current order by fare_id
    `.execute(db)
    expect(rows).toEqual([{ stale: false }, { stale: true }])
  })
})

describe('fare_schedule', () => {
  it('is not readable by analysts, because a rate says how many watches a fare has', async ({
    database,
  }) => {
    const read = asAnalyst(database, ({ query }) => query('select * from fare_schedule'))

    await expect(read).rejects.toThrow('permission denied')
    const tables = await asAnalyst(database, readPublicTables)
    const names = tables.filter(({ isForAnalysts }) => isForAnalysts).map(({ name }) => name)
    expect(names).toContain('fares_current')
    expect(names).not.toContain('fare_schedule')
  })
})
