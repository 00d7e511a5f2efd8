import { expect } from 'vitest'
import { type Db, sql } from '../../src/db/database.ts'
import { inTransaction } from '../../src/db/transaction.ts'
import { chargeClaims, nextChecks } from '../../src/recheck/charge-claims.ts'
import { lockClock, saveClaims } from '../../src/recheck/claim-fares.ts'
import { moveSharedFares } from '../../src/recheck/move-shared-fares.ts'
import { countQueues } from '../../src/recheck/payers.ts'
import { it } from '../support/test-database.ts'

const FARES = 1_000_000
const BATCH = 100_000

/** A million fares, all due, of so many resellers: one fare of ten has two. */
async function addFares(db: Db, resellers: number): Promise<void> {
  await sql`
    insert into recheck_payer (reseller_id) select generate_series(1, ${resellers}::int)
  `.execute(db)
  for (let first = 1; first <= FARES; first += BATCH) await addBatch(db, resellers, first)
  await sql`vacuum analyze fare_schedule`.execute(db)
  await sql`vacuum analyze recheck_payer`.execute(db)
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
    insert into fare_schedule (tracked_fare_id, payer, vdue, not_before)
    select id, resellers[1], id, clock_timestamp() - interval '1 hour' from fare
  `.execute(db)
}

/** The median of the milliseconds of 21 claims of 100 fares each. */
async function claimMs(db: Db): Promise<number> {
  const times: number[] = []
  for (let i = 0; i < 21; i += 1) {
    await inTransaction(db, async (tx) => {
      const begun = performance.now()
      const { pass: presentPass } = await lockClock(tx)
      const { due, accounts } = await nextChecks(tx, { inLanes: [], limit: 100, presentPass })
      const claimId = '00000000-0000-4000-8000-000000000001'
      await saveClaims(
        tx,
        due.map((fare) => ({ ...fare, claimId, slotAt: new Date() })),
      )
      await chargeClaims(tx, { inLanes: [], scheduled: due, accounts, presentPass })
      times.push(performance.now() - begun)
      expect(due).toHaveLength(100)
    })
  }
  return times.sort((a, b) => a - b)[10] ?? Number.NaN
}

/** The milliseconds of the work of each minute, and how many fares it moved from a queue that is three times as long as the next. */
async function minuteMs(db: Db): Promise<{ count: number; move: number; moved: number }> {
  await sql`update fare_schedule set ticket = 3 where payer = 11`.execute(db)
  const rules = { requestsPerSecond: 100, minRecheckSeconds: 60 }
  const begun = performance.now()
  await inTransaction(db, (tx) => countQueues(tx, rules))
  const counted = performance.now()
  const moved = await inTransaction(db, (tx) => moveSharedFares(tx, rules))
  return { count: counted - begun, move: performance.now() - counted, moved }
}

it.for([1, 1_000])(
  'a claim among a million fares of %i resellers reads no more than the heads of the queues, also with 60,000 fares inside their minimum interval',
  { timeout: 600_000 },
  async (resellers, { db }) => {
    await addFares(db, resellers)
    const free = await claimMs(db)
    // A check puts a fare at least as far ahead as its minimum interval lasts: these are the 60,000 last checked.
    await sql`
      update fare_schedule set not_before = clock_timestamp() + interval '1 minute', vdue = vdue + ${FARES}
       where tracked_fare_id in (select tracked_fare_id from fare_schedule order by vdue limit 60000)
    `.execute(db)
    const waiting = await claimMs(db)
    process.stdout.write(
      `claim of 100 among ${FARES} of ${resellers}: ${free.toFixed(1)} ms, with 60,000 that wait ${waiting.toFixed(1)} ms\n`,
    )

    const { count, move, moved } = await minuteMs(db)
    process.stdout.write(
      `each minute: ${count.toFixed(0)} ms to count the queues, ${move.toFixed(0)} ms to move ${moved} shared fares\n`,
    )
    if (resellers > 1) expect(moved).toBeGreaterThan(100)

    const { rows } = await sql<{ 'QUERY PLAN': string }>`
      explain select tracked_fare_id from fare_schedule
       where payer = 1 and not_before <= now() order by vdue limit 100
    `.execute(db)
    expect(rows.map((row) => row['QUERY PLAN']).join('\n')).toContain('fare_schedule_vdue')
  },
)
