import fc from 'fast-check'
import { expect } from 'vitest'
import { createDispatcher, type Dispatcher } from '../../src/delivery/dispatch/dispatcher.ts'
import { endDeliveries } from '../../src/delivery/dispatch/end-deliveries.ts'
import { replayFailed, replayRange } from '../../src/delivery/endpoints/replay-deliveries.ts'
import type { Format, SendResult } from '../../src/delivery/formats/format.ts'
import { type Db, sql } from '../../src/platform/db/database.ts'
import {
  commandsOf,
  createInterleaving,
  type InterleavedProcess,
  type Interleaving,
  playing,
} from '../support/interleaving.ts'
import { silentLog } from '../support/silent-log.ts'
import { it } from '../support/test-database.ts'
import { until } from '../support/until.ts'
import { cells, resellerWith } from '../watches/watch-fixtures.ts'
import { addEndpoint, appendRecords, openTarget } from './delivery-fixtures.ts'

const KINDS = ['price_changed', 'became_available', 'expired', 'legs_changed'] as const
const PROCESSES = 3
const MOST_REQUESTS = 4

type Answer = 'accepted' | 'failed' | 'accepted, answer lost' | 'gone'

interface ModelEndpoint {
  readonly id: string
  readonly resellerId: number
  readonly kinds: readonly string[]
}

interface Worker {
  readonly process: InterleavedProcess
  readonly dispatcher: Dispatcher
}

interface World {
  readonly db: Db
  readonly interleaving: Interleaving
  readonly workers: Worker[]
  /** How the receivers answer, from request to request. */
  readonly answers: Iterator<Answer>
  readonly resellers: readonly number[]
  readonly endpoints: ModelEndpoint[]
  /** The kinds of each reseller's records, in the order of the feed. */
  readonly feeds: Map<number, string[]>
  /** The ids of deliveries that a receiver has accepted, as `endpoint/seq`. */
  readonly accepted: Map<string, Set<string>>
  died: number
}

/** Each change of a delivery that must never be. */
async function prepareFaults(db: Db): Promise<void> {
  await sql`create table delivery_fault (fault text, old jsonb, new jsonb)`.execute(db)
  await sql`
    create function note_fault() returns trigger language plpgsql as $$
    declare
      claimed boolean := new.claim_id is not null and new.claim_id is distinct from old.claim_id;
    begin
      insert into delivery_fault
      select fault, to_jsonb(old), to_jsonb(new)
        from (values
          ('claimed after its end', claimed and old.state <> 'pending'),
          ('claimed within the lease of another', claimed and old.claim_id is not null and old.due_at > now()),
          ('pending again without a replay', old.state <> 'pending' and new.state = 'pending' and new.attempts > 0),
          ('passed an older one at an endpoint that fails',
           claimed and not new.replayed and new.seq is not null
           and exists (select from webhook_endpoint e where e.id = new.endpoint_id and e.failures > 0)
           and exists (select from delivery o
                        where o.endpoint_id = new.endpoint_id and o.state = 'pending' and o.seq is not null and not o.replayed
                          and o.due_at <= now() and (o.recorded_at, o.id) < (new.recorded_at, new.id)))
        ) f (fault, happened)
       where happened;
      return null;
    end $$
  `.execute(db)
  await sql`
    create trigger note_fault after update on delivery for each row execute function note_fault()
  `.execute(db)
}

interface Played {
  readonly db: Db
  readonly url: string
  readonly scheduler: fc.Scheduler
  readonly answers: Iterator<Answer>
}

async function createWorld({ db, url, scheduler, answers }: Played): Promise<World> {
  await sql`
    truncate reseller, tracked_fare, watch_list, watch, watch_change, availability_change, webhook_endpoint, delivery,
             delivery_fault cascade
  `.execute(db)
  await sql`update feed_head set last_seq = 0`.execute(db)
  const world: World = {
    db,
    interleaving: await createInterleaving({ url, scheduler }),
    workers: [],
    answers,
    resellers: [
      await resellerWith(db, [cells({ reference: 'A' })], 'northwind'),
      await resellerWith(db, [cells({ reference: 'A' })], 'southwind'),
    ],
    endpoints: [],
    feeds: new Map(),
    accepted: new Map(),
    died: 0,
  }
  for (let i = 0; i < PROCESSES; i += 1) await startWorker(world, i)
  return world
}

