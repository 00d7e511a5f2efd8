import type { ServerResponse } from 'node:http'
import { setImmediate } from 'node:timers/promises'
import { expect } from 'vitest'
import { replayRange } from '../../src/delivery/endpoints/replay-deliveries.ts'
import type { Format } from '../../src/delivery/formats/format.ts'
import { readFeedPage } from '../../src/feeds/watch-feed-queries.ts'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { it } from '../support/test-database.ts'
import { cells, resellerWith } from '../watches/watch-fixtures.ts'
import {
  addEndpoint,
  fanOutAll,
  makeDue,
  type Received,
  startDelivering,
  startDispatcher,
} from './delivery-fixtures.ts'

interface DeliveryRow {
  readonly state: string
  readonly attempts: number
  readonly dead_reason: string | null
  readonly claimed: boolean
  /** From the last attempt; without one from now. */
  readonly dueInMs: number | null
}

async function deliveryRows(db: Db, endpointId: string): Promise<DeliveryRow[]> {
  const { rows } = await sql<DeliveryRow>`
    select state, attempts, dead_reason, claim_id is not null as claimed,
           round(extract(epoch from due_at - coalesce(
             (select max(a.started_at) from delivery_attempt a where a.delivery_id = d.id), clock_timestamp())) * 1000)::float8 as "dueInMs"
      from delivery d where endpoint_id = ${endpointId} order by seq
  `.execute(db)
  return rows
}

async function attemptOutcomes(db: Db): Promise<string[]> {
  const rows = await db.selectFrom('delivery_attempt').select('outcome').orderBy('id').execute()
  return rows.map(({ outcome }) => outcome)
}

async function openUntil(db: Db, id: string): Promise<Date | null> {
  const { open_until } = await db
    .selectFrom('webhook_endpoint')
    .select('open_until')
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  return open_until
}

it('a record arrives as the feed shows it, under one id, and is recorded with its attempt', async ({
  db,
}) => {
  const { resellerId, receiver, id, append, dispatched } = await startDelivering(db)
  await append({ kind: 'expired', reason: 'departed' })

  await dispatched(2)

  const page = await readFeedPage({ db }, { resellerId, after: 0, limit: 10, filter: {} })
  const bodies = receiver.received.flatMap(({ body }) => body)
  const bySeq = bodies.toSorted((a, b) => Number(a.data.seq) - Number(b.data.seq))
  expect(bySeq.map(({ type }) => type)).toEqual(['fare.price_changed', 'fare.expired'])
  expect(bySeq.map(({ data }) => data)).toEqual(JSON.parse(JSON.stringify(page.items)))
  expect(new Set(receiver.received.flatMap(({ ids }) => ids)).size).toBe(2)
  const done = { state: 'delivered', attempts: 1, dead_reason: null, claimed: false, dueInMs: null }
  expect(await deliveryRows(db, id)).toEqual([done, done])
  expect(await attemptOutcomes(db)).toEqual(['ok', 'ok'])
})

it('a call during a run was about something if that run has delivered it', async ({ db }) => {
  const { dispatcher } = await startDelivering(db)

  const first = dispatcher.dispatch()
  await setImmediate()
  expect([await dispatcher.dispatch(), await first]).toEqual([true, true])

  await dispatcher.recorded(1)
  expect(await dispatcher.dispatch()).toBe(false)
})

// Fault: A receiver hangs, drips or fails. Others get their webhooks without delay: four requests an endpoint, half of a
// process's requests for doubtful endpoints, a circuit breaker that uses up no attempt.
it('twenty endpoints that hang delay no other endpoint', async ({ db }) => {
  const { resellerId, receiver, id, dispatched } = await startDelivering(db, {
    records: 30,
    answer: ({ path }, res) => void (path !== '/hangs' && res.end()),
  })
  for (let i = 0; i < 20; i += 1) {
    await addEndpoint(db, resellerId, { address: `${receiver.url}/hangs` })
  }
  const healthy = [id]
  for (let i = 0; i < 4; i += 1) {
    healthy.push(await addEndpoint(db, resellerId, { address: receiver.url }))
  }

  await dispatched(5 * 30)

  for (const each of healthy) {
    expect((await deliveryRows(db, each)).every(({ state }) => state === 'delivered')).toBe(true)
  }
  expect(receiver.received.filter(({ path }) => path === '/hangs')).toHaveLength(20 * 4)
})

it('an endpoint has four requests in progress over all processes, and one before its first success', async ({
  db,
}) => {
  const waiting: ServerResponse[] = []
  const { resellerId, receiver, dispatcher } = await startDelivering(db, {
    records: 9,
    answer: (_, res) => waiting.push(res),
  })
  await addEndpoint(db, resellerId, { address: `${receiver.url}/unproven`, proven: false })
  const dispatchers = [dispatcher, startDispatcher(db)]

  await Promise.all(dispatchers.map((each) => each.dispatch()))
  for (const each of dispatchers) await each.dispatch()
  await receiver.arrived(5)

  const paths = receiver.received.map(({ path }) => path)
  expect(paths.toSorted()).toEqual(['/', '/', '/', '/', '/unproven'])
})

