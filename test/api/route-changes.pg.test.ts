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
  it('the feed and a part of it show every record once and in order, from any number on', async ({
    db,
  }) => {
    const { read } = await aFeed(db)
    for (const [query, expected] of [
      ['', [1, 2, 3, 4, 5, 6]],
      ['kinds=route_added', [1, 5]],
    ] as const) {
      const all = await read(query)
      const seen: Feed['items'][number][] = []
      for (let after = 0; after < 6; ) {
        const page = await read(`${query}&after=${after}&limit=1`)
        seen.push(...page.items)
        after = page.seq
      }
      expect([seqs(all), all.seq, all.head]).toEqual([expected, 6, 6])
      expect(seen).toEqual(all.items)
      expect(seen.map(({ previous }) => previous)).toEqual([0, ...expected.slice(0, -1)])
    }
    expect(await read('after=6')).toEqual({ items: [], seq: 6, first: 1, head: 6 })
  })

  it('since and until compare with the time of recording', async ({ db }) => {
    const { read } = await aFeed(db)
    await sql`
      update route_change set recorded_at = '2026-01-01T00:00:00Z'::timestamptz + seq * interval '1 day'
    `.execute(db)

    expect(seqs(await read('from=2026-01-03T00:00:00Z&to=2026-01-05T00:00:00Z'))).toEqual([2, 3])
  })
})
