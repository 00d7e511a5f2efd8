import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { request } from 'undici'
import { onTestFinished } from 'vitest'
import {
  createDispatcher,
  type Dispatcher,
  type DispatcherDeps,
} from '../../src/delivery/dispatch/dispatcher.ts'
import { fanOut } from '../../src/delivery/dispatch/fan-out.ts'
import type { SealedEndpoint } from '../../src/delivery/endpoints/sealer.ts'
import type { Format, SendResult, Target } from '../../src/delivery/formats/format.ts'
import { appendWatchDrafts, createWatchDrafts } from '../../src/feeds/append-records.ts'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { inTransaction, selectOne } from '../../src/platform/db/transaction.ts'
import { listenLocally } from '../support/local-server.ts'
import { silentLog } from '../support/silent-log.ts'
import { cells, resellerWith } from '../watches/watch-fixtures.ts'

export interface EndpointArgs {
  readonly address?: string
  readonly format?: Format['name']
  readonly kinds?: readonly string[]
  readonly reasons?: readonly string[]
  readonly lists?: readonly string[]
  readonly rules?: object
  readonly digest?: object
  readonly template?: object
  readonly disabled?: boolean
  /** Whether an earlier attempt succeeded. The default is yes. */
  readonly proven?: boolean
}

/** An endpoint at the start of its reseller's feed. Its address is stored unencrypted, as `openTarget` expects it. */
export async function addEndpoint(
  db: Db,
  resellerId: number,
  given: EndpointArgs = {},
): Promise<string> {
  const { address = 'http://127.0.0.1:9/', format = 'webhook', proven = true } = given
  const { id } = await selectOne(
    sql<{ id: string }>`
      insert into webhook_endpoint (reseller_id, format, target, target_shown, secret, kinds, reasons, lists, rules, digest, template,
                                    disabled_at, disabled_reason, cursor_seq, last_success_at)
      values (${resellerId}, ${format}, ${Buffer.from(address)}, 'shown',
              ${format === 'webhook' ? Buffer.from('whsec_test') : null},
              ${given.kinds ?? null}, ${given.reasons ?? null}, ${given.lists ?? null},
              ${jsonOf(given.rules)}::jsonb, ${jsonOf(given.digest)}::jsonb, ${jsonOf(given.template)}::jsonb,
              ${given.disabled === true ? new Date() : null}, ${given.disabled === true ? 'paused' : null}, 0,
              ${proven ? new Date() : null})
      returning id
    `,
    db,
  )
  return id
}

function jsonOf(value: object | undefined): string | null {
  return value === undefined ? null : JSON.stringify(value)
}

export interface RecordArgs {
  readonly kind?: string
  readonly reason?: string
  readonly before?: unknown
  readonly after?: unknown
}

/** The state of a fare with a price in EUR, or without one. */
export function priced(amount: string | null, currency = 'EUR') {
  return {
    pair: amount === null ? 'not_bookable' : 'bookable',
    price: amount === null ? null : { amount, currency },
  }
}

/** Appends records to the feed of the watch with this reference, in one transaction. */
export async function appendRecords(
  db: Db,
  { resellerId, reference }: { readonly resellerId: number; readonly reference: string },
  records: readonly RecordArgs[],
): Promise<void> {
  await inTransaction(db, async (tx) => {
    await createWatchDrafts(tx)
    await sql`
      with head as (
        update feed_head set last_seq = last_seq + ${records.length} where feed = 'availability' returning last_seq
      ), watched as (
        select id, tracked_fare_id from watch where reseller_id = ${resellerId} and reference = ${reference}
      ), appended as (
        insert into availability_change (seq, kind, reason, tracked_fare_id, before, after, detected_at, provenance)
        select h.last_seq - ${records.length} + r.n, r.kind, r.reason, w.tracked_fare_id, r.before, r.after, clock_timestamp(), '{}'
          from head h, watched w,
               unnest(${records.map(({ kind }) => kind ?? 'price_changed')}::text[],
                      ${records.map(({ reason }) => reason ?? null)}::text[],
                      ${records.map(({ before }) => JSON.stringify(before ?? priced('10')))}::jsonb[],
                      ${records.map(({ after }) => JSON.stringify(after ?? priced('11')))}::jsonb[]) with ordinality
                 r (kind, reason, before, after, n)
        returning id, seq
      )
      insert into watch_change_draft (reseller_id, watch_id, reference, change_id, change_seq)
      select ${resellerId}, w.id, ${reference}, a.id, a.seq from appended a, watched w
    `.execute(tx)
    await appendWatchDrafts(tx)
  })
}

/** Fans out until nothing is left. */
export async function fanOutAll(db: Db): Promise<void> {
  while (await fanOut(db));
}

/** [seq, previous_seq] of an endpoint's deliveries, in the order of the feed. */
export async function deliveredSeqs(db: Db, endpointId: string): Promise<[number, number][]> {
  const rows = await db
    .selectFrom('delivery')
    .select(['seq', 'previous_seq as previous'])
    .where('endpoint_id', '=', endpointId)
    .where('seq', 'is not', null)
    .orderBy('seq')
    .execute()
  return rows.map(({ seq, previous }) => [seq ?? -1, previous ?? -1])
}

