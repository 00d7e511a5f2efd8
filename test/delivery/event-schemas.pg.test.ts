import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Value } from 'typebox/value'
import { describe, expect } from 'vitest'
import { eventFiles } from '../../docs/source/event-pages.ts'
import { endDeliveries } from '../../src/delivery/dispatch/end-deliveries.ts'
import { createOpenTarget } from '../../src/delivery/endpoints/sealer.ts'
import { addExample, addTestEvent } from '../../src/delivery/endpoints/test-events.ts'
import { createTransport } from '../../src/delivery/formats/transport.ts'
import { createWebhookFormat } from '../../src/delivery/formats/webhook.ts'
import { WEBHOOK_EVENTS } from '../../src/delivery/operations/event-shapes.ts'
import type { Belief } from '../../src/feeds/change-shapes.ts'
import { exampleRecord } from '../../src/feeds/example-records.ts'
import {
  type FareRecordKind,
  isRouteKind,
  WATCH_CHANGE_KINDS,
} from '../../src/platform/base/change-kinds.ts'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { newCaller } from '../api/reseller-calls.ts'
import { NO_GUARD, place, route, routes, sync } from '../routes/sync-fixtures.ts'
import { startApi, TEST_SEALER } from '../support/api-server.ts'
import { it } from '../support/test-database.ts'
import { cells, importRows } from '../watches/watch-fixtures.ts'
import { appendRecords, startDispatcher } from './delivery-fixtures.ts'
import { type ReceivedRequest, startReceiver } from './receiver.ts'

const FOLDER = fileURLToPath(new URL('../../docs/events/v1/', import.meta.url))
const READER = fileURLToPath(new URL('./event-reader.py', import.meta.url))

interface Understood {
  readonly refused?: string
  readonly faults?: readonly string[]
  readonly read?: { readonly type: string; readonly data: Record<string, unknown> }
}

/** What the receiver in Python understood of requests. */
function readByPython(requests: readonly ReceivedRequest[], secret: string): Understood[] {
  const input = requests
    .map(({ headers, body }) => JSON.stringify({ headers, body, secret }))
    .join('\n')
  const { stdout, stderr, status } = spawnSync('python3', [READER, FOLDER], { input })
  if (status !== 0) throw new Error(String(stderr))
  return String(stdout)
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Understood)
}

/** A belief as it is stored, where the state is `pair`. */
function storedOf(belief: Belief | null) {
  if (belief === null) throw new Error('the example has no belief')
  const { state: pair, ...rest } = belief
  return { pair, ...rest }
}

const FARE_KINDS = WATCH_CHANGE_KINDS.filter((kind): kind is FareRecordKind => !isRouteKind(kind))

/** Lists that lead to a record of each kind of routes, for a reseller that chose Spain. */
async function changeRoutes(db: Db): Promise<void> {
  const atOnce = { guard: NO_GUARD, confirmations: 1 }
  const available = { ...atOnce, list: 'with-availability' } as const
  const renamed = { ...route('PMI-MAD'), destination: place('MAD', { city: 'Madrid' }) }
  await sync(db, routes('PMI-MAD', 'PMI-BCN'))
  await sync(db, routes('PMI-MAD'), available)
  await sync(db, routes('PMI-MAD', 'PMI-BCN'), available)
  await sync(db, routes('PMI-MAD'), available)
  await sync(db, [renamed, ...routes('PMI-BCN', 'PMI-IBZ')], atOnce)
  await sync(db, [renamed, route('PMI-BCN')], atOnce)
}

/** Appends a record of each kind of fares, with the states of its example, to the feed of the only watch. */
async function appendEachKind(db: Db, resellerId: number): Promise<void> {
  const records = FARE_KINDS.filter((kind) => kind !== 'watch_started').map((kind) => {
    const { before, after, reason } = exampleRecord(kind)
    const states = { before: storedOf(before), after: storedOf(after) }
    return { kind, ...states, ...(reason === null ? {} : { reason }) }
  })
  await appendRecords(db, { resellerId, reference: 'Ä/1 "x"\u202e' }, records)
  await sql`
    with started as (
      insert into watch_event (kind, tracked_fare_id, after, detected_at)
      select 'watch_started', tracked_fare_id, after, detected_at
        from availability_change where kind = 'became_available'
      returning id), moved as (
      update reseller set last_seq = last_seq + 1 where id = ${resellerId} returning id, last_seq)
    insert into watch_change (reseller_id, seq, watch_id, reference, list, watch_event_id)
    select moved.id, moved.last_seq, w.id, w.reference, 'summer', started.id from moved, started, watch w
  `.execute(db)
}

