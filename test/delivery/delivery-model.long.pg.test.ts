import { expect } from 'vitest'
import { draw, drawInteger } from '../../sandbox/world/random.ts'
import { createDispatcher, type Dispatcher } from '../../src/delivery/dispatch/dispatcher.ts'
import { endDeliveries } from '../../src/delivery/dispatch/end-deliveries.ts'
import type { Format, SendResult } from '../../src/delivery/formats/format.ts'
import { type Db, openDatabase, sql } from '../../src/platform/db/database.ts'
import { inTransaction } from '../../src/platform/db/transaction.ts'
import { silentLog } from '../support/silent-log.ts'
import { it } from '../support/test-database.ts'
import { until } from '../support/until.ts'
import { cells, resellerWith } from '../watches/watch-fixtures.ts'
import { addEndpoint, appendRecords, openTarget } from './delivery-fixtures.ts'

const SEEDS = [1, 2, 3, 4, 5, 6, 7, 8]
const STEPS = 40
const KINDS = ['price_changed', 'became_available', 'expired', 'legs_changed']

interface ModelEndpoint {
  readonly id: string
  readonly resellerId: number
  readonly kinds: readonly string[]
}

interface Model {
  readonly db: Db
  readonly url: string
  readonly random: () => number
  readonly below: (limit: number) => number
  readonly resellers: readonly number[]
  readonly endpoints: ModelEndpoint[]
  /** The kinds of each reseller's records, in the order of the feed. */
  readonly feeds: Map<number, string[]>
  /** The ids of deliveries that a receiver has accepted, as `endpoint/seq`. */
  readonly accepted: Map<string, Set<string>>
  /** The share of requests that fail. */
  trouble: number
}

function randomOf(seed: number) {
  let key = 0
  const random = () => draw(seed, key++)
  return { random, below: (limit: number) => drawInteger(seed, key++, limit) }
}

/** A receiver within the process: it accepts, fails, hangs up, or is gone. */
function receiverOf(model: Model): Format {
  return {
    name: 'webhook',
    maxMessages: 1,
    send: async ({ endpointId }, messages): Promise<SendResult> => {
      await Promise.resolve()
      const failed = { kind: 'failed', outcome: 'http_5xx', status: 500, answer: '' } as const
      if (model.random() < model.trouble) {
        const isGone = model.random() < 0.02
        return isGone ? { kind: 'gone', outcome: 'gone', status: 410, answer: '' } : failed
      }
      for (const { deliveryId, data } of messages) {
        const place = `${endpointId}/${(data as { seq?: number }).seq ?? 'event'}`
        const ids = model.accepted.get(place) ?? new Set()
        model.accepted.set(place, ids.add(deliveryId))
      }
      return { kind: 'delivered', status: 200, answer: '' }
    },
  }
}

function dispatcherOf(model: Model, db: Db): Dispatcher {
  return createDispatcher({
    db,
    formats: [receiverOf(model)],
    openTarget,
    onRecorded: () => undefined,
    random: model.random,
    log: silentLog,
  })
}

async function nothingClaimed(db: Db): Promise<boolean> {
  const { rows } =
    await sql`select from delivery where claim_id is not null and due_at > now() limit 1`.execute(
      db,
    )
  return rows.length === 0
}

/** Dispatches until no request is in progress. */
async function dispatchAll(model: Model): Promise<void> {
  const dispatcher = dispatcherOf(model, model.db)
  await dispatcher.dispatch()
  await until('the end of all requests', () => nothingClaimed(model.db))
  await dispatcher.close(1_000)
}

/** A process that dies somewhere between its claims and the record of its results. Its leases end. */
async function dispatchAndDie(model: Model): Promise<void> {
  const { db, close } = openDatabase({ url: model.url, applicationName: 'dies', log: silentLog })
  await dispatcherOf(model, db).dispatch()
  await close()
  // The process may still be writing results while this statement runs.
  await inTransaction(model.db, async (tx) => {
    await sql`update delivery set due_at = now() where claim_id is not null`.execute(tx)
  })
}

async function append(model: Model): Promise<void> {
  const resellerId = model.resellers[model.below(model.resellers.length)] ?? 0
  const kinds = Array.from(
    { length: 1 + model.below(6) },
    () => KINDS[model.below(KINDS.length)] ?? '',
  )
  await appendRecords(
    model.db,
    { resellerId, reference: 'A' },
    kinds.map((kind) => ({ kind })),
  )
  model.feeds.set(resellerId, [...(model.feeds.get(resellerId) ?? []), ...kinds])
}

async function addRandomEndpoint(model: Model): Promise<void> {
  const resellerId = model.resellers[model.below(model.resellers.length)] ?? 0
  const kinds = KINDS.filter(() => model.random() < 0.6)
  const id = await addEndpoint(model.db, resellerId, { kinds, proven: false })
  model.endpoints.push({ id, resellerId, kinds })
}

