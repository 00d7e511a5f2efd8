import type { EndpointFormat } from '../../platform/base/kinds.ts'
import { type Db, type RawBuilder, sql } from '../../platform/db/database.ts'
import { selectOne } from '../../platform/db/transaction.ts'
import type { Attempt } from '../replay/replay-deliveries.ts'
import type { EndpointOwner, ShownDelivery } from './endpoint-queries.ts'

/** A delivery with its endpoint and its last attempt. */
export interface LoggedDelivery extends ShownDelivery {
  readonly format: EndpointFormat
  readonly target: string
  /** Null if none was made, or if the retention has deleted it. */
  readonly lastAttempt: Attempt | null
}

/** The deliveries of a record to the endpoints of its reseller, by endpoint. */
export function listRecordDeliveries(
  { db, resellerId }: EndpointOwner,
  seq: number,
): Promise<LoggedDelivery[]> {
  const own = sql`select id from webhook_endpoint where reseller_id = ${resellerId}`
  return readLog(db, {
    chosen: sql`select * from delivery where endpoint_id in (${own}) and seq = ${seq}`,
    order: sql`e.created_at, e.id`,
  })
}

/** The deliveries of a change of a fare to the endpoints of all resellers, with the names of these. */
export function listChangeDeliveries(
  db: Db,
  changeSeq: number,
): Promise<(LoggedDelivery & { readonly reseller: string })[]> {
  return readLog(db, {
    columns: sql`, r.name as reseller`,
    chosen: sql`
      select d.*
        from availability_change c
        join watch_change w on w.change_id = c.id
        join webhook_endpoint own on own.reseller_id = w.reseller_id
        join delivery d on d.endpoint_id = own.id and d.seq = w.seq
       where c.seq = ${changeSeq}
       limit ${MAX_LISTED}
    `,
    order: sql`r.name, e.created_at, e.id, d.seq`,
  })
}

/** The last deliveries of an endpoint, newest first. Records are found by their numbers, which have an index. */
export function listRecentDeliveries(
  { db, resellerId }: EndpointOwner,
  endpointId: string,
  limit: number,
): Promise<LoggedDelivery[]> {
  const own = sql`(select id from webhook_endpoint where id = ${endpointId} and reseller_id = ${resellerId})`
  return readLog(db, {
    chosen: sql`
      (select * from delivery where endpoint_id = ${own} and seq is not null order by seq desc limit ${limit})
      union all
      (select * from delivery where endpoint_id = ${own} and seq is null order by id desc limit ${limit})
    `,
    order: sql`d.recorded_at desc, d.id desc limit ${limit}`,
  })
}

/** Whether the reseller's feed has a record. */
export async function hasRecord({ db, resellerId }: EndpointOwner, seq: number): Promise<boolean> {
  const { found } = await selectOne(
    sql<{ found: boolean }>`
      select exists (select from watch_change where reseller_id = ${resellerId} and seq = ${seq}) as found
    `,
    db,
  )
  return found
}

/** A fare may have thousands of watches, and each its endpoints. */
const MAX_LISTED = 200

type LogRow<R> = Omit<R, 'lastAttempt'> &
  Omit<Attempt, 'startedAt'> & { readonly startedAt: Date | null }

interface Log {
  readonly columns?: RawBuilder<unknown>
  readonly chosen: RawBuilder<unknown>
  readonly order: RawBuilder<unknown>
}

async function readLog<R extends LoggedDelivery>(
  db: Db,
  { columns = sql``, chosen, order }: Log,
): Promise<R[]> {
  const { rows } = await sql<LogRow<R>>`
    select d.id, d.endpoint_id as "endpointId", e.format, e.target_shown as target, d.seq, d.type, d.state,
           d.dead_reason as "deadReason", d.attempts, d.recorded_at as "recordedAt", d.due_at as "dueAt",
           d.ended_at as "endedAt",
           a.started_at as "startedAt", a.duration_ms as "durationMs", a.status, a.outcome, a.answer ${columns}
      from (${chosen}) d
      join webhook_endpoint e on e.id = d.endpoint_id
      join reseller r on r.id = e.reseller_id
      left join lateral (select * from delivery_attempt where delivery_id = d.id order by started_at desc limit 1) a on true
     order by ${order}
  `.execute(db)
  return rows.map((row) => {
    const { startedAt, durationMs, status, outcome, answer, ...delivery } = row
    const lastAttempt =
      startedAt === null ? null : { startedAt, durationMs, status, outcome, answer }
    return { ...delivery, lastAttempt } as unknown as R
  })
}
