import { describe, expect } from 'vitest'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { NO_GUARD, place, route, routes, sync } from '../routes/sync-fixtures.ts'
import { ask, bearer, newKeyText, startApi } from '../support/api-server.ts'
import { it } from '../support/test-database.ts'

interface Feed {
  readonly items: readonly {
    readonly seq: number
    readonly kind: string
    readonly previous: number
  }[]
  readonly seq: number
  readonly head: number
}

const LISTED = { list: 'with-availability' } as const

/** Six records: PMI-BCN added (1), PMI-MAD available (2) and lost (3), MAD renamed (4), PMI-IBZ added (5), PMI-BCN removed (6). */
async function sixChanges(db: Db): Promise<void> {
  const guard = NO_GUARD
  await sync(db, routes('PMI-MAD'))
  await sync(db, routes('PMI-MAD', 'PMI-BCN'))
  await sync(db, routes('PMI-BCN'), LISTED)
  await sync(db, routes('PMI-MAD', 'PMI-BCN'), LISTED)
  await sync(db, routes('PMI-BCN'), { ...LISTED, confirmations: 1, guard })
  const renamed = { ...route('PMI-MAD'), destination: place('MAD', { city: 'Madrid' }) }
  await sync(db, [renamed, route('PMI-BCN')], { guard })
  await sync(db, [renamed, ...routes('PMI-BCN', 'PMI-IBZ')], { guard })
  await sync(db, [renamed, route('PMI-IBZ')], { guard, confirmations: 1 })
}

async function aFeed(db: Db) {
  await sixChanges(db)
  const base = await startApi(db)
  const headers = bearer(await newKeyText(db))
  const read = async (query: string): Promise<Feed> => {
    const { status, text } = await ask(`${base}/api/v1/route-changes?${query}`, { headers })
    expect(status, text).toBe(200)
    return JSON.parse(text) as Feed
  }
  const refused = async (query: string) =>
    (await ask(`${base}/api/v1/route-changes?${query}`, { headers })).body
  return { read, refused }
}

const seqs = ({ items }: Feed) => items.map(({ seq }) => seq)

