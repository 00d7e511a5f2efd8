import { expect, it } from 'vitest'
import { publicFare } from '../../src/feeds/public-fare.ts'
import { sql } from '../../src/platform/db/database.ts'
import { migrate } from '../../src/platform/db/migrate.ts'
import { selectOne } from '../../src/platform/db/transaction.ts'
import { createEmptyDatabase, openAnother } from '../platform/db/empty-database.ts'

const FLIGHT = {
  from: 'PMI',
  to: 'MAD',
  airline: 'Llevant Airways',
  numbers: [3900],
  departsAt: '2030-07-10 08:00',
  arrivesAt: '2030-07-10 09:20',
  stops: [],
}
const EUROS = { amount: '100.00', currency: 'EUR' }
const LEG = { belief: 'available', price: EUROS, identity: 'i', itinerary: 't', flight: FLIGHT }
const BELIEF = { pair: 'bookable', outbound: LEG, return: null, price: EUROS }

it('a database from before sites has them empty, its beliefs and records stay, and settings of endpoints are renamed', async () => {
  const { db } = openAnother(await createEmptyDatabase())
  await migrate(db, { last: '0038_held_list' })
  const state = { belief: BELIEF, lastFlights: { outbound: null, return: null }, candidate: null }
  await sql`
    with r as (insert into reseller (name) values ('ana') returning id),
         f as (insert into tracked_fare (flight_id, residents_adults, residents_children, residents_infants,
                                         non_residents_adults, non_residents_children, non_residents_infants)
               values ('1', 0, 0, 0, 1, 0, 0) returning id),
         e as (insert into webhook_endpoint (reseller_id, format, target, target_shown, cursor_seq, rules, digest)
               select id, 'email', '\\x00', 'shown', 0,
                      '{"sold_out": true, "bookable": true, "price_below": {"amount": "9.50", "currency": "EUR"}}'::jsonb,
                      '{"daily_at": 7, "zone": "Europe/Madrid"}'::jsonb
                 from r),
         s as (insert into fare_state (tracked_fare_id, outbound, pair, price, currency, price_checked_at, state)
               select id, 'available', 'bookable', 100.00, 'EUR', now(), ${JSON.stringify({ ...state, replaced: [] })}::jsonb
                 from f),
         v as (insert into fare_belief_version (tracked_fare_id, outbound, pair, price, currency, valid_from)
               select id, 'available', 'bookable', 100.00, 'EUR', now() from f)
    insert into availability_change (seq, kind, tracked_fare_id, before, after, detected_at, recorded_at, provenance)
    select 1, 'price_changed', id, ${JSON.stringify(BELIEF)}::jsonb, ${JSON.stringify(BELIEF)}::jsonb, now(), now(), '{}' from f
  `.execute(db)

  await migrate(db)

  const endpoint = await selectOne(sql`select rules, digest from webhook_endpoint`, db)
  expect(endpoint).toEqual({
    rules: { soldOut: true, bookable: true, priceBelow: { amount: '9.50', currency: 'EUR' } },
    digest: { type: 'daily', hour: 7, zone: 'Europe/Madrid' },
  })
  const shown = { outbound_price: '100.00', outbound_adult_price: null, outbound_site_name: null }
  for (const view of ['fares_current', 'fare_history']) {
    expect(await selectOne(sql`select * from ${sql.table(`farewatch.${view}`)}`, db)).toMatchObject(
      shown,
    )
  }
  const { before } = await selectOne(
    sql<{ before: object }>`select belief_before as before from farewatch.availability_changes`,
    db,
  )
  const { identity: _i, itinerary: _t, ...leg } = LEG
  const { pair, ...belief } = BELIEF
  expect(before).toEqual({ ...belief, state: pair, outbound: leg })
  expect(publicFare(before)?.outbound).toMatchObject({
    price: EUROS,
    passengerPrices: null,
    flight: {
      airline: { iata: null, name: 'Llevant Airways' },
      departure: { place: { iata: 'PMI', id: null, city: null, country: null } },
      site: null,
    },
  })
})