async function startWorker(world: World, place: number): Promise<void> {
  const { interleaving } = world
  const process = await interleaving.open(`worker ${place}/${world.died}`)
  const ended = () => interleaving.scheduler.schedule(Promise.resolve(), 'a request ends')
  world.workers[place] = { process, dispatcher: dispatcherOf(world, process.db, ended) }
}

function dispatcherOf(world: World, db: Db, ended: () => Promise<void>): Dispatcher {
  return createDispatcher({
    db,
    formats: [receiverOf(world, ended)],
    openTarget,
    onRecorded: () => undefined,
    random: () => 0.5,
    log: silentLog,
  })
}

/** A receiver within the process: it accepts, fails, hangs up after it has accepted, or is gone. */
function receiverOf({ accepted, answers }: World, ended: () => Promise<void>): Format {
  return {
    name: 'webhook',
    maxMessages: 1,
    send: async ({ endpointId }, messages): Promise<SendResult> => {
      await ended()
      const answer = answers.next().value as Answer
      if (answer === 'gone') return { kind: 'gone', outcome: 'gone', status: 410, answer: '' }
      const isAccepted = answer !== 'failed'
      for (const { deliveryId, data } of isAccepted ? messages : []) {
        const place = `${endpointId}/${(data as { seq: number }).seq}`
        const ids = accepted.get(place) ?? new Set()
        accepted.set(place, ids.add(deliveryId))
      }
      if (answer === 'accepted') return { kind: 'delivered', status: 200, answer: '' }
      return { kind: 'failed', outcome: 'http_5xx', status: 500, answer: '' }
    },
  }
}

async function append(world: World, at: number, kinds: readonly string[]): Promise<void> {
  const resellerId = world.resellers[at] ?? 0
  const records = kinds.map((kind) => ({ kind }))
  await appendRecords(world.db, { resellerId, reference: 'A' }, records)
  world.feeds.set(resellerId, [...(world.feeds.get(resellerId) ?? []), ...kinds])
}

async function addFiltered(world: World, at: number, kinds: readonly string[]): Promise<void> {
  const resellerId = world.resellers[at] ?? 0
  const id = await addEndpoint(world.db, resellerId, { kinds, proven: at === 0 })
  world.endpoints.push({ id, resellerId, kinds })
}

/** Sends everything of an endpoint again that has ended. */
async function replayAll({ db, endpoints, feeds }: World, at: number): Promise<void> {
  const endpoint = endpoints[at % Math.max(1, endpoints.length)]
  const to = feeds.get(endpoint?.resellerId ?? 0)?.length ?? 0
  if (endpoint === undefined || to === 0) return
  await replayRange(db, endpoint.resellerId, { endpointId: endpoint.id, from: 1, to })
}

interface Step {
  readonly worker: number
  readonly do: 'dispatch' | 'die'
}

async function runTogether(world: World, steps: readonly Step[]): Promise<void> {
  const { interleaving, workers } = world
  await interleaving.together(
    steps.flatMap((step) => {
      const worker = workers[step.worker]
      if (worker === undefined) return []
      const { process, dispatcher } = worker
      const die = async () => {
        await interleaving.scheduler.schedule(Promise.resolve(), `${process.name} dies`)
        await process.kill()
      }
      return [{ process, run: step.do === 'die' ? die : dispatcher.dispatch }]
    }),
  )
  for (const [place, { process }] of workers.entries()) {
    if (!process.isDead()) continue
    world.died += 1
    await startWorker(world, place)
  }
}

