import { describe, expect, onTestFinished, vi } from 'vitest'
import { sql } from '../../src/platform/db/database.ts'
import { listApiKeys, revokeApiKey } from '../../src/resellers/api-keys.ts'
import { createReseller } from '../../src/resellers/resellers.ts'
import { bearer, newKeyText } from '../support/api-server.ts'
import { it } from '../support/test-database.ts'
import { until } from '../support/until.ts'
import { itemsOf } from './reseller-calls.ts'
import { seqsOf, startStreamWorld, upTo } from './stream-world.ts'

describe('the stream of a reseller', () => {
  it('sends each record as the feed shows it, first the old ones and then each new one', async ({
    db,
    databaseUrl,
  }) => {
    const { ana, append, open } = await startStreamWorld(db, databaseUrl)
    await append(3)
    const stream = await open()

    const old = await stream.events(3)
    await append(2)
    const fresh = await stream.events(2)

    const page = itemsOf<{ seq: number; kind: string }>(await ana.get('/watch-changes'))
    expect([...old, ...fresh]).toEqual(
      page.map((record) => ({ id: String(record.seq), event: record.kind, data: record })),
    )
    const { status, headers } = stream.response
    expect({ status, ...Object.fromEntries(headers) }).toMatchObject({
      status: 200,
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
      'x-content-type-options': 'nosniff',
    })
    expect(headers.get('content-encoding')).toBeNull()
  })

  // Fault: A client of a stream connects again with an id that is valid, ancient, garbage, or another reseller’s.
  it('continues after any id of its feed, and refuses others', async ({ db, databaseUrl }) => {
    const { ana, append, open } = await startStreamWorld(db, databaseUrl)
    await append(5)
    const ben = await newKeyText(db, { resellerId: (await createReseller(db, 'ben')).id })

    const ancient = await open('?after=4', { lastEventId: '0' })
    const valid = await open('', { lastEventId: '3' })
    expect(seqsOf(await ancient.events(5))).toEqual(upTo(5))
    expect(seqsOf(await valid.events(2))).toEqual([4, 5])
    const [invalid, beyond, ID] = [
      'request.invalid_parameter',
      'changes.beyond_head',
      'Last-Event-ID',
    ]
    for (const [search, given, code, parameter] of [
      ['', { lastEventId: 'garbage' }, invalid, ID],
      ['', { lastEventId: '' }, invalid, ID],
      ['', { lastEventId: '-1' }, invalid, ID],
      ['', { lastEventId: '6' }, beyond, ID],
      ['?after=6', {}, beyond, 'after'],
      ['', { lastEventId: '3', key: ben }, beyond, ID],
      ['?kinds=nothing', {}, invalid, 'kinds'],
    ] as const) {
      const problem = await (await open(search, given)).response.json()
      expect(problem).toMatchObject({ status: 400, code, parameter })
    }
    const head = await ana.get('/watch-changes/stream', {
      method: 'HEAD',
      headers: bearer(ana.key),
    })
    expect([head.status, head.headers.get('content-type')]).toEqual([200, 'text/event-stream'])
    expect((await ana.send('OPTIONS', '/watch-changes/stream')).status).toBe(405)
  })

  it('moves the id of a client whose filter nothing passes', async ({ db, databaseUrl }) => {
    const { append, open } = await startStreamWorld(db, databaseUrl, {
      streams: { heartbeatEveryMs: 5 },
    })
    await append(3)
    const stream = await open('?list=winter')

    expect(await stream.next()).toMatchObject({ retry: expect.any(Number) })
    const first = await stream.next()
    await append(2)
    let block = await stream.next()
    while (block?.id === undefined) block = await stream.next()

    expect([first, block]).toEqual([{ id: '3' }, { id: '5' }])
  })

  // Fault: A client takes a thousand connections.
  it('a key may have 50 streams, and its other requests do not wait for them', async ({
    db,
    databaseUrl,
  }) => {
    const { ana, open } = await startStreamWorld(db, databaseUrl)
    const streams = await Promise.all(Array.from({ length: 50 }, () => open()))

    const refused = await (await open()).response.json()
    const { status } = await ana.get('/watch-changes')
    const other = await open('', { key: await newKeyText(db, { resellerId: ana.resellerId }) })

    expect(streams.every(({ response }) => response.status === 200)).toBe(true)
    expect(refused).toMatchObject({ status: 429, detail: '50 streams at a time' })
    expect([status, other.response.status]).toEqual([200, 200])
    streams[0]?.close()
    await until('a free place', async () => (await open()).response.status === 200)
  })

  // Fault: A key is revoked, or the process stops, while streams are open.
  it('ends when its key is revoked, and no other stream does', async ({ db, databaseUrl }) => {
    const { ana, append, open } = await startStreamWorld(db, databaseUrl, {
      streams: { reauthorizeEveryMs: 1_000_000 },
    })
    const another = await newKeyText(db, { resellerId: ana.resellerId })
    const stays = await open('', { key: another })
    const ends = await Promise.all([open(), open()])

    await revokeApiKey(db, (await listApiKeys(db))[0]?.id ?? 0)
    const last = await Promise.all(ends.map((stream) => stream.rest()))
    await append(1)

    expect(last.map((blocks) => blocks.at(-1))).toMatchObject([
      { event: 'problem', data: { status: 401, code: 'access.unknown_key' } },
      { event: 'problem', data: { status: 401, code: 'access.unknown_key' } },
    ])
    expect((await open()).response.status).toBe(401)
    expect(seqsOf(await stays.events(1))).toEqual([1])
  })

  it('sends a heartbeat every 15 seconds', async ({ db, databaseUrl }) => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    onTestFinished(() => void vi.useRealTimers())
    const { append, open } = await startStreamWorld(db, databaseUrl)
    const stream = await open()
    const begin = [await stream.next(), await stream.next()]

    vi.advanceTimersByTime(14_999)
    await append(1)
    const before = await stream.next()
    vi.advanceTimersByTime(1)
    const beat = await stream.next()
    vi.advanceTimersByTime(15_000)

    expect(begin).toEqual([{ retry: expect.any(Number) as number }, { id: '0' }])
    expect(before).toMatchObject({ id: '1', data: { seq: 1 } })
    expect([beat, await stream.next()]).toEqual([{}, {}])
  })

  // Fault: A failover or a restored backup takes the last records of a feed back.
  it('ends with the problem of a poll when the feed has lost its end', async ({
    db,
    databaseUrl,
  }) => {
    const { append, open } = await startStreamWorld(db, databaseUrl)
    await append(5)
    const stream = await open()
    await stream.events(5)

    await sql`delete from watch_change where seq > 3`.execute(db)
    await sql`update reseller set last_seq = 3`.execute(db)
    const last = await stream.rest()

    expect(last.at(-1)).toMatchObject({
      event: 'problem',
      data: { status: 400, code: 'changes.beyond_head' },
    })
  })
})
