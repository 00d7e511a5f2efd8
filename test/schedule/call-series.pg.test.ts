import { describe, expect } from 'vitest'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { createApiKey } from '../../src/resellers/api-keys.ts'
import { createCallLedger } from '../../src/schedule/budget.ts'
import { readCallSeries } from '../../src/schedule/budget-operations.ts'
import { trackFare, watchFare } from '../fares/fare-fixtures.ts'
import { ask, bearer, newKeyText, startApi } from '../support/api-server.ts'
import { it } from '../support/test-database.ts'

const MINUTE_MS = 60_000

/** A ledger whose clock stands this many minutes before the present one. */
function ledgerAgo(minutes: number) {
  const now = () => new Date(Date.now() - minutes * MINUTE_MS)
  return createCallLedger({ now, sleep: async () => undefined })
}

async function watchWith(db: Db, name: string, fareId: number, priority: string): Promise<number> {
  const resellerId = await watchFare(db, name, fareId)
  await sql`update watch set priority = ${priority} where reseller_id = ${resellerId}`.execute(db)
  await sql`delete from turn where reseller_id not in (select reseller_id from watch)`.execute(db)
  await sql`
    insert into turn (tracked_fare_id, reseller_id, weight, score, vdue) values (${fareId}, ${resellerId}, 1, 1, 0)
        on conflict do nothing
  `.execute(db)
  return resellerId
}

const total = (calls: readonly number[] | undefined) => calls?.reduce((sum, one) => sum + one, 0)

describe('the calls of the last hour', () => {
  it('are shown by lane, reseller and priority, and resellers of a fare share its calls', async ({
    db,
  }) => {
    const [shared, own] = [await trackFare(db, { flightId: '1' }), await trackFare(db)]
    await watchWith(db, 'alpha', shared, 'urgent')
    await watchWith(db, 'beta', shared, 'normal')
    await watchWith(db, 'alpha', own, 'urgent')
    const ledger = ledgerAgo(5)
    for (const fareId of [shared, shared, own]) ledger.count('scheduled', fareId)
    ledger.count('list')
    await ledger.flush(db)
    ledger.count('confirmation', shared)
    await ledger.flush(db)

    const series = await readCallSeries(db)

    const lanes = series.byLane.map(({ lane, calls }) => [lane, total(calls)])
    expect(Object.fromEntries(lanes)).toMatchObject({
      scheduled: 3,
      confirmation: 1,
      list: 1,
      retry: 0,
    })
    expect(series.byReseller.map(({ reseller, calls }) => [reseller, total(calls)])).toEqual([
      ['alpha', 2.5],
      ['beta', 1.5],
      [null, 1],
    ])
    expect(series.byPriority.map(({ priority, calls }) => [priority, total(calls)])).toEqual([
      ['urgent', 2.5],
      ['normal', 1.5],
      [null, 1],
    ])
    const [first] = series.byLane
    expect(first?.calls).toHaveLength(60)
    // A minute may begin between the count and the reading.
    expect([54, 55]).toContain(first?.calls.indexOf(3))
  })

  it('the API shows them to operators alone', async ({ db }) => {
    const resellerId = await watchFare(db, 'alpha', await trackFare(db))
    const { text: key } = await createApiKey(db, { resellerId })
    const path = `${await startApi(db)}/api/v1/budget/calls`

    const operator = await ask(path, { headers: bearer(await newKeyText(db)) })
    const reseller = await ask(path, { headers: bearer(key) })

    expect(operator.status, operator.text).toBe(200)
    expect(operator.body).toMatchObject({ byReseller: [], byPriority: [] })
    expect(reseller.status).toBe(403)
  })
})
