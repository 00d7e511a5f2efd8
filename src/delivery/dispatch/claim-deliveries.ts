import { type FeedSource, readRecords } from '../../feeds/watch-feed-queries.ts'
import { messageType } from '../../platform/base/change-kinds.ts'
import type { EndpointFormat } from '../../platform/base/kinds.ts'
import { type Db, PREPARED, type RawBuilder, sql, type Tx } from '../../platform/db/database.ts'
import { pauseEnd } from '../../platform/db/pauses.ts'
import { selectOne, WITHOUT_WAITING_FOR_DISK } from '../../platform/db/transaction.ts'
import { SEALED_ENDPOINT, type SealedEndpoint } from '../endpoints/sealer.ts'
import type { Format, Message } from '../formats/format.ts'

/** Longer than a request with the record of its result. After it the delivery is due again. */
export const LEASE_SECONDS = 30
/** How many requests to one endpoint are in progress, in all processes together. */
export const REQUESTS = 4
/** An endpoint counts as healthy for this long after a success, until its next failure. */
const HEALTHY_SECONDS = 60

/** An endpoint with due deliveries, locked until the transaction ends. */
export interface ReadyEndpoint extends SealedEndpoint {
  readonly resellerId: number
  readonly format: EndpointFormat
  /** Whether its last attempt, less than a minute ago, succeeded. */
  readonly healthy: boolean
}

export interface ClaimedDelivery {
  readonly id: string
  readonly endpointId: string
  readonly claimId: string
  readonly seq: number | null
  readonly previousSeq: number | null
  /** Null for a record. */
  readonly type: string | null
  readonly payload: unknown
  readonly recordedAt: Date
  readonly attempts: number
}

/** How many requests a process may begin. */
export interface FreeRequests {
  readonly healthy: number
  /** For endpoints that failed last, or without a recent success. */
  readonly doubtful: number
}

/**
 * Locks the endpoints of these formats that have due deliveries and an attempt may be made at. Those that another
 * process has locked are left to it. None while deliveries are paused. The lock lasts over the next statement, so that both see the same requests in
 * progress.
 */
export async function lockReady(tx: Tx, formats: readonly Format[]): Promise<ReadyEndpoint[]> {
  const { rows } = await sql<ReadyEndpoint>`
    select ${SEALED_ENDPOINT}, e.reseller_id as "resellerId", e.format,
           e.failures = 0 and coalesce(e.last_success_at > now() - make_interval(secs => ${HEALTHY_SECONDS}), false) as healthy,
           ${WITHOUT_WAITING_FOR_DISK}
      from webhook_endpoint e
      join reseller r on r.id = e.reseller_id and r.disabled_at is null
     cross join lateral (
       select from delivery d
        where d.endpoint_id = e.id and d.state = 'pending' and d.replayed in (false, true) and d.due_at <= now()
        limit 1) due
     where e.disabled_at is null and e.format = any(${formats.map(({ name }) => name)})
       and coalesce(greatest(e.open_until, e.held_until) <= now(), true)
       and ${pauseEnd('deliveries')} <= now()
     order by e.id
       for no key update of e skip locked
  `.execute(tx)
  return rows
}

/**
 * In how many milliseconds the next delivery is due, at the earliest; 0 while an endpoint is behind its feed.
 * Undefined if nothing waits, or deliveries are paused.
 */
export async function nextDeliveryMs(db: Db): Promise<number | undefined> {
  const { ms } = await selectOne(
    sql<{ ms: number | null }>`${PREPARED}
      select case when ${pauseEnd('deliveries')} > now() then null
                  when bool_or(e.cursor_seq < r.last_seq) then 0
                  else (extract(epoch from min(greatest(d.due_at, e.open_until, e.held_until)) filter (where d.due_at is not null)
                                           - clock_timestamp()) * 1000)::float8
                  end as ms
        from webhook_endpoint e
        join reseller r on r.id = e.reseller_id and r.disabled_at is null
       cross join unnest(array[false, true]) kind (replayed)
        left join lateral (
         select due_at from delivery
          where endpoint_id = e.id and state = 'pending' and replayed = kind.replayed
          order by due_at
          limit 1) d on true
       where e.disabled_at is null
    `,
    db,
  )
  return ms ?? undefined
}

/**
 * Claims due deliveries of locked endpoints: events first, so that a test does not wait behind records, then new records,
 * then replayed ones. If the process has too few free requests, all endpoints get a first one before any gets a second.
 *
 * Those that are due first go first. At an endpoint that fails it is the oldest instead: the pause after its failed
 * attempt would let every newer record pass it.
 *
 * An endpoint has at most four requests in progress, and one while its last attempt failed or none has succeeded yet. A
 * format that joins messages has one, which takes all that is due.
 */
