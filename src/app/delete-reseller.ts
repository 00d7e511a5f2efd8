import { deleteDeliveriesOf } from '../delivery/dispatch/end-deliveries.ts'
import { deleteRecordsOf } from '../feeds/append-records.ts'
import { type Db, sql } from '../platform/db/database.ts'
import { notify } from '../platform/db/listener.ts'
import { inTransaction, selectOne } from '../platform/db/transaction.ts'
import { beginDeletion, finishDeletion, listDeleted } from '../resellers/resellers.ts'
import { deleteListsOf, disableReseller } from '../watches/change-watches.ts'

/** What a reseller has, in rows. */
export interface ResellerContents {
  readonly keys: number
  readonly endpoints: number
  readonly deliveries: number
  /** The records of its feed. */
  readonly records: number
  readonly lists: number
  readonly watches: number
}

export async function countContents(db: Db, resellerId: number): Promise<ResellerContents> {
  return selectOne(
    sql<ResellerContents>`
      select (select count(*) from api_key where reseller_id = r.id) as keys,
             (select count(*) from webhook_endpoint where reseller_id = r.id) as endpoints,
             (select count(*) from delivery d join webhook_endpoint e on e.id = d.endpoint_id
               where e.reseller_id = r.id) as deliveries,
             (select count(*) from watch_change where reseller_id = r.id) as records,
             (select count(*) from watch_list where reseller_id = r.id) as lists,
             (select count(*) from watch where reseller_id = r.id) as watches
        from reseller r
       where r.id = ${resellerId}
    `,
    db,
  )
}

/**
 * Ends the keys, streams, watches and deliveries of a reseller at once, and marks what it has for deletion. Fares that
 * other resellers watch, and the history of all fares, stay.
 */
export async function markForDeletion(db: Db, resellerId: number): Promise<void> {
  await disableReseller(db, resellerId)
  await inTransaction(db, async (tx) => {
    await beginDeletion(tx, resellerId)
    await sql`select ${notify('key')}`.execute(tx)
  })
}

const BATCH = 5_000

/** Each deletes one batch, and returns how many rows it had. In the order of what refers to what. */
const STEPS = [deleteDeliveriesOf, deleteRecordsOf, deleteListsOf]

/**
 * Deletes what is marked, in batches, each a transaction. Another call goes on where one was killed. Returns the names
 * of the resellers that are gone.
 */
export async function deleteMarked(
  db: Db,
  { signal, onBatch }: { readonly signal?: AbortSignal; readonly onBatch?: (rows: number) => void },
): Promise<string[]> {
  const gone: string[] = []
  for (const { id, name } of await listDeleted(db)) {
    for (const step of STEPS) {
      for (;;) {
        signal?.throwIfAborted()
        const rows = await step(db, id, BATCH)
        onBatch?.(rows)
        if (rows === 0) break
      }
    }
    if (await finishDeletion(db, id)) gone.push(name)
  }
  return gone
}
