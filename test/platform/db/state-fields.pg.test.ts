import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'
import { decide } from '../../../src/fares/decide/decide.ts'
import { type FareState, legsOf } from '../../../src/fares/decide/fare-state.ts'
import { type StateRow, stateOfRow } from '../../../src/fares/decide/stored-state.ts'
import { readIncidentStates } from '../../../src/fares/hold/incident-queries.ts'
import { type Db, PRIVATE_SCHEMA, sql } from '../../../src/platform/db/database.ts'
import { listIncidents } from '../../../src/views/incident-queries.ts'
import { at, available, CALM, eur, observation, RULES, UNAVAILABLE } from '../../fares/answers.ts'
import { createEmptyDatabase, openAnother } from './empty-database.ts'

const FOLDER = path.resolve(import.meta.dirname, '../../../migrations')
const FILES = readdirSync(FOLDER).sort((a, b) => a.localeCompare(b, 'en'))
const READINGS = '0060_readings.sql'

const SEEN = at(-600).toISOString()
const CONTRADICTED = at(-20).toISOString()
const { kind: _, flight: seen } = available() as Extract<
  ReturnType<typeof available>,
  { kind: 'available' }
>
const SHOWN = { identity: seen.identity, itinerary: seen.itinerary, flight: seen.flight }

/** A leg as it was stored before: with its own instants, counts and candidates. */
const KNOWN = {
  belief: 'available',
  price: eur('100.00'),
  pricedAt: SEEN,
  priceReason: null,
  candidatePrice: null,
  contradictions: 0,
  contradictedSince: null,
  candidate: null,
  confirmedAt: SEEN,
  ...SHOWN,
}
const OTHER = { identity: 'T1 PMI-MAD 2026-05-02', itinerary: '10:00' }
const LOST = {
  ...KNOWN,
  contradictions: 1,
  contradictedSince: CONTRADICTED,
  candidatePrice: { price: eur('9.00'), firstSeenAt: CONTRADICTED },
  candidate: { ...OTHER, firstSeenAt: CONTRADICTED, lastGoodCheckAt: SEEN },
}
const GONE = { ...KNOWN, belief: 'unavailable', price: null, pricedAt: null }

interface OldFare {
  readonly flightId: string
  readonly outbound: object
  readonly return: object | null
  readonly columns: Readonly<Record<string, unknown>>
}

const BOOKABLE = { outbound: 'available', pair: 'bookable', price: '100.00', currency: 'EUR' }
const OLD: readonly OldFare[] = [
  { flightId: 'agreed', outbound: KNOWN, return: null, columns: BOOKABLE },
  {
    flightId: 'contradicted',
    outbound: LOST,
    return: null,
    columns: { ...BOOKABLE, held: ['became_unavailable'] },
  },
  {
    flightId: 'half gone',
    outbound: KNOWN,
    return: GONE,
    columns: { outbound: 'available', return: 'unavailable', pair: 'not_bookable' },
  },
  {
    flightId: 'ended',
    outbound: KNOWN,
    return: null,
    columns: { outbound: 'unavailable', pair: 'not_bookable', expired_at: SEEN },
  },
]

async function apply(db: Db, files: readonly string[]): Promise<void> {
  for (const file of files) {
    await sql.raw(readFileSync(path.join(FOLDER, file), 'utf8')).execute(db)
  }
}

async function insertOld(db: Db, { flightId, outbound, return: back, columns }: OldFare) {
  const state = { outbound, return: back, lastGoodCheckAt: SEEN, everAvailableAt: SEEN }
  const row = {
    return: null,
    price: null,
    currency: null,
    held: [],
    expired_at: null,
    price_checked_at: columns.pair === 'bookable' ? SEEN : null,
    ...columns,
    state,
    asked_at: CONTRADICTED,
    last_good_check_at: SEEN,
    ever_available_at: SEEN,
  }
  await sql`
    with fare as (
      insert into tracked_fare (flight_id, return_flight_id, residents_adults, residents_children, residents_infants,
                                non_residents_adults, non_residents_children, non_residents_infants)
      values (${flightId}, ${back === null ? null : 'back'}, 0, 0, 0, 1, 0, 0)
      returning id)
    insert into fare_state (tracked_fare_id, outbound, return, pair, price, currency, held, expired_at, price_checked_at,
                            state, asked_at, last_good_check_at, ever_available_at)
    select fare.id, r.outbound, r.return, r.pair, r.price, r.currency, r.held, r.expired_at, r.price_checked_at,
           r.state, r.asked_at, r.last_good_check_at, r.ever_available_at
      from fare, jsonb_to_record(${JSON.stringify(row)}::jsonb)
             as r (outbound text, return text, pair text, price numeric, currency text, held text[], expired_at timestamptz,
                   price_checked_at timestamptz, state jsonb, asked_at timestamptz, last_good_check_at timestamptz,
                   ever_available_at timestamptz)
  `.execute(db)
}

