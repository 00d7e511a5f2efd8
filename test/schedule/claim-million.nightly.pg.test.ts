import { expect } from 'vitest'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { inTransaction } from '../../src/platform/db/transaction.ts'
import { findDue, saveClaims } from '../../src/schedule/claim.ts'
import { it } from '../support/test-database.ts'

const FARES = 1_000_000
const BATCH = 100_000

/** A million fares, all due, of so many resellers: one fare of ten has two. */
async function addFares(db: Db, resellers: number): Promise<void> {
  await sql`
    insert into reseller (name) select 'reseller-' || n from generate_series(1, ${resellers}::int) n
  `.execute(db)
  await sql`insert into fare_schedule_reseller (reseller_id) select id from reseller`.execute(db)
  for (let first = 1; first <= FARES; first += BATCH) await addBatch(db, resellers, first)
  await sql`vacuum analyze fare_schedule`.execute(db)
}

async function addBatch(db: Db, resellers: number, first: number): Promise<void> {
  await sql`
    with fare as (
      insert into tracked_fare (flight_id, residents_adults, residents_children, residents_infants,
                                non_residents_adults, non_residents_children, non_residents_infants, resellers, weights)
      select 'F' || n, 0, 0, 0, 1, 0, 0,
             case when n % 10 = 0 and ${resellers}::int > 1
                  then array[1 + n % ${resellers}::int, 1 + (n + 1) % ${resellers}::int]
                  else array[1 + n % ${resellers}::int] end, '{2, 2}'
        from generate_series(${first}::int, ${first + BATCH - 1}::int) n
      returning id, resellers
    )
    insert into fare_schedule (tracked_fare_id, vdue, not_before, rate, rates, scores, changes_per_day)
    select id, id, clock_timestamp() - interval '1 hour', 0.0001 * cardinality(resellers),
           array_fill(0.0001::float8, array[cardinality(resellers)]), array_fill(sqrt(2.2), array[cardinality(resellers)]), 1
      from fare
  `.execute(db)
}

/** The median of the milliseconds of 21 claims of 100 fares each. */
async function claimMs(db: Db): Promise<number> {
  const times: number[] = []
  for (let i = 0; i < 21; i += 1) {
    await inTransaction(db, async (tx) => {
      const begun = performance.now()
      const due = await findDue(tx, { limit: 100, without: [] })
      const claimId = '00000000-0000-4000-8000-000000000001'
      await saveClaims(
        tx,
        due.map((fare) => ({ ...fare, claimId, slotAt: new Date() })),
      )
      times.push(performance.now() - begun)
      expect(due).toHaveLength(100)
    })
  }
  return times.sort((a, b) => a - b)[10] ?? Number.NaN
}

it.for([1, 1_000])(
  'a claim among a million fares of %i resellers reads no more than the head of the queue, also with 60,000 fares inside their shortest interval',
  { timeout: 600_000 },
  async (resellers, { db }) => {
    await addFares(db, resellers)
    const free = await claimMs(db)
    // A check puts a fare at least as far ahead as its shortest interval lasts: these are the 60,000 last checked.
    await sql`
      update fare_schedule set not_before = clock_timestamp() + interval '1 minute', vdue = vdue + ${FARES}
       where tracked_fare_id in (select tracked_fare_id from fare_schedule order by vdue limit 60000)
    `.execute(db)
    const waiting = await claimMs(db)
    process.stdout.write(
      `claim of 100 among ${FARES} of ${resellers}: ${free.toFixed(1)} ms, with 60,000 that wait ${waiting.toFixed(1)} ms\n`,
    )
  },
)
