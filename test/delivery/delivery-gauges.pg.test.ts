import { expect } from 'vitest'
import {
  readDeliveryGauges,
  readDeliveryState,
} from '../../src/delivery/dispatch/delivery-gauges.ts'
import { listUnreached } from '../../src/delivery/endpoints/endpoint-queries.ts'
import { replayRange } from '../../src/delivery/endpoints/replay-deliveries.ts'
import { sql } from '../../src/platform/db/database.ts'
import { createMetrics } from '../../src/platform/metrics/metrics.ts'
import { it } from '../support/test-database.ts'
import { cells, resellerWith } from '../watches/watch-fixtures.ts'
import { addEndpoint, appendRecords, fanOutAll } from './delivery-fixtures.ts'

const A = { reference: 'A' }

it('the gauges of deliveries tell healthy endpoints from failing ones, and leave out disabled ones', async ({
  db,
}) => {
  const resellerId = await resellerWith(db, [cells(A)])
  const metrics = createMetrics()
  const read = async () => {
    await readDeliveryGauges(db, metrics)
    const of = async (gauge: { get(): Promise<{ values: { labels: object; value: number }[] }> }) =>
      Object.fromEntries(
        (await gauge.get()).values.map(({ labels, value }) => [
          Object.values(labels).join(),
          Math.round(value),
        ]),
      )
    return {
      pending: await of(metrics.webhookPending),
      oldest: await of(metrics.webhookOldestPending),
      dead: await of(metrics.webhookDead),
      died: await of(metrics.webhookDied),
      failing: await of(metrics.webhookFailing),
      disabled: await of(metrics.webhookDisabled),
    }
  }
  expect(await read()).toEqual({
    pending: { '': 0 },
    oldest: { healthy: 0, busy: 0, failing: 0 },
    dead: { '': 0 },
    died: { '': 0 },
    failing: { '': 0 },
    disabled: { paused: 0, gone: 0, failing: 0, not_allowed: 0 },
  })

  const healthy = await addEndpoint(db, resellerId)
  const failing = await addEndpoint(db, resellerId)
  await addEndpoint(db, resellerId, { disabled: true })
  await appendRecords(db, { resellerId, ...A }, [{}])
  await sql`update watch_change set recorded_at = to_timestamp(5000)`.execute(db)
  await sql`
    update webhook_endpoint set failures = 3, failing_since = now() where id = ${failing}
  `.execute(db)
  // A record that the fan-out has not reached waits too.
  expect(await read()).toMatchObject({
    pending: { '': 0 },
    oldest: { healthy: 5000, failing: 5000 },
  })

  await fanOutAll(db)
  await sql`update delivery set due_at = to_timestamp(6000) where endpoint_id = ${healthy}`.execute(
    db,
  )
  await sql`
    update delivery set state = 'dead', dead_reason = 'too_old', due_at = null, ended_at = now()
     where endpoint_id = ${failing}
  `.execute(db)

  expect(await read()).toEqual({
    pending: { '': 1 },
    oldest: { healthy: 6000, busy: 0, failing: 0 },
    dead: { '': 1 },
    died: { '': 1 },
    failing: { '': 0 },
    disabled: { paused: 1, gone: 0, failing: 0, not_allowed: 0 },
  })

  await sql`update delivery set state = 'pending', dead_reason = null, due_at = to_timestamp(7000), ended_at = null`.execute(
    db,
  )
  await sql`update reseller set disabled_at = now()`.execute(db)
  expect(await read()).toMatchObject({
    pending: { '': 0 },
    oldest: { healthy: 0, failing: 0 },
    disabled: { paused: 0 },
  })
})

