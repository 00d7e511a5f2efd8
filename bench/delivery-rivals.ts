/** What bench/delivery.ts compares with: a job and a transaction a delivery. */
import { type App, openQueue } from '../src/app/app.ts'
import { targetPolicyOf } from '../src/app/settings-for.ts'
import {
  createOpenTarget,
  SEALED_ENDPOINT,
  type SealedEndpoint,
} from '../src/delivery/endpoints/sealer.ts'
import { createTransport } from '../src/delivery/formats/transport.ts'
import { createWebhookFormat } from '../src/delivery/formats/webhook.ts'
import { readRecords } from '../src/feeds/watch-feed-queries.ts'
import { sql } from '../src/platform/db/database.ts'
import { inTransaction } from '../src/platform/db/transaction.ts'

const CONCURRENCY = 64
const QUEUE = 'naive-delivery'

type NaiveRow = SealedEndpoint & {
  readonly resellerId: number
  readonly seq: number
  readonly previousSeq: number
  readonly recordedAt: Date
}

/**
 * Delivers everything that waits with one job and one transaction a delivery, with the same filters, format, transport and
 * database. The deliveries were written before: that part costs it nothing.
 */
export async function jobPerDelivery(app: App, ids: readonly string[]): Promise<void> {
  const { db } = app.database
  const transport = createTransport({ policy: targetPolicyOf(app.config), scrub: (text) => text })
  const format = createWebhookFormat({ transport })
  const openTarget = createOpenTarget(app.sealer)
  const queue = openQueue(app)
  await queue.start()
  const { promise: done, resolve, reject } = Promise.withResolvers<void>()
  let left = ids.length
  const deliver = async (id: string) => {
    const { rows } = await sql<NaiveRow>`
      select ${SEALED_ENDPOINT}, e.reseller_id as "resellerId", d.seq, d.previous_seq as "previousSeq",
             d.recorded_at as "recordedAt"
        from delivery d join webhook_endpoint e on e.id = d.endpoint_id where d.id = ${id}
    `.execute(db)
    const [row] = rows
    if (row === undefined) throw new Error('the delivery is gone')
    const [record] = await readRecords({ db }, [row])
    const timestamp = row.recordedAt.toISOString()
    const data = { ...record, previous: row.previousSeq }
    const message = { deliveryId: id, type: `fare.${record?.kind}`, timestamp, data }
    const startedAt = new Date()
    await format.send(openTarget(row), [message], AbortSignal.timeout(15_000))
    await inTransaction(db, async (tx) => {
      await sql`
        update delivery
           set state = 'delivered', attempts = attempts + 1, first_attempt_at = ${startedAt}, due_at = null,
               ended_at = clock_timestamp()
         where id = ${id}
      `.execute(tx)
      await sql`
        insert into delivery_attempt (delivery_id, started_at, duration_ms, status, outcome)
        values (${id}, ${startedAt}, 1, 200, 'ok')
      `.execute(tx)
    })
    left -= 1
    if (left === 0) resolve()
  }
  await queue.work<{ id: string }>(QUEUE, ({ id }) => deliver(id).catch(reject), {
    concurrency: CONCURRENCY,
  })
  // As many jobs are added at a time as run at a time.
  for (let i = 0; i < ids.length; i += CONCURRENCY) {
    const some = ids.slice(i, i + CONCURRENCY)
    await Promise.all(some.map((id) => queue.enqueue(QUEUE, { payload: { id } })))
  }
  await done
  await queue.close({ graceMs: 5_000 })
  await transport.close()
}