export async function claimDeliveries(
  tx: Tx,
  { claimId, ready, formats, free }: ClaimArgs,
): Promise<ClaimedDelivery[]> {
  const { rows } = await sql<ClaimedDelivery>`
    with open as (
      select e.id, o.healthy, e.failures > 0 as failing, f.messages > 1 as joined, f.messages,
             case when f.messages > 1 or e.failures > 0 or e.last_success_at is null then 1 else ${REQUESTS} end as width,
             (select case when f.messages > 1 then count(distinct d.claim_id) else count(*) end
                from delivery d
               where d.endpoint_id = e.id and d.claim_id is not null and d.due_at > now()) as sending
        from unnest(${ready.map(({ id }) => id)}::uuid[], ${ready.map(({ healthy }) => healthy)}::boolean[]) o (id, healthy)
        join webhook_endpoint e on e.id = o.id
        join unnest(${formats.map(({ name }) => name)}::text[], ${formats.map((f) => f.maxMessages)}::int[]) f (name, messages)
          on f.name = e.format
    ), due as (
      select d.id, o.id as endpoint_id, o.healthy,
             case when o.joined then 1 else o.sending + row_number() over w end as position,
             case when o.joined then first_value(d.due_at) over w else d.due_at end as since
        from open o
       cross join lateral (
         select * from (${sql.join(QUEUES.map(dueOf), sql` union all `)}) queues
          order by place, since, id
          limit greatest(0, o.width - o.sending) * o.messages) d
      window w as (partition by o.id order by d.place, d.since, d.id)
    ), ranked as (
      select id, healthy, dense_rank() over (partition by healthy order by position, since, endpoint_id) as rank from due
    )
    update delivery d
       set claim_id = ${claimId}, due_at = now() + make_interval(secs => ${LEASE_SECONDS})
      from ranked r
     where d.id = r.id and r.rank <= case when r.healthy then ${free.healthy}::int else ${free.doubtful}::int end
    returning d.id, d.endpoint_id as "endpointId", d.claim_id as "claimId", d.seq, d.previous_seq as "previousSeq",
              d.type, d.payload, d.recorded_at as "recordedAt", d.attempts
  `.execute(tx)
  return rows
}

const IS_NEW = sql`seq is not null and not replayed`
const IS_REPLAYED = sql`seq is not null and replayed`
/**
 * What endpoint `o` is sent, in this order, and what decides within a queue. The index has records in the order of `due_at`.
 * A failing endpoint is tried seldom, so its records may be sorted. Events are few.
 */
const QUEUES = [
  { place: 0, isOf: sql`seq is null`, by: 'recorded_at' },
  { place: 1, isOf: sql`${IS_NEW} and not o.failing`, by: 'due_at' },
  { place: 1, isOf: sql`${IS_NEW} and o.failing`, by: 'recorded_at' },
  { place: 2, isOf: sql`${IS_REPLAYED} and not o.failing`, by: 'due_at' },
  { place: 2, isOf: sql`${IS_REPLAYED} and o.failing`, by: 'recorded_at' },
] as const

/** The first due deliveries of one queue. */
function dueOf({ place, isOf, by }: (typeof QUEUES)[number]): RawBuilder<unknown> {
  return sql`
    (select id, due_at, ${sql.lit(place)} as place, ${sql.ref(by)} as since from delivery
      where endpoint_id = o.id and state = 'pending' and ${isOf} and due_at <= now()
      order by ${sql.ref(by)}, id
      limit greatest(0, o.width - o.sending) * o.messages)
  `
}

interface ClaimArgs {
  readonly claimId: string
  readonly ready: readonly ReadyEndpoint[]
  readonly formats: readonly Format[]
  readonly free: FreeRequests
}

/** What a message is made of. */
type Composable = Omit<ClaimedDelivery, 'claimId' | 'attempts'>

/** A delivery with what a format sends of it. */
export interface ComposedDelivery {
  readonly delivery: ClaimedDelivery
  readonly message: Message
}

/**
 * Reads the records of claimed deliveries, in the order of the feed. `data` is what `/api/v1/watch-changes`
 * answers.
 */
export async function composeMessages<D extends Composable>(
  source: FeedSource,
  claimed: readonly D[],
  ready: readonly Pick<ReadyEndpoint, 'id' | 'resellerId'>[],
): Promise<{ readonly delivery: D; readonly message: Message }[]> {
  const resellerOf = new Map(ready.map(({ id, resellerId }) => [id, resellerId]))
  const placeOf = ({ endpointId, seq }: Composable) =>
    seq === null ? [] : [{ resellerId: resellerOf.get(endpointId) ?? 0, seq }]
  const places = claimed.flatMap(placeOf)
  const records = places.length === 0 ? [] : await readRecords(source, places)
  const byPlace = new Map(
    records.map(({ resellerId, ...record }) => [`${resellerId}/${record.seq}`, record]),
  )
  return claimed
    .map((delivery) => {
      const [place] = placeOf(delivery)
      const record =
        place === undefined ? undefined : byPlace.get(`${place.resellerId}/${place.seq}`)
      const { id, type, payload, previousSeq, recordedAt } = delivery
      const message: Message = {
        deliveryId: id,
        type: record === undefined ? (type ?? '') : messageType(record.kind),
        timestamp: recordedAt.toISOString(),
        data: record === undefined ? payload : { ...record, previous: previousSeq },
      }
      return { delivery, message }
    })
    .toSorted((a, b) => (a.delivery.seq ?? 0) - (b.delivery.seq ?? 0))
}

/** The limit of a payload. Records are far smaller: texts in them have limits. */
const MAX_PAYLOAD_BYTES = 20_000

export function isTooLarge({ type, timestamp, data }: Message): boolean {
  return Buffer.byteLength(JSON.stringify({ type, timestamp, data })) > MAX_PAYLOAD_BYTES
}
