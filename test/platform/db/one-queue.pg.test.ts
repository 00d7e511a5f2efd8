import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'
import { type Db, PRIVATE_SCHEMA, sql } from '../../../src/platform/db/database.ts'
import { dispatch, scheduleOf, updateNow } from '../../schedule/schedule-fixtures.ts'
import { createEmptyDatabase, openAnother } from './empty-database.ts'

const FOLDER = path.resolve(import.meta.dirname, '../../../migrations')
const FILES = readdirSync(FOLDER).sort((a, b) => a.localeCompare(b, 'en'))
const ONE_QUEUE = '0071_one_queue.sql'

async function apply(db: Db, files: readonly string[]): Promise<void> {
  for (const file of files) {
    await sql.raw(readFileSync(path.join(FOLDER, file), 'utf8')).execute(db)
  }
}

it('fares that were in the queues of their resellers join the one queue, and keep their lanes', async () => {
  const { db } = openAnother(await createEmptyDatabase())
  await sql`create schema ${sql.id(PRIVATE_SCHEMA)}`.execute(db)
  await apply(db, FILES.slice(0, FILES.indexOf(ONE_QUEUE)))
  await sql`insert into reseller (name) values ('a'), ('b')`.execute(db)
  await sql`insert into recheck_payer (reseller_id, v, tickets, fares) values (1, 900, 3, 3), (2, 7, 1, 1)`.execute(
    db,
  )
  await sql`
    with fare as (
      insert into tracked_fare (flight_id, residents_adults, residents_children, residents_infants, non_residents_adults,
                                non_residents_children, non_residents_infants, watchers, resellers, weights)
      select 'F' || n, 0, 0, 0, 1, 0, 0, 1, case when n = 4 then '{1,2}' else '{1}' end::bigint[],
             case when n = 4 then '{2,4}' else '{2}' end::float8[]
        from generate_series(1, 4) n
      returning id, flight_id)
    insert into fare_schedule (tracked_fare_id, payer, vdue, not_before, lane, lane_due_at, claim_id, slot_at, leased_until)
    select id, case when flight_id = 'F4' then 2 else 1 end, 901, case when flight_id = 'F4' then now() + interval '10 days' else now() end,
           case flight_id when 'F1' then 'new_watch' when 'F2' then 'confirmation' end,
           case when flight_id in ('F1', 'F2') then now() end,
           case when flight_id = 'F3' then gen_random_uuid() end, case when flight_id = 'F3' then now() end,
           case when flight_id = 'F3' then now() + interval '30 seconds' else '-infinity' end
      from fare
  `.execute(db)

  await apply(db, FILES.slice(FILES.indexOf(ONE_QUEUE)))
  const inLanes = await dispatch(db, 10)
  await updateNow(db, { requestsPerSecond: 1, minRecheckSeconds: 1 })

  expect(inLanes.toSorted((a, b) => a - b)).toEqual([1, 2])
  for (const fare of [1, 2, 3, 4]) {
    const { vdue, rate, rates } = await scheduleOf(db, fare)
    expect(Number.isFinite(vdue)).toBe(true)
    expect(rate).toBeGreaterThan(0)
    expect(rates).toHaveLength(fare === 4 ? 2 : 1)
  }
  // Its shortest interval, of many days, has not ended.
  expect((await scheduleOf(db, 4)).notBefore).toBeGreaterThan(800_000)
})
