import { describe, expect, vi } from 'vitest'
import { readDeliveryState } from '../../src/delivery/dispatch/delivery-gauges.ts'
import { findFault, readFeedBounds, readFeedHeads } from '../../src/feeds/feed-bounds.ts'
import { readRoutePage } from '../../src/feeds/operator-feed-queries.ts'
import { type Db, sql } from '../../src/platform/db/database.ts'
import {
  beginGeneration,
  beginIfRestored,
  readGeneration,
  readIdentity,
} from '../../src/platform/db/generations.ts'
import { migrate } from '../../src/platform/db/migrate.ts'
import { proveHistory } from '../../src/routes/prove/prove-history.ts'
import { ago, fareOf, itemsOf } from '../api/reseller-calls.ts'
import { seqsOf, startStreamWorld, upTo } from '../api/stream-world.ts'
import { addEndpoint, deliveredSeqs, fanOutAll } from '../delivery/delivery-fixtures.ts'
import { available, record } from '../fares/fare-fixtures.ts'
import { createEmptyDatabase, openAnother } from '../platform/db/empty-database.ts'
import { noScrub, routes, sync } from '../routes/sync-fixtures.ts'
import { bearer, newKeyText } from '../support/api-server.ts'
import { it } from '../support/test-database.ts'

const SPAN = 10_000_000_000

/** The kinds of differences that a proof finds. */
async function differencesOf(db: Db): Promise<unknown> {
  const deps = { db, scrub: noScrub, confirmations: 2 }
  return (await proveHistory(deps, { signal: new AbortController().signal })).kinds
}