export const openTarget = ({ id, target }: SealedEndpoint): Target => ({
  endpointId: id,
  address: target.toString(),
  secrets: [],
  headers: {},
  template: null,
})

/** Posts one message as JSON. It stands in for a format of the product. */
export function postFormat(name: Format['name'] = 'webhook', maxMessages = 1): Format {
  return {
    name,
    maxMessages,
    send: async ({ address }, messages, signal): Promise<SendResult> => {
      const id = messages.map(({ deliveryId }) => deliveryId).join(',')
      try {
        const answer = await request(address, {
          method: 'POST',
          headers: { 'webhook-id': id, 'content-type': 'application/json' },
          body: JSON.stringify(messages.map(({ type, data }) => ({ type, data }))),
          signal,
        })
        await answer.body.dump()
        const status = answer.statusCode
        if (status === 410) return { kind: 'gone', outcome: 'gone', status, answer: '' }
        return status === 200
          ? { kind: 'delivered', status, answer: '' }
          : { kind: 'failed', outcome: 'status', status, answer: '' }
      } catch {
        signal.throwIfAborted()
        return { kind: 'failed', outcome: 'network', status: null, answer: '' }
      }
    },
  }
}

export interface Received {
  /** The path: each test names its endpoints by paths. */
  readonly path: string
  readonly ids: readonly string[]
  readonly body: { readonly type: string; readonly data: Record<string, unknown> }[]
}

export interface Receiver {
  readonly url: string
  readonly received: Received[]
  /** Resolves when this number of requests has arrived. */
  arrived(count: number): Promise<void>
}

type Answer = (incoming: Received, res: ServerResponse) => void

const answerOk: Answer = (_, res) => res.end()

/** A server on loopback that collects what it receives, and answers 200 by default. */
export async function startReceiver(answer: Answer = answerOk): Promise<Receiver> {
  const received: Received[] = []
  let onArrived: () => void = () => undefined
  const server = createServer(async (req: IncomingMessage, res) => {
    const chunks: Buffer[] = []
    for await (const chunk of req) chunks.push(chunk as Buffer)
    const body = JSON.parse(Buffer.concat(chunks).toString())
    const incoming = {
      path: req.url ?? '',
      ids: String(req.headers['webhook-id']).split(','),
      body,
    }
    received.push(incoming)
    onArrived()
    answer(incoming, res)
  })
  const { url, close } = await listenLocally(server)
  onTestFinished(close)
  return {
    url,
    received,
    arrived: async (count) => {
      while (received.length < count) {
        await new Promise<void>((resolve) => {
          onArrived = resolve
        })
      }
    },
  }
}

/** A dispatcher whose `recorded` resolves when this number of results has been recorded. */
export function startDispatcher(
  db: Db,
  given: Partial<Pick<DispatcherDeps, 'formats' | 'openTarget' | 'log' | 'publicUrl'>> = {},
): Dispatcher & { recorded(count: number): Promise<void> } {
  let recordedCount = 0
  let onRecorded: () => void = () => undefined
  const dispatcher = createDispatcher({
    db,
    formats: [postFormat()],
    openTarget,
    random: () => 0.5,
    log: silentLog,
    ...given,
    onRecorded: ({ deliveries }) => {
      recordedCount += deliveries.length
      onRecorded()
    },
  })
  onTestFinished(() => dispatcher.close(100))
  return {
    ...dispatcher,
    recorded: async (count) => {
      while (recordedCount < count) {
        await new Promise<void>((resolve) => {
          onRecorded = resolve
        })
      }
    },
  }
}

/** Moves the due times of an endpoint's deliveries into the past, as if time had passed. */
export async function makeDue(db: Db, endpointId: string): Promise<void> {
  await sql`
    update delivery set due_at = now() - interval '1 second' where endpoint_id = ${endpointId} and state = 'pending'
  `.execute(db)
}

interface DeliveringArgs extends EndpointArgs {
  /** How many records its feed has. The default is one. */
  readonly records?: number
  readonly answer?: Answer
  readonly formats?: readonly Format[]
}

/** A reseller with one watch, an endpoint at a receiver, and a dispatcher. */
export async function startDelivering(
  db: Db,
  { records = 1, answer, formats = [postFormat()], ...endpoint }: DeliveringArgs = {},
) {
  const reference = 'A'
  const resellerId = await resellerWith(db, [cells({ reference })])
  const receiver = await startReceiver(answer)
  const id = await addEndpoint(db, resellerId, { address: receiver.url, ...endpoint })
  const append = (...given: RecordArgs[]) => appendRecords(db, { resellerId, reference }, given)
  if (records > 0) await append(...Array<RecordArgs>(records).fill({}))
  const dispatcher = startDispatcher(db, { formats })
  const dispatched = async (recorded: number) => {
    await dispatcher.dispatch()
    await dispatcher.recorded(recorded)
  }
  return {
    ...{ resellerId, receiver, id, append, dispatcher },
    /** Dispatches, and resolves when this number of results has been recorded in all. */
    dispatched,
  }
}
