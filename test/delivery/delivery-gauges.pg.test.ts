import { expect } from 'vitest'
import {
  readDeliveryGauges,
  readDeliveryState,
} from '../../src/delivery/dispatch/delivery-gauges.ts'
import { listUnreached } from '../../src/delivery/endpoints/endpoint-queries.ts'
import { TooManyTestsError } from '../../src/delivery/endpoints/endpoint-settings.ts'
import { addExample, addTestEvent } from '../../src/delivery/endpoints/test-events.ts'
import { sql } from '../../src/platform/db/database.ts'
import { createMetrics } from '../../src/platform/metrics/metrics.ts'
import { it } from '../support/test-database.ts'
import { cells, resellerWith } from '../watches/watch-fixtures.ts'
import { addEndpoint, appendRecords, fanOutAll, startDelivering } from './delivery-fixtures.ts'

const A = { reference: 'A' }

it('the gauges of deliveries tell healthy endpoints from failing ones, and leave out disabled ones', async ({
  db,
}) => {
  const resellerId = await resellerWith(db, [cells(A)])
  const metrics = createMetrics()
  const read = async () => {
    await readDeliveryGauges(db, metrics)
    const gauges = {
      pending: metrics.webhookPending,
      oldest: metrics.webhookOldestPending,
      dead: metrics.webhookDead,
      died: metrics.webhookDied,
      failing: metrics.webhookFailing,
      disabled: metrics.webhookDisabled,
    }
    const entries = Object.entries(gauges).map(async ([name, gauge]) => {
      const { values } = await gauge.get()
      const rounded = values.map(({ labels, value }) => [
        Object.values(labels).join(),
        Math.round(value),
      ])
      return [name, Object.fromEntries(rounded)]
    })
    return Object.fromEntries(await Promise.all(entries))
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

it('an example arrives without a number, and tests and examples have one limit an hour', async ({
  db,
}) => {
  const { resellerId, receiver, id, dispatched } = await startDelivering(db, { records: 0 })
  const owner = { db, resellerId }

  await addExample(owner, id, 'became_unavailable')
  await dispatched(1)
  for (let i = 1; i < 15; i += 1) await addTestEvent(owner, id)
  const refused = await addExample(owner, id, 'expired').catch((err: unknown) => err)

  const [{ type, data } = { type: '', data: {} }] = receiver.received[0]?.body ?? []
  expect(type).toBe('example.became_unavailable')
  expect(data).toMatchObject({ kind: 'became_unavailable', reason: 'sold_out', reference: 'A-1' })
  expect(Object.keys(data).filter((name) => ['seq', 'previous'].includes(name))).toEqual([])
  expect(refused).toBeInstanceOf(TooManyTestsError)
  expect((refused as TooManyTestsError).retryAfterMs).toBeGreaterThan(200_000)
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
