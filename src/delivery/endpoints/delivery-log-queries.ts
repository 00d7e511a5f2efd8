import type { EndpointFormat } from '../../base/kinds.ts'
import { type RawBuilder, sql } from '../../db/database.ts'
import { selectOne } from '../../db/transaction.ts'
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
export function listRecordDeliveries(owner: EndpointOwner, seq: number): Promise<LoggedDelivery[]> {
  const own = sql`select id from webhook_endpoint where reseller_id = ${owner.resellerId}`
  return readLog(owner, {
    chosen: sql`select * from delivery where endpoint_id in (${own}) and seq = ${seq}`,
    order: sql`e.created_at, e.id`,
  })
}

/** The last deliveries of an endpoint, newest first. Records are found by their numbers, which have an index. */
export function listRecentDeliveries(
  owner: EndpointOwner,
  endpointId: string,
  limit: number,
): Promise<LoggedDelivery[]> {
  return readLog(owner, {
    chosen: sql`
      (select * from delivery where endpoint_id = ${endpointId} and seq is not null order by seq desc limit ${limit})
      union all
      (select * from delivery where endpoint_id = ${endpointId} and seq is null order by id desc limit ${limit})
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

type LogRow = Omit<LoggedDelivery, 'lastAttempt'> &
  Omit<Attempt, 'startedAt'> & { readonly startedAt: Date | null }

async function readLog(
  { db, resellerId }: EndpointOwner,
  { chosen, order }: { readonly chosen: RawBuilder<unknown>; readonly order: RawBuilder<unknown> },
): Promise<LoggedDelivery[]> {
  const { rows } = await sql<LogRow>`
    select d.id, d.endpoint_id as "endpointId", e.format, e.target_shown as target, d.seq, d.type, d.state,
           d.dead_reason as "deadReason", d.attempts, d.recorded_at as "recordedAt", d.due_at as "dueAt",
           d.ended_at as "endedAt",
           a.started_at as "startedAt", a.duration_ms as "durationMs", a.status, a.outcome, a.answer
      from (${chosen}) d
      join webhook_endpoint e on e.id = d.endpoint_id and e.reseller_id = ${resellerId}
      left join lateral (select * from delivery_attempt where delivery_id = d.id order by started_at desc limit 1) a on true
     order by ${order}
  `.execute(db)
  return rows.map(({ startedAt, durationMs, status, outcome, answer, ...delivery }) => ({
    ...delivery,
    lastAttempt: startedAt === null ? null : { startedAt, durationMs, status, outcome, answer },
  }))
}
