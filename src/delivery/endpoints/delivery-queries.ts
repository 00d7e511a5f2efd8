import { type Db, type RawBuilder, sql } from '../../platform/db/database.ts'
import { selectOne } from '../../platform/db/transaction.ts'
import { ProblemError } from '../../platform/http/problems.ts'
import type { DeadDelivery, LoggedDelivery, ShownDelivery } from './delivery-shapes.ts'
import { ATTEMPT, type EndpointOwner, splitAttempt, type WithAttempt } from './endpoint-queries.ts'
import type { Attempt } from './endpoint-shapes.ts'

/** What a reader sees of delivery `d`. */
const SHOWN = sql`
  d.id, d.endpoint_id as "endpointId", d.seq, d.type, coalesce(c.kind, n.kind) as kind, w.reference, d.state, d.dead_reason as "deadReason", d.attempts,
  d.recorded_at as "recordedAt", d.due_at as "dueAt", d.ended_at as "endedAt"
`

/** Delivery `d` with its endpoint and its record: a change `c` or event `n` of a watch. */
const WITH_RECORD = sql`
  join webhook_endpoint e on e.id = d.endpoint_id
  left join watch_change w on w.reseller_id = e.reseller_id and w.seq = d.seq
  left join availability_change c on c.id = w.change_id
  left join watch_event n on n.id = w.watch_event_id
`

const LAST_ATTEMPT = sql`
  left join lateral (select * from delivery_attempt where delivery_id = d.id order by started_at desc limit 1) a on true
`

function withLastAttempt<R>(row: WithAttempt<Omit<R, 'lastAttempt'>>): R {
  const { rest, attempt } = splitAttempt(row)
  return { ...rest, lastAttempt: attempt } as R
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
  { endpointId, deliveryId }: { readonly endpointId?: string; readonly deliveryId: string },
): Promise<ShownDelivery> {
  const { rows } = await sql<ShownDelivery>`
    select ${SHOWN} from delivery d ${WITH_RECORD}
     where d.id = ${deliveryId} and ${isOfReseller(resellerId, endpointId)}
  `.execute(db)
  const [found] = rows
  if (found !== undefined) return found
  throw new ProblemError('not_found', {
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

interface DeadPage {
  readonly endpointId?: string | undefined
  /** The id of the last delivery of the previous page. */
  readonly after?: string | undefined
  readonly limit: number
}

type DeadRow = WithAttempt<
  Omit<DeadDelivery, 'lastAttempt'> &
    Pick<ShownDelivery, 'state' | 'dueAt'> & { readonly reseller: string }
>

async function readDead(
  db: Db,
  isWanted: RawBuilder<boolean>,
  { after, limit }: Pick<DeadPage, 'after' | 'limit'>,
): Promise<DeadRow[]> {
  const { rows } = await sql<DeadRow>`
    select ${SHOWN}, ${ATTEMPT}, (select name from reseller where id = e.reseller_id) as reseller
      from delivery d ${WITH_RECORD} ${LAST_ATTEMPT}
     where d.state = 'dead' and ${isWanted}
       and (${after ?? null}::uuid is null or d.id < ${after ?? null}::uuid)
     order by d.id desc
     limit ${limit}
  `.execute(db)
  return rows
}

/** A reseller's dead deliveries, newest first. */
export async function listDead(
  db: Db,
  resellerId: number,
  { endpointId, ...page }: DeadPage,
): Promise<DeadDelivery[]> {
  const rows = await readDead(db, isOfReseller(resellerId, endpointId), page)
  return rows.map(({ state: _dead, dueAt: _none, reseller: _own, ...row }) =>
    withLastAttempt<DeadDelivery>(row),
  )
}

/** The dead deliveries of all resellers, newest first, for operators. */
export async function listDeadOfAll(
  db: Db,
  { limit }: Pick<DeadPage, 'limit'>,
): Promise<(DeadDelivery & { readonly reseller: string })[]> {
  const rows = await readDead(db, sql<boolean>`true`, { limit })
  return rows.map(({ state: _dead, dueAt: _none, ...row }) =>
    withLastAttempt<DeadDelivery & { reseller: string }>(row),
  )
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

interface Log {
  readonly columns?: RawBuilder<unknown>
  readonly chosen: RawBuilder<unknown>
  readonly order: RawBuilder<unknown>
}

async function readLog<R extends LoggedDelivery>(
  db: Db,
  { columns = sql``, chosen, order }: Log,
): Promise<R[]> {
  const { rows } = await sql<WithAttempt<Omit<R, 'lastAttempt'>>>`
    select ${SHOWN}, e.format, e.target_shown as target, ${ATTEMPT} ${columns}
      from (${chosen}) d ${WITH_RECORD}
      join reseller r on r.id = e.reseller_id ${LAST_ATTEMPT}
     order by ${order}
  `.execute(db)
  return rows.map((row) => withLastAttempt<R>(row))
}
