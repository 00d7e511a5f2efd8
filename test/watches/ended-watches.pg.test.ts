import { describe, expect } from 'vitest'
import { endWatches } from '../../src/fares/end.ts'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { inTransaction } from '../../src/platform/db/transaction.ts'
import { pauseWatches } from '../../src/watches/change-watches.ts'
import { syncTrackedFares } from '../../src/watches/sync-tracked-fares.ts'
import { silentLog } from '../support/silent-log.ts'
import { it } from '../support/test-database.ts'
import {
  cells,
  fareRows,
  importRows,
  manyCells,
  passDates,
  resellerWith,
} from './watch-fixtures.ts'

/** Adds three watches. Two of them have expired, and one of these is paused. */
async function addWatches(db: Db): Promise<number> {
  const resellerId = await resellerWith(db, [
    ...manyCells(2, { departs_on: '2098-01-01' }),
    cells({ departs_on: '2099-01-01' }),
  ])
  await passDates(db)
  await sql`update watch set departs_on = '2099-01-01' where reference = 'A-1'`.execute(db)
  await endWatches({ db, log: silentLog })
  await pauseWatches(db, { resellerId, list: 'summer', references: ['R1'] })
  return resellerId
}

describe('an expired watch', () => {
  // Fault: A file with a `departs_on` that has passed.
  it('a date that has passed is a fault of a new row, of a new date and of another question alone', async ({
    db,
  }) => {
    const resellerId = await addWatches(db)
    const past = cells({ reference: 'R0', flight_id: 'F0', departs_on: '2020-01-01' })
    const rows = [
      { ...past, price_threshold_amount: '5' },
      { ...past, reference: 'new' },
      { ...past, reference: 'A-1', flight_id: '101' },
      { ...past, reference: 'R1', flight_id: 'other' },
      cells({ reference: 'B', flight_id: '102' }),
    ]

    const importing = importRows(db, resellerId, rows)
    await expect(importing).rejects.toMatchObject({
      code: 'watch.invalid_rows',
      invalid: { count: 3, rows: [{ line: 2 }, { line: 3 }, { line: 4 }] },
    })
    await expect(importing).rejects.toThrow('line 2, departs_on: 2020-01-01 has passed')

    const outcome = await importRows(db, resellerId, [rows[0] ?? {}, rows[4] ?? {}])
    expect(outcome).toMatchObject({ added: 1, changed: 1, ended: 1 })
  })
})

describe('the first check of a watch that begins while its fare is claimed', () => {
  /** A process claims the fare, with a lease that ends in this many seconds. */
  async function claimFor(db: Db, seconds: number): Promise<void> {
    const until = sql`clock_timestamp() + make_interval(secs => ${seconds})`
    await sql`
      update fare_schedule
         set lane = null, lane_due_at = null, claim_id = uuidv7(), slot_at = clock_timestamp(), leased_until = ${until}
    `.execute(db)
    const fares = await fareRows(db)
    await inTransaction(db, (tx) =>
      syncTrackedFares(
        tx,
        fares.map(({ id }) => id),
      ),
    )
  }

  it.for([
    ['at once if the lease of the claim has ended', -60],
    ['at the end of the lease, in case the process is dead', 60],
  ] as const)('the first check is due %s', async ([, seconds], { db }) => {
    await resellerWith(db, [cells()])
    await claimFor(db, seconds)

    const { rows } = await sql`
      select lane, lane_due_at = leased_until as "atItsEnd", lane_due_at <= clock_timestamp() as due from fare_schedule
    `.execute(db)

    const ahead = seconds > 0
    expect(rows).toEqual([{ lane: 'first_check', atItsEnd: ahead, due: !ahead }])
  })
})
