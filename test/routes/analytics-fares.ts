import { type Db, type RawBuilder, sql } from '../../src/platform/db/database.ts'

interface Belief {
  /** An expired fare has no belief, and its end changes no state of a fare. */
  readonly pair: 'bookable' | 'not_bookable' | 'expired'
  readonly price?: string
  readonly currency?: string
  readonly at: string
  /** Of a loss or an end. If unset, sold_out or departed; null in a record from before reasons. */
  readonly reason?: string | null
  /** If unset, a minute before it was detected. */
  readonly lastGoodCheckAt?: string
}

/** Departure and beliefs of each fare, in the order of their ids from 1. */
const FARES: readonly (readonly [departsAt: string, ...Belief[]])[] = [
  [
    '2026-06-20T10:00:00',
    { pair: 'bookable', price: '120.00', at: '2026-05-01T10:00Z' },
    { pair: 'bookable', price: '135.50', at: '2026-05-10T10:00Z' },
    { pair: 'not_bookable', at: '2026-05-20T10:00Z' },
    { pair: 'bookable', price: '150.00', at: '2026-05-25T10:00Z' },
    { pair: 'not_bookable', at: '2026-06-01T10:00Z' },
  ],
  [
    '2026-06-10T07:30:00',
    { pair: 'bookable', price: '90.00', at: '2026-05-05T00:00Z' },
    { pair: 'not_bookable', at: '2026-06-08T00:00Z' },
  ],
  ['2026-07-30T07:30:00', { pair: 'bookable', price: '200.00', at: '2026-05-05T00:00Z' }],
  // Departed while bookable.
  [
    '2026-06-15T09:00:00',
    { pair: 'bookable', price: '180.00', at: '2026-06-01T00:00Z' },
    { pair: 'expired', at: '2026-06-16T00:05Z' },
  ],
  // Expired by a wrong date of its watches; sold out only after it was watched again.
  [
    '2026-07-10T09:00:00',
    { pair: 'bookable', price: '180.00', at: '2026-05-01T00:00Z' },
    { pair: 'expired', at: '2026-05-10T00:00Z' },
    { pair: 'bookable', price: '170.00', at: '2026-05-25T00:00Z' },
    { pair: 'not_bookable', at: '2026-06-05T00:00Z' },
  ],
  // Expired by a wrong date too. Sold out, then bookable again, after it was watched again.
  [
    '2026-07-10T09:00:00',
    { pair: 'bookable', price: '80.00', at: '2026-05-01T00:00Z' },
    { pair: 'expired', at: '2026-05-10T00:00Z' },
    { pair: 'not_bookable', at: '2026-05-20T00:00Z', lastGoodCheckAt: '2026-05-09T23:00Z' },
    { pair: 'bookable', price: '85.00', at: '2026-05-25T00:00Z' },
  ],
  // Not bookable an hour after its departure, in a record from before reasons.
  [
    '2026-06-12T09:00:00',
    { pair: 'bookable', price: '60.00', at: '2026-06-01T00:00Z' },
    { pair: 'not_bookable', at: '2026-06-12T10:00Z', reason: null },
  ],
  // A day earlier in time zones to the west, where it is a week before the departure.
  [
    '2026-06-10T12:00:00',
    { pair: 'bookable', price: '70.00', at: '2026-05-28T02:00Z' },
    { pair: 'not_bookable', at: '2026-06-04T02:00Z' },
  ],
  // Bookable again in another currency.
  [
    '2026-07-30T12:00:00',
    { pair: 'bookable', price: '100.00', at: '2026-05-01T00:00Z' },
    { pair: 'not_bookable', at: '2026-05-05T00:00Z' },
    { pair: 'bookable', price: '90.00', currency: 'GBP', at: '2026-05-07T00:00Z' },
  ],
  // Sold out on one of ten days without a check.
  [
    '2026-06-28T12:00:00',
    { pair: 'bookable', price: '50.00', at: '2026-05-01T00:00Z' },
    { pair: 'not_bookable', at: '2026-06-20T00:00Z', lastGoodCheckAt: '2026-06-10T00:00Z' },
  ],
  // Its sale closed two hours before the departure.
  [
    '2026-06-12T11:00:00',
    { pair: 'bookable', price: '60.00', at: '2026-06-01T00:00Z' },
    { pair: 'not_bookable', at: '2026-06-12T09:00Z', reason: 'sales_closed' },
  ],
]

export async function seedFares(db: Db): Promise<void> {
  for (const [at, [departsAt, ...beliefs]] of FARES.entries()) {
    await seedFare(db, at + 1, departsAt, beliefs)
  }
}

