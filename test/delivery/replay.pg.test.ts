import { expect } from 'vitest'
import { endDeliveries, pruneDeliveries } from '../../src/delivery/dispatch/end-deliveries.ts'
import { listAttempts, listDeliveries } from '../../src/delivery/endpoints/delivery-queries.ts'
import {
  replayFailed,
  replayRange,
  retryDelivery,
} from '../../src/delivery/endpoints/replay-deliveries.ts'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { it } from '../support/test-database.ts'
import { cells, resellerWith } from '../watches/watch-fixtures.ts'
import { addEndpoint, appendRecords, fanOutAll, startDelivering } from './delivery-fixtures.ts'

const A = { reference: 'A' }

/** Lets the deliveries of an endpoint have this age, and their first attempt this one. */
async function age(db: Db, endpointId: string, hours: { record: number; attempt: number }) {
  await sql`
    update delivery
       set recorded_at = now() - make_interval(hours => ${hours.record}),
           first_attempt_at = now() - make_interval(hours => ${hours.attempt})
     where endpoint_id = ${endpointId}
  `.execute(db)
}

async function states(db: Db, endpointId: string): Promise<string[]> {
  const rows = await db
    .selectFrom('delivery')
    .select('state')
    .where('endpoint_id', '=', endpointId)
    .orderBy('seq')
    .execute()
  return rows.map(({ state }) => state)
}

it('a delivery dies 28 hours after its first attempt or five days after its record, whichever is later', async ({
  db,
}) => {
  const resellerId = await resellerWith(db, [cells(A)])
  const ages = [
    { record: 121, attempt: 29 },
    { record: 121, attempt: 27 },
    { record: 119, attempt: 118 },
  ]
  const ids: string[] = []
  for (const _ of ages) ids.push(await addEndpoint(db, resellerId))
  const untried = await addEndpoint(db, resellerId)
  const disabled = await addEndpoint(db, resellerId)
  await appendRecords(db, { resellerId, ...A }, [{}])
  await fanOutAll(db)
  for (const [i, hours] of ages.entries()) await age(db, ids[i] ?? '', hours)
  // A delivery of a disabled endpoint waits until the endpoint is enabled.
  await age(db, disabled, { record: 200, attempt: 200 })
  await sql`
    update webhook_endpoint set disabled_at = now(), disabled_reason = 'gone' where id = ${disabled}
  `.execute(db)
  await sql`
    update delivery set recorded_at = now() - interval '9 days' where endpoint_id = ${untried}
  `.execute(db)

  const { dead } = await endDeliveries(db)

  expect(dead).toBe(1)
  const found: string[][] = []
  for (const id of [...ids, untried, disabled]) found.push(await states(db, id))
  expect(found).toEqual([['dead'], ['pending'], ['pending'], ['pending'], ['pending']])
})

it('an endpoint that fails for five days is disabled, and its reseller’s other endpoints are notified once', async ({
  db,
}) => {
  const resellerId = await resellerWith(db, [cells(A)])
  const failing = await addEndpoint(db, resellerId)
  const recent = await addEndpoint(db, resellerId)
  const quiet = await addEndpoint(db, resellerId)
  await appendRecords(db, { resellerId, ...A }, [{}])
  await fanOutAll(db)
  const fails = (id: string, hours: number) =>
    db
      .updateTable('webhook_endpoint')
      .set({ failures: 9, failing_since: new Date(Date.now() - hours * 3_600_000) })
      .where('id', '=', id)
      .execute()
  await fails(failing, 121)
  await fails(recent, 119)
  await fails(quiet, 121)
  await sql`update delivery set attempts = 1 where endpoint_id <> ${quiet}`.execute(db)

  expect((await endDeliveries(db)).disabled).toEqual([failing])
  expect((await endDeliveries(db)).disabled).toEqual([])

  const events = await db
    .selectFrom('delivery')
    .select(['endpoint_id', 'type', 'payload'])
    .where('type', 'is not', null)
    .where('endpoint_id', '=', recent)
    .execute()
  expect(events).toMatchObject([
    {
      endpoint_id: recent,
      type: 'webhook.disabled',
      payload: { endpointId: failing, reason: 'failing' },
    },
  ])
})

it('dead deliveries are listed with their last attempt, and are sent again under their ids', async ({
  db,
}) => {
  let status = 500
  const { resellerId, receiver, id, dispatched } = await startDelivering(db, {
    records: 3,
    answer: (_, res) => res.writeHead(status).end(),
  })
  const other = await resellerWith(db, [cells(A)], 'southwind')
  await dispatched(3)
  await age(db, id, { record: 500, attempt: 400 })
  await endDeliveries(db)

  const dead = await listDeliveries(db, { resellerId, states: ['dead'], limit: 2 })
  const rest = await listDeliveries(db, {
    resellerId,
    endpointId: id,
    states: ['dead'],
    after: dead.at(-1)?.id,
    limit: 2,
  })
  expect([...dead, ...rest].map(({ seq }) => seq)).toEqual([3, 2, 1])
  expect(dead[0]).toMatchObject({
    endpointId: id,
    deadReason: 'too_old',
    attemptCount: 1,
    lastAttempt: { status: 500, outcome: 'status' },
  })
  expect(await listDeliveries(db, { resellerId: other, limit: 9 })).toEqual([])

  const one = dead[0]?.id ?? ''
  expect(await listAttempts(db, other, one)).toEqual([])
  expect(await retryDelivery(db, other, one)).toBe(false)
  expect(await replayRange(db, other, { endpointId: id, from: 0, to: 9 })).toBe(0)
  expect(await replayFailed(db, other, { diedFrom: new Date(0) })).toBe(0)
  expect(await retryDelivery(db, resellerId, one)).toBe(true)
  expect(await replayFailed(db, resellerId, { endpointId: id, diedFrom: new Date(0) })).toBe(2)

  status = 200
  await sql`update webhook_endpoint set failures = 0, failing_since = null, open_until = null, held_until = null`.execute(
    db,
  )
  await dispatched(6)
  expect(await states(db, id)).toEqual(['delivered', 'delivered', 'delivered'])
  expect(await replayRange(db, resellerId, { endpointId: id, from: 2, to: 3 })).toBe(2)
  await dispatched(8)

  expect(new Set(receiver.received.flatMap(({ ids }) => ids)).size).toBe(3)
  expect(receiver.received).toHaveLength(8)
  const attempts = await listAttempts(db, resellerId, one)
  expect(attempts.slice(0, 2).map((attempt) => attempt.status)).toEqual([500, 200])
})

it('deliveries and attempts are deleted after thirty days, but none that is pending, and limits of e-mail after one', async ({
  db,
}) => {
  const { resellerId, id, dispatched } = await startDelivering(db, { records: 3 })
  await dispatched(3)
  await sql`update delivery set ended_at = now() - interval '31 days' where seq = 1`.execute(db)
  await sql`update delivery_attempt set started_at = now() - interval '31 days'`.execute(db)
  await replayRange(db, resellerId, { endpointId: id, from: 2, to: 2 })

  await sql`
    insert into target_pace (purpose, target_hash, next_at)
    values ('message', 'old', now() - interval '2 days'), ('message', 'new', now())
  `.execute(db)

  await pruneDeliveries(db)

  expect(await states(db, id)).toEqual(['pending', 'delivered'])
  expect(await db.selectFrom('delivery_attempt').select('id').execute()).toEqual([])
  expect(await db.selectFrom('target_pace').select('target_hash').execute()).toEqual([
    { target_hash: Buffer.from('new') },
  ])
})