it('the circuit breaker stops attempts without using them up, then lets one through', async ({
  db,
}) => {
  let status = 500
  const { receiver, id, dispatcher, dispatched } = await startDelivering(db, {
    ...{ records: 8, proven: false },
    answer: (_, res) => res.writeHead(status).end(),
  })

  await dispatched(5)
  await dispatcher.dispatch()

  const rows = await deliveryRows(db, id)
  expect(rows.map(({ attempts }) => attempts)).toEqual([1, 1, 1, 1, 1, 0, 0, 0])
  expect(rows[0]?.dueInMs).toBeGreaterThan(3_000)
  expect(receiver.received).toHaveLength(5)
  expect(await openUntil(db, id)).not.toBeNull()

  status = 200
  await sql`update webhook_endpoint set open_until = now() - interval '1 second'`.execute(db)
  await makeDue(db, id)
  await dispatcher.dispatch()
  await receiver.arrived(6)
  expect(receiver.received).toHaveLength(6)
  await dispatcher.recorded(5 + 8)
  expect((await deliveryRows(db, id)).every(({ state }) => state === 'delivered')).toBe(true)
  expect(await openUntil(db, id)).toBeNull()
})

it('Retry-After holds its endpoint and no other, and uses up no attempt', async ({ db }) => {
  const sent: string[] = []
  const format: Format = {
    name: 'webhook',
    maxMessages: 1,
    send: async ({ address }) => {
      const isFirst = !sent.includes(address)
      sent.push(address)
      return address === 'busy' && isFirst
        ? { kind: 'failed', outcome: 'http_4xx', status: 429, answer: '', retryAfterMs: 3_600_000 }
        : { kind: 'delivered', status: 200, answer: '' }
    },
  }
  const delivering = await startDelivering(db, { records: 8, address: 'busy', formats: [format] })
  const { resellerId, id: busy, dispatcher, dispatched } = delivering
  await addEndpoint(db, resellerId, { address: 'other' })

  await dispatched(4 + 8)
  await makeDue(db, busy)
  await dispatcher.dispatch()

  expect(sent.filter((address) => address === 'busy')).toHaveLength(4)
  expect(sent.filter((address) => address === 'other')).toHaveLength(8)
  const rows = await deliveryRows(db, busy)
  expect(rows.filter(({ state }) => state === 'delivered')).toHaveLength(3)
  expect(rows.reduce((sum, { attempts }) => sum + attempts, 0)).toBe(4)

  await sql`update webhook_endpoint set held_until = now()`.execute(db)
  await dispatched(4 + 8 + 5)
  expect((await deliveryRows(db, busy)).every(({ state }) => state === 'delivered')).toBe(true)
})

it('a new record does not wait behind a large replay', async ({ db }) => {
  const { resellerId, receiver, id, append, dispatcher } = await startDelivering(db, {
    ...{ records: 20, proven: false },
    answer: () => undefined,
  })
  await fanOutAll(db)
  await sql`update delivery set state = 'delivered', due_at = null, ended_at = now()`.execute(db)
  await replayRange(db, resellerId, { endpointId: id, from: 1, to: 20 })
  await append({})

  await dispatcher.dispatch()
  await receiver.arrived(1)

  expect(receiver.received[0]?.body[0]?.data.seq).toBe(21)
})

// Fault: A receiver answers 410, or fails for five days.
it('a 410 disables the endpoint at once, keeps its deliveries, and is sent to the other endpoints', async ({
  db,
}) => {
  const delivering = await startDelivering(db, {
    ...{ records: 2, proven: false },
    answer: ({ path }, res) => res.writeHead(path === '/' ? 410 : 200).end(),
  })
  const { resellerId, receiver, id: gone, dispatched } = delivering
  await addEndpoint(db, resellerId, { address: `${receiver.url}/other`, kinds: ['expired'] })
  const unrelated = await resellerWith(db, [cells({ reference: 'A' })], 'southwind')
  await addEndpoint(db, unrelated, { address: `${receiver.url}/unrelated` })

  await dispatched(2)

  const events = receiver.received.filter(({ path }) => path !== '/')
  expect(events).toMatchObject([
    {
      path: '/other',
      body: [{ type: 'webhook.disabled', data: { endpointId: gone, reason: 'gone' } }],
    },
  ])
  const rows = await deliveryRows(db, gone)
  expect(rows.map(({ state, attempts }) => [state, attempts])).toEqual([
    ['pending', 1],
    ['pending', 0],
  ])
})