describe('the feed of route changes', () => {
  it('the feed shows every record once and in order, from any number on', async ({ db }) => {
    const { read } = await aFeed(db)

    const all = await read('')
    const seen: number[] = []
    let after = 0
    do {
      const page: Feed = await read(`after=${after}&limit=2`)
      seen.push(...seqs(page))
      after = page.seq
    } while (after < all.head)

    expect(seqs(all)).toEqual([1, 2, 3, 4, 5, 6])
    expect(all).toMatchObject({ seq: 6, head: 6 })
    expect(all.items.map(({ previous }) => previous)).toEqual([0, 1, 2, 3, 4, 5])
    expect(seen).toEqual([1, 2, 3, 4, 5, 6])
    expect(await read('after=6')).toEqual({ items: [], seq: 6, first: 1, head: 6 })
  })

  it('the feed shows a record as the public SQL does', async ({ db }) => {
    const { read } = await aFeed(db)
    const { rows } = await sql<{ row: Record<string, unknown> }>`
      select to_jsonb(c) as row from farewatch.route_changes c order by seq
    `.execute(db)

    const { items } = await read('')

    const instant = (text: unknown) => new Date(String(text)).toISOString()
    const typed = (state: unknown, { place_id }: Record<string, unknown>) =>
      state && { ...(state as object), type: place_id === null ? 'route' : 'place' }
    expect(items).toEqual(
      rows.map(({ row }) => ({
        seq: row.seq,
        previous: Number(row.seq) - 1,
        id: row.id,
        kind: row.kind,
        departureId: row.departure_id,
        destinationId: row.destination_id,
        placeId: row.place_id,
        before: typed(row.attributes_before, row),
        after: typed(row.attributes, row),
        lastSeenAt: instant(row.last_seen_at),
        firstMissedAt: instant(row.first_missed_at),
        recordedAt: instant(row.recorded_at),
        runId: row.sync_run_id,
      })),
    )
  })

  it('a filtered feed shows the previous matching record of each', async ({ db }) => {
    const { read } = await aFeed(db)

    for (const [query, expected, previous] of [
      ['kinds=route_added', [1, 5], [0, 1]],
      ['kinds=route_added,place_changed', [1, 4, 5], [0, 1, 4]],
      ['kinds=route_added&kinds=place_changed', [1, 4, 5], [0, 1, 4]],
      ['places=IBZ', [5], [0]],
      ['places=MAD', [2, 3, 4], [0, 2, 3]],
      ['places=IBZ,BCN&kinds=route_removed', [6], [0]],
      ['places=NONE', [], []],
      ['after=1&kinds=route_added', [5], [1]],
      ['after=3&places=MAD&limit=1', [4], [3]],
      ['from=2100-01-01T00:00:00Z', [], []],
      ['to=2100-01-01T00:00:00Z&after=5', [6], [5]],
    ] as const) {
      const feed = await read(query)

      expect(seqs(feed), query).toEqual(expected)
      expect(
        feed.items.map((item) => item.previous),
        query,
      ).toEqual(previous)
    }
  })

  it('a filtered feed skips other records and misses no matching one', async ({ db }) => {
    const { read } = await aFeed(db)

    const first = await read('kinds=route_added&limit=1')
    const second = await read(`kinds=route_added&limit=1&after=${first.seq}`)
    const rest = await read(`kinds=route_added&after=${second.seq}`)

    expect([seqs(first), first.seq]).toEqual([[1], 1])
    expect([seqs(second), second.seq]).toEqual([[5], 5])
    expect(second.items[0]?.previous).toBe(1)
    expect(rest).toEqual({ items: [], seq: 6, first: 1, head: 6 })
  })

  it('previous is searched among 100,000 records only', async ({ db }) => {
    const { read } = await aFeed(db)
    const push = async (by: number) => {
      await sql`update route_change set seq = seq + ${by} where seq > 1`.execute(db)
      await sql`update feed_head set last_seq = last_seq + ${by} where feed = 'route'`.execute(db)
    }
    await push(99_990)

    const near = await read('kinds=route_added&after=99000')
    await push(10_000)
    const far = await read('kinds=route_added&after=105000')

    expect([near.items[0]?.previous, far.items[0]?.previous]).toEqual([1, 0])
  })

  it('since and until compare with the time of recording', async ({ db }) => {
    const { read } = await aFeed(db)
    await sql`
      update route_change set recorded_at = '2026-01-01T00:00:00Z'::timestamptz + seq * interval '1 day'
    `.execute(db)

    expect(seqs(await read('from=2026-01-03T00:00:00Z&to=2026-01-05T00:00:00Z'))).toEqual([2, 3])
  })

  it('the feed is answered in time although few of many records match', async ({ db }) => {
    const { read } = await aFeed(db)
    await sql`
      insert into route_change (seq, kind, place_id, first_missed_at, sync_run_id)
      select n, 'place_changed', 'X', clock_timestamp(), 1 from generate_series(7, 150000) n
    `.execute(db)
    await sql`update feed_head set last_seq = 150000 where feed = 'route'`.execute(db)

    const first = await read('places=BCN&after=6')
    const second = await read(`places=BCN&after=${first.seq}`)

    expect(first).toEqual({ items: [], seq: 100_006, first: 1, head: 150_000 })
    expect(second).toEqual({ items: [], seq: 150_000, first: 1, head: 150_000 })
  })

  it('a number beyond the head is refused', async ({ db }) => {
    const { refused } = await aFeed(db)

    expect(await refused('after=7')).toMatchObject({
      status: 400,
      code: 'changes.beyond_head',
      parameter: 'after',
      detail: 'after is 7, but the feed ends at 6',
    })
  })
})
