import { type Db, type RawBuilder, sql } from '../../platform/db/database.ts'
import { affected, selectOne } from '../../platform/db/transaction.ts'
import { invalidBody, type ProblemError } from '../../platform/http/problems.ts'
import { isOfReseller } from './delivery-queries.ts'

/** How many deliveries one call replays at most. */
export const MAX_REPLAYED = 10_000

/** Sends a delivery that has ended again. Returns false if the reseller has none with this id. */
export async function retryDelivery(
  db: Db,
  resellerId: number,
  deliveryId: string,
): Promise<boolean> {
  return (await replay(db, sql`d.id = ${deliveryId} and ${isOfReseller(resellerId)}`)) > 0
}

/** Nothing can be in the range, so its caller has mistaken it. */
function emptyRange(field: string, detail: string): ProblemError {
  return invalidBody({ pointer: `/${field}`, detail })
}

/**
 * Sends an endpoint's ended deliveries of a range again. Returns how many. Records that did not pass the filters
 * are not sent, nor are those whose deliveries the retention has deleted. Throws a ProblemError if the range is empty.
 */
export async function replayRange(
  db: Db,
  resellerId: number,
  {
    endpointId,
    from,
    to,
  }: { readonly endpointId: string; readonly from: number; readonly to: number },
): Promise<number> {
  if (from > to) {
    throw emptyRange('from', `from is ${from}, but must not be greater than to, ${to}`)
  }
  const { last } = await selectOne(
    sql<{ last: number }>`select last_seq as last from reseller where id = ${resellerId}`,
    db,
  )
  if (from > last) throw emptyRange('from', `from is ${from}, but the feed ends at ${last}`)
  return replay(
    db,
    sql`${isOfReseller(resellerId, endpointId)} and d.seq between ${from} and ${to}`,
  )
}

/**
 * Sends all deliveries that died since an instant again, those that died first first. Returns how many. Throws a
 * ProblemError if the instant is in the future.
 */
export async function replayFailed(
  db: Db,
  resellerId: number,
  { endpointId, diedFrom }: { readonly endpointId?: string | undefined; readonly diedFrom: Date },
): Promise<number> {
  const { isAhead } = await selectOne(
    sql<{ isAhead: boolean }>`select ${diedFrom}::timestamptz > clock_timestamp() as "isAhead"`,
    db,
  )
  if (isAhead) throw emptyRange('diedFrom', `diedFrom is in the future: ${diedFrom.toISOString()}`)
  return replay(
    db,
    sql`${isOfReseller(resellerId, endpointId)} and d.state = 'dead' and d.ended_at >= ${diedFrom}`,
  )
}

/**
 * A replayed delivery keeps its id and its attempts, and has the whole schedule of retries before it again. It
 * yields to new ones.
 */
function replay(db: Db, isWanted: RawBuilder<unknown>): Promise<number> {
  return affected(
    sql`
      update delivery
         set state = 'pending', due_at = clock_timestamp(), ended_at = null, dead_reason = null,
             attempts = 0, first_attempt_at = null, replayed = true
       where state <> 'pending'
         and id in (select d.id from delivery d
                     where d.state <> 'pending' and ${isWanted}
                     order by d.ended_at, d.seq
                     limit ${MAX_REPLAYED})
    `,
    db,
  )
}
