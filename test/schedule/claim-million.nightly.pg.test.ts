import { expect } from 'vitest'
import { type Db, sql, type Tx } from '../../src/platform/db/database.ts'
import { inTransaction, selectOne } from '../../src/platform/db/transaction.ts'
import { findTurns, saveClaims } from '../../src/schedule/claim.ts'
import { it } from '../support/test-database.ts'

const FARES = 1_000_000
const BATCH = 100_000

/** A million fares, all due, of so many resellers: one fare of ten has two. */
async function addFares(db: Db, resellers: number): Promise<void> {
  await sql`
    insert into reseller (name) select 'reseller-' || n from generate_series(1, ${resellers}::int) n
  `.execute(db)
  for (let first = 1; first <= FARES; first += BATCH) await addBatch(db, resellers, first)
  await sql`
    insert into reseller_queue (reseller_id, fares, scores)
    select reseller_id, count(*), sum(score) from turn group by reseller_id
  `.execute(db)
  await sql`vacuum analyze`.execute(db)
}

async function addBatch(db: Db, resellers: number, first: number): Promise<void> {
  await sql`
    with fare as (
      insert into tracked_fare (flight_id, residents_adults, residents_children, residents_infants,
                                non_residents_adults, non_residents_children, non_residents_infants, watchers)
      select 'F' || n, 0, 0, 0, 1, 0, 0, 1 from generate_series(${first}::int, ${first + BATCH - 1}::int) n
      returning id
    ), scheduled as (
      insert into fare_schedule (tracked_fare_id, not_before, rate, changes_per_day)
      select id, clock_timestamp() - interval '1 hour', 0.0001, 1 from fare
    )
    insert into turn (tracked_fare_id, reseller_id, weight, score, vdue)
    select id, 1 + (id + other) % ${resellers}::int, 1, sqrt(1.1), id
      from fare
     cross join generate_series(0, 1) other
     where other = 0 or id % 10 = 0 and ${resellers}::int > 1
  `.execute(db)
}

interface Claims {
  /** The median of the milliseconds of 21 claims of 100 fares each. */
  readonly ms: number
  /** The most turns that one of them read. */
  readonly turns: number
}

/** How many turns this connection has read. */
async function readTurns(tx: Tx): Promise<number> {
  const { turns } = await selectOne(
    sql<{ turns: number }>`
      select coalesce(sum(seq_tup_read + idx_tup_fetch), 0) as turns
        from pg_stat_xact_user_tables where relname = 'turn'
    `,
    tx,
  )
  return Number(turns)
}

async function claimOften(db: Db): Promise<Claims> {
  const claims: Claims[] = []
  for (let i = 0; i < 21; i += 1) {
    await inTransaction(db, async (tx) => {
      const before = await readTurns(tx)
      const begun = performance.now()
      const due = await findTurns(tx, { limit: 100, without: [] })
      const claimId = '00000000-0000-4000-8000-000000000001'
      await saveClaims(
        tx,
        due.map((fare) => ({ ...fare, claimId, slotAt: new Date() })),
        { budget: 1_000, minRecheckSeconds: 60 },
      )
      const ms = performance.now() - begun
      const turns = (await readTurns(tx)) - before
      claims.push({ ms, turns })
      expect(due).toHaveLength(100)
    })
  }
  const times = claims.map(({ ms }) => ms).sort((a, b) => a - b)
  return { ms: times[10] ?? Number.NaN, turns: Math.max(...claims.map(({ turns }) => turns)) }
}

it.for([1, 100, 1_000])(
  'a claim among a million fares of %i resellers reads no more than the heads of the queues, also with 60,000 fares inside their minimum interval',
  { timeout: 600_000 },
  async (resellers, { db }) => {
    await addFares(db, resellers)
    const free = await claimOften(db)
    // A check puts a fare at least as far ahead as its minimum interval lasts: these are the 60,000 last checked.
    await sql`
      with checked as (
        update fare_schedule set not_before = clock_timestamp() + interval '5 minutes'
         where tracked_fare_id in (select tracked_fare_id from turn order by vdue limit 60000)
        returning tracked_fare_id
      )
      update turn set vdue = vdue + ${FARES} where tracked_fare_id in (select tracked_fare_id from checked)
    `.execute(db)
    await sql`vacuum analyze`.execute(db)
    const waiting = await claimOften(db)
    process.stdout.write(
      `claim of 100 among ${FARES} of ${resellers}: ${free.ms.toFixed(1)} ms, with 60,000 that wait ${waiting.ms.toFixed(1)} ms\n`,
    )
    // The claims before this one have leased two thousand.
    expect(Math.max(free.turns, waiting.turns)).toBeLessThan(5_000)
  },
)