/** A loss was first observed 20 seconds before the check that confirmed it. */
async function seedFare(
  db: Db,
  id: number,
  departsAt: string,
  beliefs: readonly Belief[],
): Promise<void> {
  await sql`
    insert into tracked_fare (flight_id, residents_adults, residents_children, residents_infants,
                              non_residents_adults, non_residents_children, non_residents_infants)
    values (${`F${id}`}, 0, 0, 0, 1, 0, 0)
  `.execute(db)
  await sql`
    with flights as (
      insert into fare_flights (tracked_fare_id, outbound_from, outbound_to, outbound_airline, outbound_departs_local, outbound_site_name)
      values (${id}, 'PMI', 'MAD', ${airlineOf(id)}, ${departsAt}::timestamp, ${`Site of ${airlineOf(id)}`})
      returning id, tracked_fare_id)
    insert into fare_state (tracked_fare_id, state, flights_id) select tracked_fare_id, '{}', id from flights
  `.execute(db)
  const rows = beliefs.map((belief, at) => {
    const to = beliefs[at + 1]?.at ?? null
    const kind = kindOf(beliefs, at)
    const reason = belief.reason === undefined ? REASONS[kind] : belief.reason
    const { price: priceBefore, currency: currencyBefore } = beliefs[at - 1] ?? {}
    return {
      ...belief,
      to,
      was: pairBefore(beliefs, at),
      priceBefore,
      currencyBefore,
      kind,
      reason,
    }
  })
  const shown = JSON.stringify({ from: 'PMI', to: 'MAD', airline: airlineOf(id), departsAt })
  const batch = sql`
    jsonb_to_recordset(${JSON.stringify(rows)})
      as b (pair text, price numeric, currency text, at timestamptz, "to" timestamptz, "lastGoodCheckAt" timestamptz,
            was text, "priceBefore" numeric, "currencyBefore" text, kind text, reason text)
  `
  await sql`
    insert into fare_belief_version (tracked_fare_id, outbound, pair, price, currency, outbound_currency, outbound_adult_price,
                                     outbound_resident_adult_price, valid_from, valid_to, flights_id)
    select ${id}, case pair when 'bookable' then 'available' else 'unavailable' end, pair, price,
           case when price is not null then coalesce(currency, 'EUR') end, coalesce(currency, 'EUR'), price,
           case when ${id} % 2 = 0 then price / 4 end, at, "to",
           case when "to" is not null then (select flights_id from fare_state where tracked_fare_id = ${id}) end
      from ${batch}
     where pair <> 'expired'
  `.execute(db)
  await sql`
    insert into availability_change (seq, kind, reason, tracked_fare_id, before, after, last_good_check_at, detected_at, recorded_at, provenance)
    select (select count(*) from availability_change) + row_number() over (order by at), kind, reason, ${id},
           ${view('was', { price: '"priceBefore"', currency: '"currencyBefore"', flight: shown })},
           ${view(`replace(pair, 'expired', 'not_bookable')`, { price: 'price', currency: 'currency', flight: shown })},
           coalesce("lastGoodCheckAt", at - interval '1 minute'),
           case when kind = 'became_unavailable' then at - interval '20 seconds' else at end, at, '{}'
      from ${batch}
  `.execute(db)
}

const REASONS: Readonly<Record<string, string>> = {
  became_unavailable: 'sold_out',
  expired: 'departed',
}

/** What becoming bookable is, by the state before. */
const AFTER: Readonly<Record<string, string>> = { bookable: 'price_changed', unknown: 'first_seen' }

function kindOf(beliefs: readonly Belief[], at: number): string {
  switch (beliefs[at]?.pair) {
    case 'expired':
      return 'expired'
    case 'not_bookable':
      return 'became_unavailable'
    default:
      return AFTER[pairBefore(beliefs, at)] ?? 'became_available'
  }
}

/** Expiry does not change the beliefs of the legs. */
function pairBefore(beliefs: readonly Belief[], at: number): string {
  const before = beliefs.slice(0, at).findLast(({ pair }) => pair !== 'expired')
  return before?.pair ?? 'unknown'
}

/** What a record shows of a fare: the flight and its price only while it is bookable. */
function view(
  pair: string,
  { price, currency, flight }: { price: string; currency: string; flight: string },
): RawBuilder<unknown> {
  return sql`
    jsonb_build_object(
      'pair', ${sql.raw(pair)},
      'price', case when ${sql.raw(price)} is not null
                    then jsonb_build_object('amount', ${sql.raw(price)}::text, 'currency', coalesce(${sql.raw(currency)}, 'EUR')) end,
      'outbound', jsonb_build_object('flight', case when ${sql.raw(pair)} = 'bookable' then ${flight}::jsonb end),
      'return', null)`
}

function airlineOf(id: number): string {
  return id % 2 === 0 ? 'Blanca' : 'Azul'
}
