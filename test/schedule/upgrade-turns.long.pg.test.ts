import { expect, it } from 'vitest'
import { sql } from '../../src/platform/db/database.ts'
import { migrate } from '../../src/platform/db/migrate.ts'
import { createEmptyDatabase, openAnother } from '../platform/db/empty-database.ts'

it('an upgrade gives each fare a turn in the queue of each reseller, with its estimates, its score and what is left of its interval', async () => {
  const { db } = openAnother(await createEmptyDatabase())
  await migrate(db, { last: '0034_unanswered' })
  await sql`insert into reseller (id, name) overriding system value values (1, 'ana'), (2, 'ben')`.execute(
    db,
  )
  await sql`
    insert into tracked_fare (flight_id, residents_adults, residents_children, residents_infants,
                              non_residents_adults, non_residents_children, non_residents_infants,
                              watchers, resellers, weights, max_delay_seconds, max_delays, min_intervals)
    values ('F1', 0, 0, 0, 1, 0, 0, 2, '{1,2}', '{2,5}', 60, '{null,60}', '{30,null}'),
           ('F2', 0, 0, 0, 1, 0, 0, 1, '{1}', '{1}', null, '{}', '{}'),
           ('F3', 0, 0, 0, 1, 0, 0, 1, '{1}', '{1}', null, '{}', '{}')
  `.execute(db)
  await sql`update fare_schedule_clock set v = 100`.execute(db)
  await sql`
    insert into fare_schedule (tracked_fare_id, vdue, rate, rates, scores, available_changes, lane, lane_due_at)
    values (1, 105, 0.1, '{0.05,0.05}', '{2,4}', 3, null, null),
           (2, 90, 0.1, '{0.1}', '{1}', 0, 'confirmation', now()),
           (3, 'infinity', null, '{}', '{}', 0, null, null)
  `.execute(db)
  await sql`insert into fare_schedule_factor (name, bucket, expected, observed) values ('all available', 0, 40, 12)`.execute(
    db,
  )

  await migrate(db)

  const turns = await sql`
    select tracked_fare_id as fare, reseller_id as reseller, weight, min_seconds as min, max_seconds as max, score, vdue
      from turn order by 1, 2
  `.execute(db)
  expect(turns.rows.slice(0, 3)).toEqual([
    { fare: 1, reseller: 1, weight: 2, min: 30, max: null, score: 2, vdue: 0.25 },
    { fare: 1, reseller: 2, weight: 5, min: null, max: 60, score: 4, vdue: 0.125 },
    { fare: 2, reseller: 1, weight: 1, min: null, max: null, score: 1, vdue: 0 },
  ])
  expect(turns.rows).toHaveLength(4)
  const queues = await sql`
    select reseller_id as reseller, fares, scores, promised from reseller_queue order by 1
  `.execute(db)
  expect(queues.rows).toEqual([
    { reseller: 1, fares: 3, scores: 4, promised: 0 },
    { reseller: 2, fares: 1, scores: 4, promised: 1 / 60 },
  ])
  const due = await sql`
    select lane, available_changes as changes from fare_schedule order by tracked_fare_id
  `.execute(db)
  expect(due.rows).toEqual([
    { lane: 'max_delay', changes: 3 },
    { lane: 'confirmation', changes: 0 },
    { lane: null, changes: 0 },
  ])
  const all = await sql`
    select available_changes as changes, available_exposure as days from schedule_facts
  `.execute(db)
  expect(all.rows).toEqual([{ changes: 12, days: 40 }])
})