it('what waits for a receiver with all permitted requests in progress is not late, but a record without its delivery is', async ({
  db,
}) => {
  const resellerId = await resellerWith(db, [cells(A)])
  const [proven, unproven] = [
    await addEndpoint(db, resellerId),
    await addEndpoint(db, resellerId, { proven: false }),
  ]
  await appendRecords(db, { resellerId, ...A }, Array(6).fill({}))
  await fanOutAll(db)
  await sql`update delivery set due_at = to_timestamp(5000 + seq)`.execute(db)
  const send = (endpointId: string, through: number) =>
    sql`
      update delivery set claim_id = uuidv7(), due_at = now() + interval '30 seconds'
       where endpoint_id = ${endpointId} and seq <= ${through}
    `.execute(db)

  await send(proven, 3)
  expect(await readDeliveryState(db)).toMatchObject({
    endpoints: { healthy: 2, busy: 0, failing: 0 },
    oldest: { healthy: 5001, busy: null },
  })
  await send(proven, 4)
  await send(unproven, 1)
  expect(await readDeliveryState(db)).toMatchObject({
    endpoints: { healthy: 0, busy: 2, failing: 0 },
    oldest: { healthy: null, busy: 5002 },
  })

  await appendRecords(db, { resellerId, ...A }, [{}])
  await sql`update watch_change set recorded_at = to_timestamp(5000) where seq = 7`.execute(db)
  expect((await readDeliveryState(db)).oldest).toEqual({ healthy: 5000, busy: 5002, failing: null })
})

it('deliveries that are sent again do not count as late, nor does the pause that a receiver requested', async ({
  db,
}) => {
  const resellerId = await resellerWith(db, [cells(A)])
  const [replayed, held] = [await addEndpoint(db, resellerId), await addEndpoint(db, resellerId)]
  await appendRecords(db, { resellerId, ...A }, [{}])
  await fanOutAll(db)
  await sql`
    update delivery set state = 'delivered', due_at = null, ended_at = now() where endpoint_id = ${replayed}
  `.execute(db)
  await replayRange(db, resellerId, { endpointId: replayed, from: 1, to: 1 })
  await sql`update delivery set due_at = to_timestamp(5000)`.execute(db)
  const holdUntil = (until: Date) =>
    sql`update webhook_endpoint set held_until = ${until} where id = ${held}`.execute(db)

  await holdUntil(new Date('2100-01-01'))
  expect((await readDeliveryState(db)).oldest).toMatchObject({ healthy: null })
  await holdUntil(new Date(6_000_000))

  expect(await readDeliveryState(db)).toMatchObject({
    pending: 2,
    oldest: { healthy: 6000, failing: null },
  })
})

it('an endpoint fails for hours if attempts failed from then to now, and a delivery that died over an hour ago is no news', async ({
  db,
}) => {
  const resellerId = await resellerWith(db, [cells(A)])
  const [down, back, quiet] = [
    await addEndpoint(db, resellerId),
    await addEndpoint(db, resellerId),
    await addEndpoint(db, resellerId),
  ]
  await appendRecords(db, { resellerId, ...A }, [{}])
  await fanOutAll(db)
  const fail = (id: string, openUntil: string) =>
    sql`
      update webhook_endpoint set failures = 9, failing_since = now() - interval '3 hours', open_until = now() + ${openUntil}::interval
       where id = ${id}
    `.execute(db)
  await fail(down, '-5 minutes')
  // Its last attempts were two hours ago, and the next one is due later.
  await fail(quiet, '-2 hours')
  await sql`
    update delivery set state = 'dead', dead_reason = 'too_large', due_at = null, ended_at = now() - interval '61 minutes'
     where endpoint_id = ${back}
  `.execute(db)

  const state = await readDeliveryState(db)
  const named = await listUnreached(db, 5)
  await sql`update delivery set ended_at = now() where endpoint_id = ${back}`.execute(db)
  const later = await readDeliveryState(db)

  expect(state).toMatchObject({ failingForHours: 1, dead: 1, diedLastHour: 0 })
  expect(named).toMatchObject([
    { id: quiet, reason: null, forHours: false },
    { id: down, reason: null, forHours: true },
  ])
  expect(later.diedLastHour).toBe(1)
})
