import { describe, expect } from 'vitest'
import { readDeliveryState } from '../../src/delivery/dispatch/delivery-gauges.ts'
import { type Db, sql } from '../../src/platform/db/database.ts'
import {
  beginGeneration,
  beginIfRestored,
  readGeneration,
  readIdentity,
} from '../../src/platform/db/generations.ts'
import { selectOne } from '../../src/platform/db/transaction.ts'
import { createReseller } from '../../src/resellers/resellers.ts'
import { proveHistory } from '../../src/routes/prove/prove-history.ts'
import { ago, fareOf, itemsOf } from '../api/reseller-calls.ts'
import { seqsOf, startStreamWorld, upTo } from '../api/stream-world.ts'
import { addEndpoint, deliveredSeqs, fanOutAll } from '../delivery/delivery-fixtures.ts'
import { available, record } from '../fares/fare-fixtures.ts'
import { noScrub, routes, sync } from '../routes/sync-fixtures.ts'
import { bearer, newKeyText } from '../support/api-server.ts'
import { it } from '../support/test-database.ts'

const STEP = 1_000_000

/** The kinds of differences that a proof finds. */
async function differencesOf(db: Db): Promise<unknown> {
  const deps = { db, scrub: noScrub, confirmations: 2 }
  return (await proveHistory(deps, { signal: new AbortController().signal })).kinds
}

describe('a generation', () => {
  it('lets a feed go on a million higher, and a reader of the restored numbers misses nothing', async ({
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

    expect(before.body).toEqual({ items: [], seq: 5, first: 1, head: 5, generation: 2 })
    const numbers = [...upTo(5), ...upTo(3).map((n) => 4 + STEP + n)]
    const page = await ana.get('/watch-changes')
    expect(page.body).toMatchObject({ seq: 7 + STEP, head: 7 + STEP, generation: 2 })
    const items = itemsOf<{ seq: number; previous: number; generation: number }>(page)
    expect(items.map(({ seq }) => seq)).toEqual(numbers)
    expect(items.map(({ previous }) => previous)).toEqual([0, ...numbers.slice(0, -1)])
    expect(items.map(({ generation }) => generation)).toEqual([1, 1, 1, 1, 1, 2, 2, 2])
    expect(await live.events(3)).toMatchObject(
      items.slice(5).map((data) => ({ id: String(data.seq), data })),
    )
    const seen: number[] = []
    for (let after = 0; after < 7 + STEP; after = seen.at(-1) ?? 0) {
      const part = await ana.get(`/watch-changes?after=${after}&limit=2&reference=A-1`)
      const found = itemsOf<{ seq: number; previous: number }>(part)
      expect(found.map(({ previous }) => previous)).toEqual(
        [after, found[0]?.seq].slice(0, found.length),
      )
      seen.push(...found.map(({ seq }) => seq))
      if (found.length < 2) break
    }
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
        generation: 2,
      })
      expect(await lost(`?after=${STEP + 4}`)).toMatchObject({ code: 'changes.restored' })
      expect(await lost(`?after=${STEP + 9}`)).toMatchObject({ code: 'changes.beyond_head' })
      expect(await lost('?after=5')).toMatchObject({ generation: 2 })
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
    expect(seqsOf(await (await open('', { lastEventId: '5' })).events(1))).toEqual([5 + STEP])
  })

  it('is crossed by the feeds of routes and fares, by deliveries and by a proof', async ({
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

    await beginGeneration(db)
    await beginGeneration(db)
    await record(db, fare, ago(16), available('120.00'))
    await sync(db, routes('PMI-MAD', 'PMI-BCN', 'PMI-IBZ', 'PMI-SVQ'))

    expect((await readDeliveryState(db)).oldest.healthy).not.toBeNull()
    await fanOutAll(db)
    expect(await deliveredSeqs(db, endpoint)).toEqual([
      [1, 0],
      [2, 1],
      [2 + 2 * STEP, 2],
    ])
    const read = async (path: string) => (await ana.get(path)).body
    expect(await read(`/route-changes?after=1&kinds=route_added`)).toMatchObject({
      items: [{ seq: 1 + 2 * STEP, previous: 1, generation: 3 }],
      seq: 1 + 2 * STEP,
    })
    expect(await read(`/route-changes?after=${1 + STEP}`)).toMatchObject({ continueAfter: 1 })
    expect(await differencesOf(db)).toEqual({})
    await sql`update availability_change set seq = ${STEP} where seq = 1`.execute(db)
    expect(await differencesOf(db)).toMatchObject({ feed_number: 3 })
  })

  it('begins for the feed of a reseller that is created later too', async ({ db }) => {
    await beginGeneration(db)

    const { id } = await createReseller(db, 'ana')

    const { rows } = await sql`select * from feed_gap where reseller_id = ${id}`.execute(db)
    expect(rows).toMatchObject([{ generation: 2, after_seq: 0, next_seq: STEP }])
    const { from } = await selectOne(
      sql<{ from: number }>`select numbers_from as "from" from reseller where id = ${id}`,
      db,
    )
    expect(from).toBe(STEP)
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
    expect(items.map(({ previous }) => previous)).toEqual([0, ...seqsBefore(items)])
    expect(await differencesOf(db)).not.toHaveProperty('feed_number')
  })
})

function seqsBefore(items: readonly { readonly seq: number }[]): number[] {
  return items.slice(0, -1).map(({ seq }) => seq)
}

describe('the start of a process', () => {
  it('begins a generation once where the database is another one, and counts timelines between', async ({
    db,
  }) => {
    const identity = await readIdentity(db)
    expect(await beginIfRestored(db)).toBeUndefined()
    expect(await beginIfRestored(db)).toBeUndefined()
    expect(await readGeneration(db)).toMatchObject({ number: 1, reason: 'first', ...identity })

    await sql`update generation set database = '7/7'`.execute(db)
    const begun = await Promise.all(Array.from({ length: 4 }, () => beginIfRestored(db)))
    expect(begun.filter((one) => one !== undefined)).toMatchObject([
      { number: 2, reason: 'identity', ...identity },
    ])

    await sql`update generation set timeline = timeline - 2 where number = 2`.execute(db)
    expect(await beginIfRestored(db)).toMatchObject({ number: 4, reason: 'identity' })
    const { from } = await selectOne(
      sql<{ from: number }>`select numbers_from as "from" from feed_head where feed = 'route'`,
      db,
    )
    expect(from).toBe(3 * STEP)
  })

  it('needs no right for it, and goes on where the identity may not be read', async ({ db }) => {
    const identity = await readIdentity(db)
    await db.connection().execute(async (session) => {
      await sql`set role farewatch_analyst`.execute(session)
      expect(await readIdentity(session)).toEqual(identity)

      await sql`revoke execute on function pg_control_system() from public`.execute(db)
      expect(await readIdentity(session)).toBeUndefined()
      expect(await beginIfRestored(session)).toBeUndefined()
    })
  })
})
