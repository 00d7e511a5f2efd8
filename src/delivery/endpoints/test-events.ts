import { exampleRecord } from '../../feeds/example-records.ts'
import type { WatchChangeKind } from '../../platform/base/change-kinds.ts'
import { sql } from '../../platform/db/database.ts'
import { notify } from '../../platform/db/listener.ts'
import { inTransaction, selectOne } from '../../platform/db/transaction.ts'
import { TEST_LIMIT, takeFromLimit } from '../formats/target-limits.ts'
import { type EndpointOwner, lockEndpoint } from './endpoint-queries.ts'
import { EndpointDisabledError, TooManyTestsError } from './endpoint-settings.ts'

/** Adds a test event to the endpoint's deliveries and returns its id. Throws as `addEvent` does. */
export function addTestEvent(owner: EndpointOwner, id: string): Promise<string> {
  const data = { endpointId: id, message: 'This is a test of the endpoint.' }
  return addEvent(owner, id, { type: 'webhook.test', data })
}

/** Adds an example of a record, without a number, and returns the id of its delivery. Throws as `addEvent` does. */
export function addExample(
  owner: EndpointOwner,
  id: string,
  kind: WatchChangeKind,
): Promise<string> {
  return addEvent(owner, id, { type: `example.${kind}`, data: exampleRecord(kind) })
}

/**
 * Adds an event that its reseller asked for. It is sent at once, also while the circuit breaker is open: then it is the
 * attempt that tests the endpoint. Throws EndpointDisabledError and TooManyTestsError.
 */
async function addEvent(
  { db, resellerId }: EndpointOwner,
  id: string,
  { type, data }: { readonly type: string; readonly data: object },
): Promise<string> {
  return inTransaction(db, async (tx) => {
    const { reason, hash } = await lockEndpoint(tx, resellerId, id)
    if (reason !== null) throw new EndpointDisabledError(reason)
    const waitMs = await takeFromLimit(tx, hash, TEST_LIMIT)
    if (waitMs > 0) throw new TooManyTestsError(waitMs)
    const added = await selectOne(
      sql<{ id: string }>`
        insert into delivery (endpoint_id, type, payload, recorded_at)
        values (${id}, ${type}, ${JSON.stringify(data)}, clock_timestamp())
        returning id, ${notify('watch', sql`${resellerId}::bigint`)}
      `,
      tx,
    )
    await sql`update webhook_endpoint set open_until = null where id = ${id}`.execute(tx)
    return added.id
  })
}