describe('a generation', () => {
  it('lets a feed go on at the next span, and a reader of the restored numbers misses nothing', async ({
    db,
    databaseUrl,
  }) => {
    const { ana, append, open } = await startStreamWorld(db, databaseUrl)
    await append(5)
    const live = await open('?after=3')
    expect(seqsOf(await live.events(2))).toEqual([4, 5])

    expect(await beginGeneration(db)).toMatchObject({ number: 2, resellers: 1 })
    const before = await ana.get('/watch-changes?after=5')
    await append(3)

    expect(before.body).toEqual({ items: [], seq: SPAN, first: 1, head: SPAN })
    const numbers = [...upTo(5), ...upTo(3).map((n) => SPAN + n)]
    const page = await ana.get('/watch-changes')
    expect(page.body).toMatchObject({ seq: SPAN + 3, head: SPAN + 3 })
    const items = itemsOf<{ seq: number; previous: number }>(page)
    expect(items.map(({ seq }) => seq)).toEqual(numbers)
    const previous = [0, 1, 2, 3, 4, 0, SPAN + 1, SPAN + 2]
    expect(items.map((item) => item.previous)).toEqual(previous)
    for (const after of [5, SPAN]) {
      expect((await ana.get(`/watch-changes?after=${after}`)).body).toMatchObject({
        items: items.slice(5),
      })
    }
    expect(await live.events(3)).toMatchObject(
      items.slice(5).map((data) => ({ id: String(data.seq), data })),
    )
    const seen: number[] = []
    for (let after = 0; after < SPAN + 3; ) {
      const part = await ana.get(`/watch-changes?after=${after}&limit=2&reference=A-1`)
      for (const item of itemsOf<{ seq: number; previous: number }>(part)) {
        expect(item.previous).toBeLessThanOrEqual(seen.at(-1) ?? 0)
        seen.push(item.seq)
      }
      after = Number((part.body as { seq: number }).seq)
    }
    expect(seen.some((seq) => seq > SPAN)).toBe(true)
    const filtered = await open('?after=0&reference=A-1')
    expect(seqsOf(await filtered.events(seen.length))).toEqual(seen)
  })

  it('refuses a number that a restore has discarded, with the number to go on after', async ({
    db,
    databaseUrl,
  }) => {
    const { ana, base, append, open } = await startStreamWorld(db, databaseUrl)
    await append(5)
    await beginGeneration(db)
    const lost = async (path: string) => (await ana.get(`/watch-changes${path}`)).body

    for (const appended of [0, 3]) {
      if (appended > 0) await append(appended)
      expect(await lost('?after=31')).toMatchObject({
        status: 410,
        code: 'changes.restored',
        parameter: 'after',
        continueAfter: 5,
      })
      expect(await lost(`?after=${SPAN - 1}`)).toMatchObject({ code: 'changes.restored' })
      expect(await lost(`?after=${SPAN + 9}`)).toMatchObject({ code: 'changes.beyond_head' })
      expect(await lost('?after=5')).toMatchObject({ seq: SPAN + appended })
    }
    const refused = await fetch(`${base}/api/v1/watch-changes/stream`, {
      headers: { ...bearer(ana.key), 'last-event-id': '31' },
    })
    expect([refused.status, await refused.json()]).toMatchObject([
      410,
      { code: 'changes.restored', parameter: 'Last-Event-ID', continueAfter: 5 },
    ])
    const operator = await newKeyText(db, { resellerId: null })
    const all = await fetch(`${base}/api/v1/changes/stream`, {
      headers: { ...bearer(operator), 'last-event-id': 'r7.f0' },
    })
    expect([all.status, await all.json()]).toMatchObject([
      410,
      { code: 'changes.restored', detail: expect.stringContaining('go on after r0.f0') },
    ])
    expect(seqsOf(await (await open('', { lastEventId: '5' })).events(1))).toEqual([SPAN + 1])
    await beginGeneration(db)
    expect(await lost(`?after=${SPAN + 7}`)).toMatchObject({ continueAfter: SPAN + 3 })
  })

  it('is crossed by the feeds of routes and fares, by deliveries, gauges and a proof', async ({
    db,
    databaseUrl,
  }) => {
    await sync(db, routes('PMI-MAD', 'PMI-BCN'))
    await sync(db, routes('PMI-MAD', 'PMI-BCN', 'PMI-IBZ'))
    const { ana } = await startStreamWorld(db, databaseUrl)
    const endpoint = await addEndpoint(db, ana.resellerId)
    const fare = await fareOf(db, '101')
    await record(db, fare, ago(20), available('100.00'))
    await fanOutAll(db)
    await record(db, fare, ago(18), available('110.00'))
    const heads = await readFeedHeads(db)

    await beginGeneration(db)
    await beginGeneration(db)
    expect(await readFeedHeads(db)).toEqual(heads.map((head) => ({ ...head, lastSeq: 0 })))
    await record(db, fare, ago(16), available('120.00'))
    await sync(db, routes('PMI-MAD', 'PMI-BCN', 'PMI-IBZ', 'PMI-SVQ'))

    expect((await readDeliveryState(db)).oldest.healthy).not.toBeNull()
    await fanOutAll(db)
    expect(await deliveredSeqs(db, endpoint)).toEqual([
      [1, 0],
      [2, 1],
      [2 * SPAN + 1, 2],
    ])
    const read = async (path: string) => (await ana.get(path)).body
    expect(await read('/route-changes?after=1')).toMatchObject({
      items: [{ seq: 2 * SPAN + 1, previous: 0 }],
      seq: 2 * SPAN + 1,
    })
    expect(await read('/route-changes?after=2')).toMatchObject({ continueAfter: 1 })
    expect(await differencesOf(db)).toEqual({})
    await sql`update availability_change set seq = 9 where seq = 1`.execute(db)
    expect(await differencesOf(db)).toMatchObject({ feed_number: 2 })
    await sql`update availability_change set seq = seq + 1 where seq > ${SPAN}`.execute(db)
    expect(await differencesOf(db)).toMatchObject({ feed_number: 4 })
  })

  it('takes no number twice and leaves none out while records are appended', async ({
    db,
    databaseUrl,
  }) => {
    const { ana, append } = await startStreamWorld(db, databaseUrl)
    await sync(db, routes('PMI-MAD'))

    await Promise.all([
      ...Array.from({ length: 20 }, () => append(2)),
      ...Array.from({ length: 3 }, () => beginGeneration(db)),
    ])
    await append(1)

    const items = itemsOf<{ seq: number; previous: number }>(await ana.get('/watch-changes'))
    expect(items).toHaveLength(41)
    expect(items.at(-1)?.seq).toBeGreaterThan(3 * SPAN)
    expect(await differencesOf(db)).not.toHaveProperty('feed_number')
  })

  it('is kept at the upgrade of a database that was restored: no number is lost, and what was refused still is', async () => {
    const { db } = openAnother(await createEmptyDatabase())
    await migrate(db, { last: '0047_one_name' })
    await sql`insert into generation (number, reason) values (3, 'identity')`.execute(db)
    await sql`insert into reseller (name, last_seq) values ('ana', 1000007)`.execute(db)
    await sql`update feed_head set last_seq = 7 where feed = 'route'`.execute(db)
    for (const seq of [1, 2, 1_000_007]) await insertRouteChange(db, seq)

    await migrate(db)

    expect(await readGeneration(db)).toMatchObject({ number: 3 })
    const { rows } =
      await sql`select distinct last_seq from feed_head union select last_seq from reseller where id > 0`.execute(
        db,
      )
    expect(rows).toEqual([{ last_seq: 2 * SPAN }])
    const faultAt = async (after: number) =>
      findFault(await readFeedBounds(db, 'route', after), after)
    expect(await faultAt(9)).toMatchObject({ code: 'changes.restored', continueAfter: 2 })
    for (const after of [0, 2, 1_000_006, 1_000_007]) expect(await faultAt(after)).toBeUndefined()
    const { items } = await readRoutePage(db, { after: 2, limit: 9 })
    expect(items).toMatchObject([{ seq: 1_000_007, previous: 2 }])
  })
})

/** A record of the feed of routes with a number. */
async function insertRouteChange(db: Db, seq: number): Promise<void> {
  await sql`
    with run as (
      insert into sync_run (list) values ('routes') returning id)
    insert into route_change (seq, kind, departure_id, destination_id, first_missed_at, sync_run_id)
    select ${seq}, 'route_added', 'PMI', 'MAD', now(), id from run
  `.execute(db)
}

describe('the start of a process', () => {
  it('begins a generation once where the database is another one, and counts timelines between', async ({
    db,
  }) => {
    const identity = await readIdentity(db)
    const log = { warn: vi.fn() }
    await beginIfRestored(db, log)
    await beginIfRestored(db, log)
    expect(await readGeneration(db)).toMatchObject({ number: 1, ...identity })
    expect(log.warn).not.toHaveBeenCalled()

    await sql`update generation set database = '7/7'`.execute(db)
    await Promise.all(Array.from({ length: 4 }, () => beginIfRestored(db, log)))
    expect(await readGeneration(db)).toMatchObject({ number: 2, ...identity })
    expect(log.warn).toHaveBeenCalledOnce()

    await sql`update generation set timeline = timeline - 2`.execute(db)
    await beginIfRestored(db, log)
    expect(await readGeneration(db)).toMatchObject({ number: 4, ...identity })
    expect((await readFeedBounds(db, 'route')).head).toBe(3 * SPAN)
  })
})