async function readStates(db: Db): Promise<Map<string, FareState>> {
  const { rows } = await sql<StateRow & { flightId: string }>`
    select f.flight_id as "flightId", s.state, s.return is not null as "hasReturn",
           s.last_good_check_at as "lastGoodCheckAt", s.price_checked_at as "priceCheckedAt",
           s.price_reason as "priceReason", s.ever_available_at as "everAvailableAt"
      from fare_state s join tracked_fare f on f.id = s.tracked_fare_id
  `.execute(db)
  return new Map(rows.map((row) => [row.flightId, stateOfRow(row)]))
}

function stateOf(states: ReadonlyMap<string, FareState>, flightId: string): FareState {
  const state = states.get(flightId)
  if (state === undefined) throw new Error(`no state of ${flightId}`)
  return state
}

it('states, pending losses and accepted incidents from before beliefs were one reading go on as one reading', async () => {
  const { db } = openAnother(await createEmptyDatabase())
  await sql`create schema ${sql.id(PRIVATE_SCHEMA)}`.execute(db)
  await apply(db, FILES.slice(0, FILES.indexOf(READINGS)))
  for (const fare of OLD) await insertOld(db, fare)
  await sql`
    insert into incident (kind, closed_at, detail)
    values ('mass_loss', clock_timestamp(), '{"closedBy": "operator", "accepted": true}')
  `.execute(db)

  await apply(db, FILES.slice(FILES.indexOf(READINGS)))

  const states = await readStates(db)
  const bookable = {
    pair: 'bookable',
    outbound: { belief: 'available', price: eur('100.00'), ...SHOWN },
    return: null,
    price: eur('100.00'),
  }
  for (const flightId of ['agreed', 'contradicted']) {
    expect(stateOf(states, flightId)).toMatchObject({
      belief: bookable,
      candidate: null,
      holds: {},
      held: null,
    })
  }
  const half = stateOf(states, 'half gone')
  expect(half.belief.price).toBeNull()
  expect(legsOf(half.belief)).toEqual([
    { belief: 'available', price: null, ...SHOWN },
    { belief: 'unavailable', price: null, identity: null, itinerary: null, flight: null },
  ])
  expect(half.lastFlights).toEqual({ outbound: null, return: SHOWN.flight })
  expect(stateOf(states, 'ended')).toMatchObject({
    belief: { pair: 'not_bookable', outbound: { belief: 'unavailable', flight: null } },
    lastFlights: { outbound: SHOWN.flight },
  })
  // A loss that waited begins again: two more answers confirm it, and what they record is right.
  const first = decide(
    stateOf(states, 'contradicted'),
    { askedAt: at(0), observation: observation(UNAVAILABLE) },
    RULES,
    CALM,
  )
  const second = decide(
    first.state,
    { askedAt: at(20), observation: observation(UNAVAILABLE) },
    RULES,
    CALM,
  )
  expect(first.changes).toEqual([])
  expect(second.changes).toMatchObject([
    {
      kind: 'became_unavailable',
      before: bookable,
      lastGoodCheckAt: SEEN,
      detectedAt: at(0).toISOString(),
    },
  ])
  // What an operator had accepted for later is accepted no more; what waited then is released.
  const { rows } = await sql`select detail from incident`.execute(db)
  expect(rows).toEqual([{ detail: { closedBy: 'operator' } }])
  expect([...(await readIncidentStates(db)).releasedAt.keys()]).toEqual(['became_unavailable'])
  expect(await listIncidents(db, { open: true, limit: 10 })).toEqual([])
  const { rows: columns } = await sql`
    select distinct held, hidden, held_since as since, contradicted_since as contradicted from fare_state
  `.execute(db)
  expect(columns).toEqual([{ held: [], hidden: null, since: null, contradicted: null }])
})
