import { describe, expect } from 'vitest'
import { readPublicTables } from '../../src/analytics/public-tables.ts'
import { asAnalyst } from '../../src/db/analyst-session.ts'
import { type Db, sql } from '../../src/db/database.ts'
import { inTransaction } from '../../src/db/transaction.ts'
import { explainFare } from '../../src/recheck/explain-fare.ts'
import { countQueues } from '../../src/recheck/payers.ts'
import { findFare } from '../../src/verify/read/fare-queries.ts'
import { it } from '../support/test-database.ts'
import { available, minute, record, trackFare } from './fare-fixtures.ts'

const RULES = { requestsPerSecond: 0.01, minRecheckSeconds: 60 }

interface ScheduleRow {
  readonly changes: number
  readonly ticket: number
  readonly why: string
  readonly seconds: number
  readonly at: Date
  readonly atWhy: string
  readonly lastWhy: string | null
}

async function rowOf(db: Db, fareId: number): Promise<ScheduleRow | undefined> {
  const { rows } = await sql<ScheduleRow>`
    select changes_per_day as changes, ticket, ticket_why as why, extract(epoch from expected_interval)::float8 as seconds,
           next_check_at as at, next_check_why as "atWhy", last_check_why as "lastWhy"
      from farewatch.availability_schedule where tracked_fare_id = ${fareId}
  `.execute(db)
  return rows[0]
}

/** Five fares of two resellers. Each shows another feature of the view. The learned factors apply to all of them. */
async function schedule(db: Db): Promise<number[]> {
  const fares = []
  for (const flightId of ['1', '2', '3', '4', '5']) fares.push(await trackFare(db, { flightId }))
  const [plain = 0, learned = 0, gone = 0, lane = 0] = fares
  await sql`insert into recheck_payer (reseller_id, v) values (7, 3), (8, 1)`.execute(db)
  await sql`
    insert into recheck_factor (name, bucket, expected, observed)
    select kind || ' ' || state, bucket, 10 + bucket, 20 + 7 * bucket % 5
      from unnest(array['hazard', 'recency']) kind, unnest(array['available', 'unavailable']) state,
           generate_series(0, 7) bucket
     where kind = 'hazard' or bucket < 7
    union all values ('all available', 0, 50, 30), ('all unavailable', 0, 20, 60)
        on conflict (name, bucket) do update set expected = excluded.expected, observed = excluded.observed
  `.execute(db)
  for (const fareId of [plain, learned, gone]) {
    await record(db, fareId, minute(25), available())
  }
  const set = (fareId: number, columns: string) =>
    sql`update fare_schedule set ${sql.raw(columns)} where tracked_fare_id = ${fareId}`.execute(db)
  await sql`
    update tracked_fare set resellers = '{7,8}', weights = '{4,21}', max_delays = '{600,900}' where id = ${learned}
  `.execute(db)
  await sql`
    update fare_state set departs_at = clock_timestamp() + interval '5 days' where tracked_fare_id = ${learned}
  `.execute(db)
  await set(
    learned,
    `payer = 8, vdue = 1.2, ticket = 9, surprise = 2.5, rated_state = 'available', available_changes = 4,
     available_exposure = 2, available_value = 1.7, changed_at = clock_timestamp() - interval '3 hours'`,
  )
  await set(
    gone,
    `payer = 7, vdue = 9, ticket = 0.01, rated_state = 'unavailable', unavailable_changes = 1,
     unavailable_exposure = 30, unavailable_value = 4.2, changed_at = clock_timestamp() - interval '9 days'`,
  )
  await set(lane, `lane = 'new_watch', lane_due_at = clock_timestamp()`)
  await set(fares[4] ?? 0, `not_before = clock_timestamp() + interval '1 day'`)
  await sql`update tracked_fare set min_interval_seconds = 90000 where id = ${fares[4]}`.execute(db)
  await inTransaction(db, (tx) => countQueues(tx, RULES))
  return fares
}

describe('availability_schedule', () => {
  it('shows what fares show explains, for every fare', async ({ db }) => {
    for (const fareId of await schedule(db)) {
      const row = await rowOf(db, fareId)
      const pace = await explainFare(db, { fareId, ...RULES, now: new Date() })
      const fare = await findFare(db, fareId, RULES.requestsPerSecond)

      expect(row?.changes).toBeCloseTo(pace?.changesPerDay ?? 0, 6)
      expect(row?.ticket).toBe(pace?.ticket)
      expect(row?.seconds).toBeCloseTo(pace?.expectedIntervalSeconds ?? 0, 3)
      expect(row?.atWhy).toBe(fare?.next?.why)
      const apart = Math.abs((row?.at.getTime() ?? 0) - (fare?.next?.at.getTime() ?? 0))
      // Two statements read the clock one after the other.
      expect(apart).toBeLessThan(60_000)
    }
  })

  it('says in words what a ticket is made of, and why the last check was made', async ({ db }) => {
    const [plain = 0, learned = 0, gone = 0] = await schedule(db)

    expect(await rowOf(db, plain)).toMatchObject({ lastWhy: 'a question on demand' })
    expect((await rowOf(db, learned))?.why).toMatch(
      /^√\(weight 21\.0 × event value 1\.70 × \d+\.\d\d changes a day\) = \d+\.\d\d at present; changes: \d\.\d\d by its own checks × \d\.\d\d for the time to departure × \d\.\d\d for the time since its last change × 2\.50 for late changes of its route; at least what a check every 900 s needs$/,
    )
    expect((await rowOf(db, gone))?.why).not.toContain('at least')
  })

  it('has no row for a fare that is not checked any more', async ({ db }) => {
    const fareId = await trackFare(db)
    await sql`delete from fare_schedule`.execute(db)

    expect(await rowOf(db, fareId)).toBeUndefined()
  })

  it('is not readable by analysts, because a weight says how many watches a fare has', async ({
    database,
  }) => {
    const read = asAnalyst(database, ({ query }) => query('select * from availability_schedule'))

    await expect(read).rejects.toThrow('permission denied')
    const tables = await asAnalyst(database, readPublicTables)
    const names = tables.map(({ name }) => name)
    expect(names).toContain('availability_current')
    expect(names).not.toContain('availability_schedule')
  })
})
