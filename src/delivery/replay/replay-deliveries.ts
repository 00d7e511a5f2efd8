import type { DeadReason } from '../../platform/base/kinds.ts'
import { type Db, type RawBuilder, sql } from '../../platform/db/database.ts'
import { affected } from '../../platform/db/transaction.ts'

/** A delivery that is not tried any more, with its last attempt. */
export interface DeadDelivery {
  readonly id: string
  readonly endpointId: string
  /** The number of the record in the reseller's feed; null for an event. */
  readonly seq: number | null
  /** The type of an event; null for a record. */
  readonly type: string | null
  readonly deadReason: DeadReason
  readonly attempts: number
  readonly recordedAt: Date
  readonly endedAt: Date
  /** Null if none was made, or if the retention has deleted it. */
  readonly lastAttempt: Attempt | null
}

export interface Attempt {
  readonly startedAt: Date
  readonly durationMs: number
  /** The status of the answer; null if there was none. */
  readonly status: number | null
  readonly outcome: string
  /** The beginning of the answer, scrubbed. */
  readonly answer: string
}

export interface DeadPage {
  readonly endpointId?: string | undefined
  /** The id of the last delivery of the previous page. */
  readonly after?: string | undefined
  readonly limit: number
}

/** A reseller's dead deliveries, newest first. */
export async function listDead(
  db: Db,
  resellerId: number,
  { endpointId, after, limit }: DeadPage,
): Promise<DeadDelivery[]> {
  const { rows } = await sql<DeadRow>`
    select d.id, d.endpoint_id as "endpointId", d.seq, d.type, d.dead_reason as "deadReason", d.attempts,
           d.recorded_at as "recordedAt", d.ended_at as "endedAt",
           a.started_at as "startedAt", a.duration_ms as "durationMs", a.status, a.outcome, a.answer
      from delivery d
      left join lateral (select * from delivery_attempt where delivery_id = d.id order by started_at desc limit 1) a on true
     where d.state = 'dead' and ${isOfReseller(resellerId, endpointId)}
       and (${after ?? null}::uuid is null or d.id < ${after ?? null}::uuid)
     order by d.id desc
     limit ${limit}
  `.execute(db)
  return rows.map(({ startedAt, durationMs, status, outcome, answer, ...delivery }) => ({
    ...delivery,
    lastAttempt: startedAt === null ? null : { startedAt, durationMs, status, outcome, answer },
  }))
}

type DeadRow = Omit<DeadDelivery, 'lastAttempt'> &
  Omit<Attempt, 'startedAt'> & { readonly startedAt: Date | null }

/** The attempts of a delivery, oldest first. Empty if the reseller has no such delivery. */
export async function listAttempts(
  db: Db,
  resellerId: number,
  deliveryId: string,
): Promise<Attempt[]> {
  const { rows } = await sql<Attempt>`
    select a.started_at as "startedAt", a.duration_ms as "durationMs", a.status, a.outcome, a.answer
      from delivery_attempt a
      join delivery d on d.id = a.delivery_id
     where d.id = ${deliveryId} and ${isOfReseller(resellerId)}
     order by a.started_at, a.id
  `.execute(db)
  return rows
}

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

export interface ReplayRange {
  readonly endpointId: string
  /** The first and the last number of the feed. */
  readonly from: number
  readonly through: number
}

/**
 * Sends an endpoint's ended deliveries of a range again. Returns how many. Records that did not pass the filters are not
 * sent, nor are those whose deliveries the retention has deleted.
 */
export async function replayRange(
  db: Db,
  resellerId: number,
  { endpointId, from, through }: ReplayRange,
): Promise<number> {
  return replay(
    db,
    sql`${isOfReseller(resellerId, endpointId)} and d.seq between ${from} and ${through}`,
  )
}

/** Sends all deliveries that died since an instant again, those that died first first. Returns how many. */
export async function replayFailed(
  db: Db,
  resellerId: number,
  { endpointId, since }: { readonly endpointId?: string | undefined; readonly since: Date },
): Promise<number> {
  return replay(
    db,
    sql`${isOfReseller(resellerId, endpointId)} and d.state = 'dead' and d.ended_at >= ${since}`,
  )
}

function isOfReseller(resellerId: number, endpointId?: string): RawBuilder<boolean> {
  const endpoints = sql`select id from webhook_endpoint where reseller_id = ${resellerId}`
  const narrowed =
    endpointId === undefined ? endpoints : sql`${endpoints} and id = ${endpointId}::uuid`
  return sql<boolean>`d.endpoint_id in (${narrowed})`
}

/** A replayed delivery keeps its id and its attempts, and has the whole schedule of retries before it again. It yields to new ones. */
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
