import { DELIVERY_STATES, type DeliveryState } from '../../platform/base/kinds.ts'
import { type Db, type RawBuilder, sql } from '../../platform/db/database.ts'
import type { PagePosition } from '../../platform/http/pages.ts'
import { ProblemError } from '../../platform/http/problems.ts'
import type { Delivery } from './delivery-shapes.ts'
import { ATTEMPT, type EndpointOwner, splitAttempt, type WithAttempt } from './endpoint-queries.ts'
import type { Attempt } from './endpoint-shapes.ts'

/** Reads the chosen deliveries with their records (a change `c` of a fare, event `n` of a watch, or change `o` of a route), endpoints and last attempts. */
async function readDeliveries(
  db: Db,
  { chosen, order }: { readonly chosen: RawBuilder<unknown>; readonly order: RawBuilder<unknown> },
): Promise<Delivery[]> {
  const { rows } = await sql<WithAttempt<Omit<Delivery, 'lastAttempt'>>>`
    select d.id, r.name as reseller, d.endpoint_id as "endpointId", e.format, e.target_shown as target,
           d.seq, d.type, coalesce(c.kind, n.kind, o.kind) as kind, w.reference,
           d.state, d.dead_reason as "deadReason", d.attempts as "attemptCount",
           d.recorded_at as "recordedAt", d.due_at as "dueAt", d.ended_at as "endedAt", ${ATTEMPT}
      from (${chosen}) d
      join webhook_endpoint e on e.id = d.endpoint_id
      join reseller r on r.id = e.reseller_id
      left join watch_change w on w.reseller_id = e.reseller_id and w.seq = d.seq
      left join availability_change c on c.id = w.change_id
      left join watch_event n on n.id = w.watch_event_id
      left join route_change o on o.seq = w.route_seq
      left join lateral (
        select * from delivery_attempt where delivery_id = d.id order by started_at desc limit 1) a on true
     order by ${order}
  `.execute(db)
  return rows.map((row) => {
    const { rest, attempt } = splitAttempt(row)
    return { ...rest, lastAttempt: attempt } as Delivery
  })
}

/** Whether delivery `d` is of an endpoint of the reseller, or of this one of its endpoints. */
export function isOfReseller(resellerId: number, endpointId?: string): RawBuilder<boolean> {
  const endpoints = sql`select id from webhook_endpoint where reseller_id = ${resellerId}`
  const narrowed =
    endpointId === undefined ? endpoints : sql`${endpoints} and id = ${endpointId}::uuid`
  return sql<boolean>`d.endpoint_id in (${narrowed})`
}

/** One delivery of a reseller's endpoint. Throws `not_found`. */
export async function requireDelivery(
  { db, resellerId }: EndpointOwner,
  deliveryId: string,
): Promise<Delivery> {
  const [found] = await readDeliveries(db, {
    chosen: sql`select d.* from delivery d where d.id = ${deliveryId} and ${isOfReseller(resellerId)}`,
    order: sql`d.id`,
  })
  if (found !== undefined) return found
  throw new ProblemError('not_found', {
    missing: 'delivery',
    parameter: 'deliveryId',
    detail: 'there is no delivery with this id',
  })
}

/** What a delivery carries itself: the content of an event, or how its record follows the last one. */
export function readContent(
  db: Db,
  deliveryId: string,
): Promise<{ readonly previousSeq: number | null; readonly payload: unknown }> {
  return db
    .selectFrom('delivery')
    .select(['previous_seq as previousSeq', 'payload'])
    .where('id', '=', deliveryId)
    .executeTakeFirstOrThrow()
}

export interface DeliveryFilter {
  /** Unset: of all resellers, for operators. */
  readonly resellerId?: number | undefined
  readonly endpointId?: string | undefined
  readonly states?: readonly DeliveryState[] | undefined
  /** The number of a record. */
  readonly seq?: number | undefined
  /** The id of the last delivery of the previous page. */
  readonly after?: string | undefined
  readonly limit: number
}

/** Deliveries, newest first. Each state of each endpoint is read by its index. */
export function listDeliveries(db: Db, filter: DeliveryFilter): Promise<Delivery[]> {
  const { resellerId = null, endpointId = null, seq = null, after = null, limit } = filter
  const { states = DELIVERY_STATES } = filter
  return readDeliveries(db, {
    chosen: sql`
      select found.*
        from webhook_endpoint own
       cross join unnest(${states}::text[]) wanted (state)
       cross join lateral (
             select *
               from delivery
              where endpoint_id = own.id and state = wanted.state
                and (${seq}::bigint is null or seq = ${seq}::bigint)
                and (${after}::uuid is null or id < ${after}::uuid)
              order by id desc
              limit ${limit}) found
       where (${resellerId}::bigint is null or own.reseller_id = ${resellerId}::bigint)
         and (${endpointId}::uuid is null or own.id = ${endpointId}::uuid)
       order by found.id desc
       limit ${limit}
    `,
    order: sql`d.id desc`,
  })
}

/** The attempts of a delivery, oldest first. Empty if the reseller has no such delivery. */
export async function listAttempts(
  db: Db,
  resellerId: number,
  deliveryId: string,
): Promise<Attempt[]> {
  const { rows } = await sql<Attempt>`
    select ${ATTEMPT}
      from delivery_attempt a
      join delivery d on d.id = a.delivery_id
     where d.id = ${deliveryId} and ${isOfReseller(resellerId)}
     order by a.started_at, a.id
  `.execute(db)
  return rows
}

/**
 * The deliveries of a change of a fare to the endpoints of all resellers, newest first. A fare may have thousands of
 * watches, and each its endpoints.
 */
export function listChangeDeliveries(
  db: Db,
  changeSeq: number,
  { after = null, limit }: PagePosition<string | null>,
): Promise<Delivery[]> {
  return readDeliveries(db, {
    chosen: sql`
      select d.*
        from availability_change c
        join watch_change w on w.change_id = c.id
        join webhook_endpoint own on own.reseller_id = w.reseller_id
        join delivery d on d.endpoint_id = own.id and d.seq = w.seq
       where c.seq = ${changeSeq}
         and (${after}::uuid is null or d.id < ${after}::uuid)
       order by d.id desc
       limit ${limit}
    `,
    order: sql`d.id desc`,
  })
}
