import { describe, expect } from 'vitest'
import { nextDeliveryMs } from '../../src/delivery/dispatch/claim-deliveries.ts'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { addPause, endPauses, pausedForMs } from '../../src/platform/db/pauses.ts'
import { nextDispatchMs } from '../../src/schedule/claim.ts'
import { gone, ONE_ADULT, startFixture } from '../api/verify-fixture.ts'
import {
  addEndpoint,
  appendRecords,
  startDispatcher,
  startReceiver,
} from '../delivery/delivery-fixtures.ts'
import { trackFare } from '../fares/fare-fixtures.ts'
import { it } from '../support/test-database.ts'
import { cells, resellerWith } from '../watches/watch-fixtures.ts'

const BY = { reason: 'maintenance', by: 'cli' }
const inMs = (ms: number) => new Date(Date.now() + ms)
const resume = (db: Db, planned = false) =>
  endPauses(db, { what: ['checks', 'syncs', 'deliveries'], planned, by: 'cli' })

describe('a pause', () => {
  it('lasts to its end, or without one until it is resumed', async ({ db }) => {
    expect(await pausedForMs(db, 'syncs')).toBeUndefined()

    await addPause(db, { what: ['syncs'], until: inMs(3_600_000), ...BY })
    expect(await pausedForMs(db, 'syncs')).toBeGreaterThan(3_590_000)
    await addPause(db, { what: ['syncs'], ...BY })
    expect(await pausedForMs(db, 'syncs')).toBe(Infinity)

    expect(await resume(db)).toHaveLength(2)
    expect(await pausedForMs(db, 'syncs')).toBeUndefined()
  })

  it('that is planned begins by itself, ends by itself, and is cancelled by name alone', async ({
    db,
  }) => {
    await addPause(db, { what: ['syncs'], from: inMs(60_000), until: inMs(120_000), ...BY })

    expect(await pausedForMs(db, 'syncs')).toBeUndefined()
    expect(await resume(db)).toEqual([])
    await passPauses(db, 70_000)
    expect(await pausedForMs(db, 'syncs')).toBeGreaterThan(40_000)
    await passPauses(db, 60_000)
    expect(await pausedForMs(db, 'syncs')).toBeUndefined()

    await addPause(db, { what: ['syncs'], from: inMs(60_000), ...BY })
    expect(await resume(db, true)).toHaveLength(1)
  })

  it('of the checks leaves due fares due, and an idle queue idle', async ({ db }) => {
    await addPause(db, { what: ['checks'], ...BY })
    expect(await nextDispatchMs(db)).toBeUndefined()
    await trackFare(db)

    expect(await nextDispatchMs(db)).toBe(Infinity)
    await resume(db)

    expect(await nextDispatchMs(db)).toBeLessThanOrEqual(0)
  })

  it('of the checks answers a question on demand with its reason, and with a kept answer', async ({
    db,
  }) => {
    const { get, asked } = await startFixture(db, gone('1234'))
    await get(`flightId=1234&${ONE_ADULT}`)
    await addPause(db, { what: ['checks'], ...BY })

    const refused = await get(`flightId=1234&${ONE_ADULT}`)
    const kept = await get(`flightId=1234&${ONE_ADULT}&maxAge=60`)

    expect(refused.status).toBe(503)
    expect(refused.body).toMatchObject({ code: 'verify.unknown', reason: 'paused' })
    expect(refused.headers.get('retry-after')).toBe('60')
    expect(kept.text).toBe('{"1234":{"available":false}}')
    expect(asked).toHaveLength(1)
  })

  it('of the deliveries keeps them until it is resumed', async ({ db }) => {
    const resellerId = await resellerWith(db, [cells({ reference: 'A' })])
    const receiver = await startReceiver()
    await addEndpoint(db, resellerId, { address: receiver.url })
    await addPause(db, { what: ['deliveries'], ...BY })
    await appendRecords(db, { resellerId, reference: 'A' }, [{}, {}])
    const dispatcher = startDispatcher(db)

    expect(await dispatcher.dispatch()).toBe(false)
    expect(await nextDeliveryMs(db)).toBeUndefined()
    await resume(db)
    expect(await nextDeliveryMs(db)).toBeLessThanOrEqual(0)
    await dispatcher.dispatch()
    await dispatcher.recorded(2)

    expect(receiver.received).toHaveLength(2)
  })
})

/** Moves all pauses into the past, as if this time had passed. */
async function passPauses(db: Db, ms: number): Promise<void> {
  await sql`
    update pause set starts_at = starts_at - ${ms}::int * interval '1 millisecond',
                     ends_at = ends_at - ${ms}::int * interval '1 millisecond'
  `.execute(db)
}