/** Lets time pass for every instant of deliveries and endpoints. Requests in progress outlast their leases. */
async function passHours({ db }: World, hours: number): Promise<void> {
  const by = sql`make_interval(hours => ${hours})`
  await sql`
    update delivery
       set due_at = due_at - ${by}, first_attempt_at = first_attempt_at - ${by}, recorded_at = recorded_at - ${by}
     where state = 'pending'
  `.execute(db)
  await sql`
    update webhook_endpoint
       set open_until = open_until - ${by}, held_until = held_until - ${by}, failing_since = failing_since - ${by}, last_success_at = last_success_at - ${by}
  `.execute(db)
  await endDeliveries(db)
}

async function enableAll({ db }: World): Promise<void> {
  await sql`
    update webhook_endpoint
       set disabled_at = null, disabled_reason = null, failures = 0, failing_since = null, open_until = null, held_until = null
     where disabled_at is not null
  `.execute(db)
}

interface DeliveryRow {
  readonly id: string
  readonly seq: number
  readonly previous: number
  readonly state: string
}

/** Every record up to the cursor that passes has one delivery, linked to the one before it. */
async function expectDeliveries(world: World, endpoint: ModelEndpoint): Promise<DeliveryRow[]> {
  const { cursor_seq: cursor } = await world.db
    .selectFrom('webhook_endpoint')
    .select('cursor_seq')
    .where('id', '=', endpoint.id)
    .executeTakeFirstOrThrow()
  const { rows } = await sql<DeliveryRow>`
    select id, seq, previous_seq as previous, state from delivery
     where endpoint_id = ${endpoint.id} and seq is not null order by seq
  `.execute(world.db)
  const feed = world.feeds.get(endpoint.resellerId) ?? []
  const passing = feed.flatMap((kind, i) =>
    i < cursor && endpoint.kinds.includes(kind) ? [i + 1] : [],
  )
  expect(rows.map(({ seq, previous }) => [seq, previous])).toEqual(
    passing.map((seq, i) => [seq, passing[i - 1] ?? 0]),
  )
  return rows
}

/** A delivery that a receiver accepted had one id, and one that is recorded as delivered was accepted. */
function expectAccepted({ accepted }: World, { id }: ModelEndpoint, rows: DeliveryRow[]): void {
  for (const row of rows) {
    const ids = accepted.get(`${id}/${row.seq}`)
    if (ids !== undefined) expect([...ids]).toEqual([row.id])
    if (row.state === 'delivered') expect(ids).toBeDefined()
  }
}

async function expectPromises(world: World): Promise<void> {
  const { rows: faults } = await sql`select * from delivery_fault`.execute(world.db)
  expect(faults).toEqual([])
  const { rows: crowded } = await sql`
    select endpoint_id from delivery where claim_id is not null and due_at > now()
     group by endpoint_id having count(*) > ${MOST_REQUESTS}
  `.execute(world.db)
  expect(crowded, 'endpoints with too many requests').toEqual([])
  for (const endpoint of world.endpoints) {
    expectAccepted(world, endpoint, await expectDeliveries(world, endpoint))
  }
}

/** Receivers accept again. Every delivery ends, and the dead ones are delivered when they are sent again. */
async function expectAllDelivered(world: World): Promise<void> {
  const { db, workers, resellers, endpoints, feeds } = world
  for (const { process } of workers) await process.kill()
  const healthy = { ...world, answers: forever('accepted') }
  const dispatcher = dispatcherOf(healthy, db, () => Promise.resolve())
  const drain = () =>
    until('the end of all deliveries', async () => {
      await passHours(world, 11)
      // An endpoint that has failed for almost five days is disabled before its next attempt.
      await enableAll(world)
      await dispatcher.dispatch()
      const { rows } = await sql`
        select from webhook_endpoint e join reseller r on r.id = e.reseller_id
         where e.cursor_seq < r.last_seq or exists (select from delivery where endpoint_id = e.id and state = 'pending')
      `.execute(db)
      return rows.length === 0
    })
  await drain()
  await expectPromises(world)
  for (const resellerId of resellers) await replayFailed(db, resellerId, { diedFrom: new Date(0) })
  await drain()
  for (const endpoint of endpoints) {
    const rows = await expectDeliveries(world, endpoint)
    expectAccepted(world, endpoint, rows)
    expect(rows.filter(({ state }) => state !== 'delivered')).toEqual([])
    const feed = feeds.get(endpoint.resellerId) ?? []
    expect(rows).toHaveLength(feed.filter((kind) => endpoint.kinds.includes(kind)).length)
  }
  await dispatcher.close(1_000)
}

