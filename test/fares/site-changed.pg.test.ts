import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished } from 'vitest'
import type { Sandbox } from '../../sandbox/sandbox-server.ts'
import { searchQuietFlights } from '../../sandbox/world/story.ts'
import { changeSentence, type ShownChange } from '../../src/delivery/formats/change-sentence.ts'
import { streamTable } from '../../src/history/export-run.ts'
import { systemClock } from '../../src/platform/base/clock.ts'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { itemsOf, listWith, newCaller, watch } from '../api/reseller-calls.ts'
import {
  addEndpoint,
  fanOutAll,
  startDispatcher,
  startReceiver,
} from '../delivery/delivery-fixtures.ts'
import { type Verifier, verifierOf } from '../faults/fare-facts.ts'
import { startTestSandbox, TOKEN } from '../sandbox/support.ts'
import { startApi } from '../support/api-server.ts'
import { it } from '../support/test-database.ts'
import { clientOf } from '../upstream/client-fixture.ts'

/** The world stands still. Its departures lie ahead of every test. */
const WORLD_START = new Date('2036-03-01T00:00:00Z')
const LIST = 'summer'

/** A sandbox, and a process that checks fares with its answers. */
async function startUpstream(db: Db): Promise<{ sandbox: Sandbox; verifier: Verifier }> {
  const sandbox = await startTestSandbox({ worldStart: WORLD_START, speed: 0, clock: systemClock })
  onTestFinished(() => sandbox.close())
  const { client } = clientOf(sandbox.url, { accessToken: TOKEN, scrub: (given) => given })
  onTestFinished(() => client.close())
  return { sandbox, verifier: verifierOf(db, client) }
}

it('another site goes from two answers to feeds, a webhook, its sentence, public SQL and a CSV file, and is no change for the schedule', async ({
  database,
}) => {
  const { db } = database
  const { sandbox, verifier } = await startUpstream(db)
  const calls = await newCaller(db, await startApi(db), 'northwind')
  const [flightId = ''] = searchQuietFlights(sandbox.world, WORLD_START, 1)
  await listWith(calls, LIST, [watch('A-1', { flightId })])
  const receiver = await startReceiver()
  await addEndpoint(db, calls.resellerId, { address: `${receiver.url}/all` })
  await addEndpoint(db, calls.resellerId, {
    address: `${receiver.url}/prices`,
    kinds: ['price_changed'],
  })
  for (let n = 0; n < 2; n += 1) await verifier.fullRound()

  sandbox.setFaults([{ name: 'other-site' }])
  await verifier.fullRound()
  const waiting = itemsOf(await calls.get('/watch-changes'))
  await verifier.fullRound()

  expect(waiting.map(({ kind }) => kind)).toEqual(['watch_started'])
  const feed = itemsOf(await calls.get('/watch-changes'))
  expect(feed.map(({ kind }) => kind)).toEqual(['watch_started', 'site_changed'])
  const chosen = itemsOf(await calls.get('/watch-changes?kinds=site_changed'))
  expect(chosen).toEqual([{ ...feed[1], previous: 0 }])
  const [record] = chosen as unknown as ShownChange[]
  if (!record?.before || !record.after) throw new Error('the record shows no states')
  const [was, is] = [record.before, record.after].map(({ outbound }) => outbound.flight?.site)
  expect(was).toMatchObject({ id: expect.stringMatching(/^10\d$/) })
  expect(is).toEqual({
    id: '900',
    name: 'Cobalt Fares',
    url: 'https://cobalt.sandbox.invalid/',
  })
  expect({ ...record.after, outbound: { ...record.after.outbound, flight: null } }).toEqual({
    ...record.before,
    outbound: { ...record.before.outbound, flight: null },
  })
  const sentence = `: sold by Cobalt Fares (was ${was?.name})`
  expect(changeSentence(record, 2036)).toMatch(new RegExp(`${RegExp.escape(sentence)}$`))

  const dispatcher = startDispatcher(db)
  await fanOutAll(db)
  for (const sent of [1, 2]) {
    await dispatcher.dispatch()
    await dispatcher.recorded(sent)
  }
  expect(receiver.received.map(({ path, body }) => [path, body[0]?.type])).toEqual([
    ['/all', 'fare.watch_started'],
    ['/all', 'fare.site_changed'],
  ])
  expect(receiver.received[1]?.body[0]?.data).toMatchObject({
    before: { outbound: { flight: { site: was } } },
    after: { outbound: { flight: { site: is } } },
  })

  const { rows } = await sql`
    select c.kind, c.belief_before #>> '{outbound,flight,site,name}' as was, c.outbound_site_name as name, f.outbound_site_id as now
      from farewatch.availability_changes c cross join farewatch.fares_current f where c.seq > 1
  `.execute(db)
  expect(rows).toEqual([{ kind: 'site_changed', was: was?.name, name: 'Cobalt Fares', now: '900' }])
  const out = new PassThrough()
  const tables = { tables: ['availability_changes'], format: 'csv' } as const
  const [csv] = await Promise.all([
    text(out),
    streamTable(database, tables, out).finally(() => out.end()),
  ])
  expect(csv).toMatch(/^2,[^,]+,site_changed,.*Cobalt Fares/m)

  const learned = await db
    .selectFrom('fare_schedule')
    .select(['changed_at', 'available_changes'])
    .executeTakeFirstOrThrow()
  expect(learned).toEqual({ changed_at: null, available_changes: 0 })
})