// Fault: The worker is killed between the receiver's 200 and the commit.
it('a delivery that a killed process held is made again under its id, and a late result is dropped', async ({
  db,
}) => {
  const waiting: ServerResponse[] = []
  const answer = (_: Received, res: ServerResponse) => waiting.push(res)
  const { receiver, id, dispatcher: slow } = await startDelivering(db, { answer })
  const other = startDispatcher(db)
  await slow.dispatch()
  await receiver.arrived(1)

  await other.dispatch()
  expect(receiver.received).toHaveLength(1)
  await makeDue(db, id)
  await other.dispatch()
  await receiver.arrived(2)
  waiting[0]?.end()
  await slow.dispatch()
  expect((await deliveryRows(db, id))[0]).toMatchObject({ state: 'pending', attempts: 0 })
  waiting[1]?.end()
  await other.recorded(1)

  expect(receiver.received[0]?.ids).toEqual(receiver.received[1]?.ids)
  expect((await deliveryRows(db, id))[0]).toMatchObject({ state: 'delivered', attempts: 1 })
})

it('payloads over 20 kB and blocked addresses end as dead, and a postponed message uses no attempt', async ({
  db,
}) => {
  const results: Record<string, Awaited<ReturnType<Format['send']>>> = {
    blocked: { kind: 'blocked', outcome: 'address_blocked', status: null, answer: '' },
    postponed: { kind: 'postponed', outcome: 'rate_limited', retryAfterMs: 60_000 },
  }
  const format: Format = {
    name: 'webhook',
    maxMessages: 1,
    send: async ({ address }) => results[address] ?? { kind: 'delivered', status: 200, answer: '' },
  }
  const delivering = await startDelivering(db, { address: 'blocked', formats: [format] })
  const { resellerId, id: blocked, append, dispatched } = delivering
  const postponed = await addEndpoint(db, resellerId, { address: 'postponed' })
  const good = await addEndpoint(db, resellerId, { address: 'good' })

  await dispatched(3)
  await append({ before: { outbound: { belief: 'x'.repeat(20_000) } } })
  await dispatched(5)

  const dead = { state: 'dead', claimed: false, dueInMs: null }
  expect(await deliveryRows(db, blocked)).toMatchObject([
    { ...dead, dead_reason: 'blocked', attempts: 1 },
    { ...dead, dead_reason: 'too_large', attempts: 0 },
  ])
  const [first] = await deliveryRows(db, postponed)
  expect(first).toMatchObject({ state: 'pending', attempts: 0 })
  expect(first?.dueInMs).toBeGreaterThan(30_000)
  expect(await deliveryRows(db, good)).toMatchObject([{ state: 'delivered' }, dead])
  expect(await attemptOutcomes(db)).toEqual(['address_blocked', 'ok'])
})

it('a dispatcher that closes releases its requests, and another one makes them at once', async ({
  db,
}) => {
  const seen = new Set<string>()
  const { receiver, id, dispatcher } = await startDelivering(db, {
    records: 2,
    answer: ({ ids }, res) => {
      // The first request of each delivery hangs.
      if (seen.has(String(ids))) res.end()
      seen.add(String(ids))
    },
  })
  const second = startDispatcher(db)
  await dispatcher.dispatch()
  await receiver.arrived(2)

  await dispatcher.close(500)
  const released = { state: 'pending', claimed: false, attempts: 0 }
  expect(await deliveryRows(db, id)).toMatchObject([released, released])
  await second.dispatch()
  await second.recorded(2)

  expect((await deliveryRows(db, id)).every(({ state }) => state === 'delivered')).toBe(true)
})

it('after a success what failed in the outage is sent in order, and only once before its pause', async ({
  db,
}) => {
  const seqOf = ({ body }: Received) => Number(body[0]?.data.seq)
  let status = 500
  const { receiver, id, append, dispatched } = await startDelivering(db, {
    records: 4,
    answer: (incoming, res) => res.writeHead(seqOf(incoming) === 2 ? 500 : status).end(),
  })
  await dispatched(4)
  await sql`
    update delivery set due_at = now() + interval '5 hours', attempts = 5 where endpoint_id = ${id}
  `.execute(db)

  status = 200
  await append({})
  await dispatched(4 + 1 + 4)
  await append({})
  await dispatched(4 + 1 + 4 + 1)

  const sent = receiver.received.slice(4).map(seqOf)
  expect([sent[0], sent.slice(1, 5).toSorted((a, b) => a - b), sent.slice(5)]).toEqual([
    5,
    [1, 2, 3, 4],
    [6],
  ])
  const { rows } = await sql<{ seq: number; waits: boolean }>`
    select seq, due_at > now() + interval '1 hour' as waits from delivery where state = 'pending'
  `.execute(db)
  expect(rows).toEqual([{ seq: 2, waits: true }])
})
