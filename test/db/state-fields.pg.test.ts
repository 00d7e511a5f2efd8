import { readFile } from 'node:fs/promises'
import { expect } from 'vitest'
import { sql } from '../../src/db/database.ts'
import { initialState } from '../../src/verify/decide/fare-state.ts'
import { parseFareState } from '../../src/verify/decide/parse-fare-state.ts'
import { it } from '../support/test-database.ts'

const MIGRATION = new URL('../../migrations/0026_contradictions.sql', import.meta.url)
const AT = '2026-03-01T08:00:00.000Z'

it('a state from before its fields were renamed is read as it was', async ({ db }) => {
  const { contradictions, contradictedSince, confirmedAt, candidate, ...leg } =
    initialState(false).outbound
  const old = { ...leg, against: 1, againstSince: AT, agreedAt: AT, strange: null }
  const rest = { lastGoodCheckAt: AT, everAvailableAt: null }
  const states = [
    { outbound: old, return: null, ...rest },
    { outbound: old, return: { ...old, against: 0, againstSince: null }, ...rest },
    {},
  ]
  await sql`
    with fare as (
      insert into tracked_fare (flight_id, residents_adults, residents_children, residents_infants,
                                non_residents_adults, non_residents_children, non_residents_infants)
      select i::text, 0, 0, 0, 1, 0, 0 from generate_series(0, 2) i
      returning id, flight_id)
    insert into fare_state (tracked_fare_id, state)
    select id, ${JSON.stringify(states)}::jsonb -> flight_id::int from fare
  `.execute(db)

  await sql.raw(await readFile(MIGRATION, 'utf8')).execute(db)

  const { rows } = await sql<{ state: object }>`
    select state from fare_state order by tracked_fare_id
  `.execute(db)
  const contradicted = {
    ...leg,
    contradictions: 1,
    contradictedSince: AT,
    confirmedAt: AT,
    candidate,
  }
  const agreed = { ...contradicted, contradictions, contradictedSince }
  expect(confirmedAt).toBeNull()
  expect(rows.slice(0, 2).map(({ state }) => parseFareState(state))).toEqual([
    { outbound: contradicted, return: null, ...rest },
    { outbound: contradicted, return: agreed, ...rest },
  ])
  expect(rows[2]?.state).toEqual({})
})