/** As an endpoint of operators gets them. */
async function addWarnings(db: Db, endpointId: string): Promise<void> {
  for (const [type, { example }] of Object.entries(WEBHOOK_EVENTS)) {
    if (!type.startsWith('warning.')) continue
    const { data } = example as { data: object }
    await sql`
      insert into delivery (endpoint_id, type, payload, recorded_at)
      values (${endpointId}, ${type}, ${JSON.stringify(data)}::jsonb, clock_timestamp())
    `.execute(db)
  }
}

describe('a receiver that has the files of docs/events alone', () => {
  it('verifies and understands every kind of body, in Python', async ({ db, skip }) => {
    if (spawnSync('python3', ['--version']).error !== undefined) skip('python3 is not installed')
    const allowed = ['127.0.0.1/32']
    const calls = await newCaller(db, await startApi(db, { allowedNetworks: allowed }), 'northwind')
    const { id: resellerId } = await db
      .selectFrom('reseller')
      .select('id')
      .where('name', '=', 'northwind')
      .executeTakeFirstOrThrow()
    await importRows(db, resellerId, [
      cells({ reference: 'Ä/1 "x"\u202e', return_flight_id: '102' }),
    ])
    await using receiver = await startReceiver()
    const target = { target: `${receiver.url}/hook`, kinds: WATCH_CHANGE_KINDS }
    const { id, secret } = (await calls.send('POST', '/webhook-endpoints', target)).body
    // Tests of a target have a limit.
    const other = { ...target, target: `${receiver.url}/gone` }
    const gone = (await calls.send('POST', '/webhook-endpoints', other)).body
    const policy = { allowHttp: true, allowedNetworks: allowed }
    const dispatcher = startDispatcher(db, {
      formats: [createWebhookFormat({ transport: createTransport({ policy, scrub: (t) => t }) })],
      openTarget: createOpenTarget(TEST_SEALER),
    })
    await sql`
      update webhook_endpoint set failures = 9, failing_since = now() - interval '6 days' where id = ${gone.id}
    `.execute(db)
    await addTestEvent({ db, resellerId }, String(gone.id))
    await sql`update delivery set attempts = 1, due_at = now() + interval '1 hour'`.execute(db)
    await endDeliveries(db)
    await appendEachKind(db, resellerId)
    await calls.send('PATCH', '/own-settings', { routes: { countries: ['Spain'] } })
    await changeRoutes(db)
    for (const kind of WATCH_CHANGE_KINDS) await addExample({ db, resellerId }, String(id), kind)
    await addTestEvent({ db, resellerId }, String(id))
    await addWarnings(db, String(id))

    await dispatcher.dispatch()
    await dispatcher.recorded(Object.keys(WEBHOOK_EVENTS).length)

    const bodies = receiver.requests.map(({ body }) => JSON.parse(body) as object)
    const understood = readByPython(receiver.requests, String(secret))
    expect(understood.flatMap(({ refused, faults }) => refused ?? faults ?? [])).toEqual([])
    // Nothing is sent that the schema does not describe.
    expect(understood.map(({ read }) => read)).toEqual(bodies)
    expect(new Set(understood.map(({ read }) => read?.type))).toEqual(
      new Set(Object.keys(WEBHOOK_EVENTS)),
    )
    const forged = receiver.requests.map((one) => ({
      ...one,
      body: one.body.replace('"type"', '"kind"'),
    }))
    expect(readByPython(forged, String(secret))).toEqual(
      forged.map(() => ({ refused: 'signature' })),
    )
  })
})

describe('the schemas of bodies', () => {
  const shown = Object.entries(WEBHOOK_EVENTS).filter(([, { example }]) => example !== undefined)

  it.for(shown)('the example of %s is valid', ([, event]) => {
    const sent: unknown = JSON.parse(JSON.stringify(event.example))

    expect(Value.Errors(event.schema, sent)).toEqual([])
    expect(Value.Check(event.schema, { ...(sent as object), data: {} })).toBe(false)
  })

  it('docs/events has a file for each body, and no other', () => {
    expect(new Set(readdirSync(FOLDER))).toEqual(new Set(eventFiles().map(({ name }) => name)))
  })
})
