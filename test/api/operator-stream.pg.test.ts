import { expect, onTestFinished } from 'vitest'
import type { Db } from '../../src/platform/db/database.ts'
import { createListener } from '../../src/platform/db/listener.ts'
import { available, minute, record, trackFare } from '../fares/fare-fixtures.ts'
import { routes, sync } from '../routes/sync-fixtures.ts'
import { ask, bearer, newKeyText, openApi } from '../support/api-server.ts'
import { silentLog } from '../support/silent-log.ts'
import { it } from '../support/test-database.ts'
import { type Block, openEvents } from './event-client.ts'

async function startWorld(db: Db, url: string) {
  const listener = createListener({ url, log: silentLog })
  onTestFinished(() => listener.close())
  const { base, close } = await openApi(db, { listener, streams: { lasting: true } })
  onTestFinished(close)
  const key = await newKeyText(db)
  const path = `${base}/api/v1/changes/stream`
  const open = (search = '', lastEventId?: string) =>
    openEvents(`${path}${search}`, { key, ...(lastEventId === undefined ? {} : { lastEventId }) })
  const get = (rest: string) => ask(`${base}/api/v1${rest}`, { headers: bearer(key) })
  return { open, get }
}

/** The next events until `count` of them have an id. */
async function numbered(stream: Awaited<ReturnType<typeof openEvents>>, count: number) {
  const found: Block[] = []
  while (found.length < count) {
    const [block] = await stream.events(1)
    if (block?.id !== undefined) found.push(block)
  }
  return found
}

it('the stream of operators sends the changes of routes and fares, and continues at exact positions in both feeds', async ({
  db,
  databaseUrl,
}) => {
  const { open, get } = await startWorld(db, databaseUrl)
  const fare = await trackFare(db)
  await sync(db, routes('PMI-MAD', 'PMI-BCN'))
  const live = await open()
  await live.next()
  await live.next()

  await record(db, fare, minute(0), available('100.00'))
  const [first] = await numbered(live, 1)
  await sync(db, routes('PMI-MAD', 'PMI-BCN', 'PMI-IBZ', 'PMI-VLC'))
  const added = await numbered(live, 2)
  await record(db, fare, minute(5), available('110.00'))
  const [price] = await numbered(live, 1)

  const all = [first, ...added, price]
  expect(all.map((block) => [block?.id, block?.event])).toEqual([
    ['r0.f1', 'first_seen'],
    ['r1.f1', 'route_added'],
    ['r2.f1', 'route_added'],
    ['r2.f2', 'price_changed'],
  ])
  const { items } = (await get('/route-changes')).body
  expect(added.map(({ data }) => data)).toEqual(items)
  const again = await open('?after=r0.f0', 'r1.f1')
  expect((await numbered(again, 2)).map(({ id }) => id)).toEqual(['r2.f1', 'r2.f2'])
  const whole = await open('?after=r0.f0')
  expect((await numbered(whole, 4)).map(({ id }) => id)).toEqual([
    'r1.f0',
    'r2.f0',
    'r2.f1',
    'r2.f2',
  ])
})