/** Lets time pass for every instant of deliveries and endpoints. */
async function pass(model: Model, hours: number): Promise<void> {
  const by = sql`make_interval(hours => ${hours})`
  await sql`
    update delivery
       set due_at = due_at - ${by}, first_attempt_at = first_attempt_at - ${by}, recorded_at = recorded_at - ${by}
     where state = 'pending'
  `.execute(model.db)
  await sql`
    update webhook_endpoint
       set open_until = open_until - ${by}, held_until = held_until - ${by}, failing_since = failing_since - ${by}, last_success_at = last_success_at - ${by}
  `.execute(model.db)
  await endDeliveries(model.db)
}

async function enableAll(model: Model): Promise<void> {
  await sql`
    update webhook_endpoint
       set disabled_at = null, disabled_reason = null, failures = 0, failing_since = null, open_until = null, held_until = null
     where disabled_at is not null
  `.execute(model.db)
}

async function step(model: Model): Promise<void> {
  const dice = model.random()
  if (dice < 0.3) await append(model)
  else if (dice < 0.55) await dispatchAll(model)
  else if (dice < 0.7) await dispatchAndDie(model)
  else if (dice < 0.85) await pass(model, 1 + model.below(40))
  else if (dice < 0.9) await addRandomEndpoint(model)
  else if (dice < 0.95) await enableAll(model)
  else model.trouble = model.random() < 0.5 ? 1 : 0.3
}

interface DeliveryRow {
  readonly id: string
  readonly seq: number
  readonly previous: number
  readonly state: string
}

/** Every record up to the cursor that passes has one delivery, linked to the one before it. */
async function expectDeliveries(model: Model, endpoint: ModelEndpoint): Promise<DeliveryRow[]> {
  const { cursor_seq: cursor } = await model.db
    .selectFrom('webhook_endpoint')
    .select('cursor_seq')
    .where('id', '=', endpoint.id)
    .executeTakeFirstOrThrow()
  const { rows } = await sql<DeliveryRow>`
    select id, seq, previous_seq as previous, state from delivery
     where endpoint_id = ${endpoint.id} and seq is not null order by seq
  `.execute(model.db)
  const feed = model.feeds.get(endpoint.resellerId) ?? []
  const passing = feed.flatMap((kind, i) =>
    i < cursor && endpoint.kinds.includes(kind) ? [i + 1] : [],
  )
  expect(rows.map(({ seq, previous }) => [seq, previous])).toEqual(
    passing.map((seq, i) => [seq, passing[i - 1] ?? 0]),
  )
  return rows
}

/** A delivery that a receiver accepted had one id, and one that is recorded as delivered was accepted. */
function expectAccepted(model: Model, endpoint: ModelEndpoint, rows: readonly DeliveryRow[]): void {
  for (const { id, seq, state } of rows) {
    const ids = model.accepted.get(`${endpoint.id}/${seq}`)
    if (ids !== undefined) expect([...ids]).toEqual([id])
    if (state === 'delivered') expect(ids).toBeDefined()
  }
}

it.for(SEEDS)(
  'every endpoint receives each record that passes, or its delivery is dead (seed %i)',
  async (seed, { db, databaseUrl }) => {
    const resellers = [
      await resellerWith(db, [cells({ reference: 'A' })], 'northwind'),
      await resellerWith(db, [cells({ reference: 'A' })], 'southwind'),
    ]
    const model: Model = {
      db,
      url: databaseUrl,
      ...randomOf(seed),
      resellers,
      endpoints: [],
      feeds: new Map(),
      accepted: new Map(),
      trouble: 0.3,
    }
    for (let i = 0; i < 4; i += 1) await addRandomEndpoint(model)

    for (let i = 0; i < STEPS; i += 1) {
      await step(model)
      for (const endpoint of model.endpoints) {
        expectAccepted(model, endpoint, await expectDeliveries(model, endpoint))
      }
    }

    model.trouble = 0
    await until('the end of all deliveries', async () => {
      await pass(model, 11)
      // An endpoint that has failed for almost five days is disabled before its next attempt.
      await enableAll(model)
      await dispatchAll(model)
      const { rows } = await sql`select from delivery where state = 'pending' limit 1`.execute(db)
      return rows.length === 0
    })
    for (const endpoint of model.endpoints) {
      const rows = await expectDeliveries(model, endpoint)
      expectAccepted(model, endpoint, rows)
      const ended = rows.filter(({ state }) => state === 'delivered' || state === 'dead')
      expect(ended).toHaveLength(rows.length)
      const feed = model.feeds.get(endpoint.resellerId) ?? []
      expect(rows).toHaveLength(feed.filter((kind) => endpoint.kinds.includes(kind)).length)
    }
    expect([...model.accepted.keys()].length).toBeGreaterThan(20)
  },
)
