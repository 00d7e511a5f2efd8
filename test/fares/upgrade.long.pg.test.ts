import { expect, it } from 'vitest'
import { readingOf } from '../../src/fares/answer.ts'
import { countContradiction } from '../../src/fares/decide.ts'
import { stateOfRow } from '../../src/fares/state.ts'
import { sql } from '../../src/platform/db/database.ts'
import { migrate } from '../../src/platform/db/migrate.ts'
import { createEmptyDatabase, openAnother } from '../platform/db/empty-database.ts'
import { answer, CALM, RULES, UNAVAILABLE } from './answers.ts'

const SINCE = '2026-11-27T10:00:00.000Z'
const LEG = {
  belief: 'available',
  price: { amount: '100.00', currency: 'EUR' },
  identity: 'T1',
  itinerary: '10:00',
  flight: null,
}
const BELIEF = { pair: 'bookable', outbound: LEG, return: null, price: LEG.price }
const CANDIDATE = {
  contradiction: 'loss',
  since: SINCE,
  countedAt: SINCE,
  answers: 1,
  alike: 1,
}
const GONE = { belief: 'unavailable', price: null, identity: null, itinerary: null, flight: null }

/** A state as it was stored when a hold was a state of its own, and records could be reverted. */
function before(more: object): string {
  return JSON.stringify({
    belief: BELIEF,
    lastFlights: { outbound: null, return: null },
    candidate: null,
    holds: {},
    held: null,
    replaced: [],
    reverted: false,
    ...more,
  })
}

it('an upgrade keeps what waits for a mass, with its time, and shows what was reverted', async () => {
  const { db } = openAnother(await createEmptyDatabase())
  await migrate(db, { last: '0027_followed_paces' })
  await sql`
    insert into tracked_fare (flight_id, residents_adults, residents_children, residents_infants,
                              non_residents_adults, non_residents_children, non_residents_infants)
    select i::text, 0, 0, 0, 1, 0, 0 from generate_series(1, 3) i
  `.execute(db)
  const view = { pair: 'not_bookable', outbound: GONE, return: null, price: null }
  const waits = before({
    candidate: { ...CANDIDATE, view },
    holds: { became_unavailable: SINCE },
    held: 'became_unavailable',
  })
  await sql`
    insert into fare_state (tracked_fare_id, outbound, pair, state, held, held_since, hidden, contradicted_since)
    values (1, 'available', 'bookable', ${before({})}, '{}', null, null, null),
           (2, 'available', 'bookable', ${waits}, '{became_unavailable}', ${SINCE}, 'held', ${SINCE}),
           (3, 'available', 'bookable', ${before({ reverted: true })}, '{}', null, 'reverted', null)
  `.execute(db)
  await sql`insert into incident (kind) values ('mass_loss')`.execute(db)

  await migrate(db)

  const { rows } = await sql<{ state: object; held: string | null; hidden: string | null }>`
    select state, held, hidden from fare_state order by tracked_fare_id
  `.execute(db)
  expect(rows.map(({ held, hidden }) => [held, hidden])).toEqual([
    [null, null],
    ['became_unavailable', 'held'],
    [null, null],
  ])
  const [, held] = rows
  const none = { hasReturn: false, lastGoodCheckAt: null, priceCheckedAt: null, priceReason: null }
  const state = stateOfRow({ ...none, state: held?.state ?? null, everAvailableAt: null })
  const confirms = (at: string) => {
    const reading = readingOf(state, answer(new Date(at), UNAVAILABLE))
    return countContradiction(state, 'loss', { reading, rules: RULES, context: CALM }).isConfirmed
  }
  expect(confirms('2026-11-27T10:09:59.000Z')).toBe(false)
  expect(confirms('2026-11-27T10:10:00.000Z')).toBe(true)
})
