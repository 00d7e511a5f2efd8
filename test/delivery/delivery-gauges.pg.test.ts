import { expect } from 'vitest'
import { sql } from '../../src/db/database.ts'
import { readDeliveryGauges } from '../../src/delivery/dispatch/delivery-gauges.ts'
import { createMetrics } from '../../src/metrics/metrics.ts'
import { it } from '../support/test-database.ts'
import { cells, resellerWith } from '../watch/watch-fixtures.ts'
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
      disabled: await of(metrics.webhookDisabled),
    }
  }
  expect(await read()).toEqual({
    pending: { '': 0 },
    oldest: { healthy: 0, failing: 0 },
    dead: { '': 0 },
    disabled: { paused: 0, gone: 0, failing: 0 },
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
    oldest: { healthy: 6000, failing: 0 },
    dead: { '': 1 },
    disabled: { paused: 1, gone: 0, failing: 0 },
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
