import { describe, expect } from 'vitest'
import { type Db, sql } from '../../src/db/database.ts'
import { inTransaction } from '../../src/db/transaction.ts'
import { createOwnPaceReader } from '../../src/recheck/own-pace.ts'
import { countQueues } from '../../src/recheck/payers.ts'
import { syncTrackedFares } from '../../src/watch/sync-tracked-fares.ts'
import { fareOf, listWith, newCaller, type ResellerCalls, watch } from '../api/reseller-calls.ts'
import { startApi } from '../support/api-server.ts'
import { it } from '../support/test-database.ts'

/** So few requests that no minimum interval hides a difference. */
const RULES = { requestsPerSecond: 0.01, minRecheckSeconds: 60 }

async function twoResellers(db: Db) {
  const base = await startApi(db)
  const [ana, bob] = [await newCaller(db, base, 'ana'), await newCaller(db, base, 'bob')]
  await listWith(ana, 'summer', [watch('A-1'), watch('A-2', { flightId: '102' })])
  return { ana, bob, paceOf: paceReader(db, ana) }
}

function paceReader(db: Db, { resellerId }: ResellerCalls) {
  const read = createOwnPaceReader({ ...RULES, nowMs: () => 0 })
  return async (flightId: string) =>
    read(db, { resellerId, fareId: await fareOf(db, flightId), now: new Date() })
}

/** Changes watches as an import does, and counts the queues as the worker does. */
async function change(db: Db, columns: string, { resellerId }: ResellerCalls, like = '%') {
  await inTransaction(db, async (tx) => {
    const { rows } = await sql<{ fareId: number }>`
      update watch set ${sql.raw(columns)} where reseller_id = ${resellerId} and reference like ${like}
      returning tracked_fare_id as "fareId"
    `.execute(tx)
    await syncTrackedFares(
      tx,
      rows.map(({ fareId }) => fareId),
    )
    await countQueues(tx, RULES)
  })
}

describe('the pace of a watch', () => {
  it('follows from the watches of its reseller and the reseller’s share', async ({ db }) => {
    const { ana, paceOf } = await twoResellers(db)
    // Two fares, and half of 0.01 requests a second.
    expect(await paceOf('101')).toEqual({ changesPerDay: 1, expectedIntervalSeconds: 400 })

    // √20 and √2: 3.16 checks of the one for each of the other.
    await change(db, `priority = 'urgent'`, ana, 'A-1')
    expect(await paceOf('101')).toMatchObject({ expectedIntervalSeconds: 264 })
    expect(await paceOf('102')).toMatchObject({ expectedIntervalSeconds: 833 })

    await sql`update reseller set share = 3 where name = 'ana'`.execute(db)
    expect(await paceOf('102')).toMatchObject({ expectedIntervalSeconds: 555 })
    await change(db, 'min_interval_seconds = 3600', ana)
    expect(await paceOf('102')).toMatchObject({ expectedIntervalSeconds: 3_600 })
  })

  it('keeps the longest delay of a watch, and gives the rest to the others', async ({ db }) => {
    const { ana, paceOf } = await twoResellers(db)
    expect(await paceOf('102')).toMatchObject({ expectedIntervalSeconds: 400 })

    // 1/320 of 1/200 checks a second are five eighths.
    await change(db, 'max_delay_seconds = 320', ana, 'A-1')

    expect(await paceOf('101')).toMatchObject({ expectedIntervalSeconds: 320 })
    expect(await paceOf('102')).toMatchObject({ expectedIntervalSeconds: 534 })
  })

  it('stays the same whatever another reseller watches, and how', async ({ db }) => {
    const { ana, bob, paceOf } = await twoResellers(db)
    const seen = async () => [
      (await ana.get('/watch-lists/summer/watches/A-1')).text,
      (await ana.get('/watch-lists/summer/watches/A-2')).text,
      await paceOf('101'),
      await paceOf('102'),
    ]
    const before = await seen()

    await listWith(bob, 'winter', [
      watch('B-1'),
      watch('B-2'),
      ...Array.from({ length: 50 }, (_, i) => watch(`C-${i}`, { flightId: `9${i}` })),
    ])
    await change(db, `priority = 'urgent', max_delay_seconds = 60`, bob)
    await sql`
      update fare_schedule set payer = ${bob.resellerId}, ticket = 50, surprise = 4
       where tracked_fare_id = ${await fareOf(db, '101')}
    `.execute(db)
    await inTransaction(db, (tx) => countQueues(tx, RULES))

    expect(await seen()).toEqual(before)
  })

  it('is null for a paused watch', async ({ db }) => {
    const { ana, paceOf } = await twoResellers(db)
    const shown = async () => (await ana.get('/watch-lists/summer/watches/A-1')).body.pace

    expect(await shown()).toEqual({ changesPerDay: 1, expectedIntervalSeconds: 60 })
    await ana.send('POST', '/watch-lists/summer/pause', {})

    expect(await shown()).toBeNull()
    expect(await paceOf('101')).toBeNull()
  })
})