function* forever(answer: Answer): Generator<Answer> {
  for (;;) yield answer
}

const anyReseller = fc.nat(1)
const anyAnswers = fc.infiniteStream(
  fc.oneof(
    { weight: 20, arbitrary: fc.constantFrom('accepted' as const, 'failed' as const) },
    { weight: 6, arbitrary: fc.constant('accepted, answer lost' as const) },
    { weight: 1, arbitrary: fc.constant('gone' as const) },
  ),
)
const anyStep: fc.Arbitrary<Step> = fc.record({
  worker: fc.nat(PROCESSES - 1),
  do: fc.constantFrom('dispatch', 'dispatch', 'dispatch', 'die'),
})

/** In half of the cases the leases of the requests that are left end, so that other workers make them again. */
const anyTogether = fc
  .tuple(fc.array(anyStep, { minLength: 2, maxLength: 4 }), fc.boolean())
  .map(([steps, leasesEnd]) => {
    const run = async (world: World) => {
      await runTogether(world, steps)
      if (leasesEnd) await passHours(world, 1)
    }
    return [`together ${JSON.stringify({ steps, leasesEnd })}`, run] as const
  })

const anyCommands = commandsOf<World>(
  [
    anyTogether,
    anyTogether,
    anyTogether,
    anyTogether,
    fc
      .tuple(anyReseller, fc.array(fc.constantFrom(...KINDS), { minLength: 1, maxLength: 5 }))
      .map(([at, kinds]) => [`append ${kinds} for ${at}`, (world) => append(world, at, kinds)]),
    fc
      .tuple(anyReseller, fc.subarray([...KINDS], { minLength: 2 }))
      .map(([at, kinds]) => [
        `endpoint of ${at} for ${kinds}`,
        (world) => addFiltered(world, at, kinds),
      ]),
    fc
      .constantFrom(1, 12, 40)
      .map((hours) => [`pass ${hours} h`, (world) => passHours(world, hours)]),
    fc.nat(3).map((at) => [`replay endpoint ${at}`, (world) => replayAll(world, at)]),
    fc.constant(['enable all', enableAll]),
  ],
  { most: 24, expectPromises },
)

// Fault: Random failures, kills and passing days together.
it('in any order of statements, requests and deaths every record that passes is delivered at least once under one id, or is dead until it is sent again', async ({
  db,
  databaseUrl: url,
}) => {
  await prepareFaults(db)
  const seen = { accepted: 0, died: 0 }

  await fc.assert(
    fc.asyncProperty(
      anyCommands,
      anyAnswers,
      fc.scheduler(),
      async (commands, answers, scheduler) => {
        const world = await createWorld({ db, url, scheduler, answers })
        try {
          await addFiltered(world, 0, KINDS)
          await append(world, 0, KINDS)
          await fc.asyncModelRun(async () => ({ model: {}, real: world }), commands)
          await expectAllDelivered(world)
        } finally {
          await world.interleaving.close()
        }
        seen.accepted += world.accepted.size
        seen.died += world.died
      },
    ),
    playing(6),
  )

  // Otherwise the worlds were too empty to prove anything.
  if (process.env.REPLAY === undefined) {
    expect(Math.min(seen.accepted, seen.died), JSON.stringify(seen)).toBeGreaterThan(0)
  }
})
