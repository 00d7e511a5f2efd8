import { describe, expect } from 'vitest'
import { type Database, type Db, sql } from '../../src/db/database.ts'
import { createRenderedLists } from '../../src/route-sync/read/rendered-lists.ts'
import type { Route } from '../../src/upstream/route-list.ts'
import { fetchedAt, manyRoutes, place, route, routes, sync } from '../route-sync/sync-fixtures.ts'
import { type Answer, ask, bearer, newKeyText, startApi } from '../support/api-server.ts'
import { it } from '../support/test-database.ts'

const ROUTES = '/api/v1/data/routes'
const AVAILABLE = `${ROUTES}/with-availability`
const CSV = `${ROUTES}/csv`

interface Reader {
  /** One server and a key; its memory is over when the test says so. */
  get(path: string, headers?: Record<string, string>): Promise<Answer>
  pass(ms: number): void
}

async function readerOn(db: Db): Promise<Reader> {
  let nowMs = 0
  const base = await startApi(db, { nowMs: () => nowMs })
  const key = bearer(await newKeyText(db))
  return {
    get: (path, headers = {}) => ask(`${base}${path}`, { headers: { ...key, ...headers } }),
    pass: (ms) => {
      nowMs += ms
    },
  }
}

function pairsIn({ text }: Answer): string[] {
  return (JSON.parse(text) as Route[]).map((one) => `${one.departure.id}-${one.destination.id}`)
}

function tagOf({ headers }: Answer): string {
  return headers.get('etag') ?? ''
}

/** How often a connection was taken from the pool since. */
function countQueries({ pool }: Database): () => number {
  let taken = 0
  pool.on('acquire', () => {
    taken += 1
  })
  return () => taken
}

describe('the routes', () => {
  it('come in the upstream’s shape, in the order of their ids', async ({ db }) => {
    await sync(db, routes('PMI-MAD', 'BCN-PMI', 'PMI-BCN'))
    await sync(db, routes('PMI-MAD', 'MAD-PMI'), { list: 'with-availability' })
    const { get } = await readerOn(db)

    const all = await get(ROUTES)
    const available = await get(AVAILABLE)

    expect(all.headers.get('content-type')).toBe('application/json; charset=utf-8')
    expect(JSON.parse(all.text)).toEqual(routes('BCN-PMI', 'PMI-BCN', 'PMI-MAD'))
    expect(JSON.parse(available.text)).toEqual([route('PMI-MAD')])
  })

  it('say when their snapshot had arrived, and how long ago that was', async ({ db }) => {
    await sync(db, routes('PMI-MAD'))
    const last = await sync(db, routes('PMI-MAD'))
    await sql`
      update farewatch_private.sync_run set fetched_at = fetched_at - interval '90 seconds'
    `.execute(db)
    const { get, pass } = await readerOn(db)

    const first = await get(ROUTES)
    pass(500)
    const later = await get(ROUTES, { 'if-none-match': tagOf(first) })

    const at = await fetchedAt(db, last.runId)
    expect(first.headers.get('farewatch-snapshot-at')).toBe(at.toISOString())
    expect(Number(first.headers.get('farewatch-snapshot-age'))).toBeGreaterThanOrEqual(90)
    expect(Number(first.headers.get('farewatch-snapshot-age'))).toBeLessThan(120)
    expect(later.status).toBe(304)
    expect(later.headers.get('farewatch-snapshot-at')).toBe(at.toISOString())
  })

  it.for([ROUTES, AVAILABLE, CSV])(
    'of %s are not there before the first list, which is not the same as none',
    async (path, { db }) => {
      const { get } = await readerOn(db)

      const answer = await get(path)

      expect(answer).toMatchObject({ status: 503, body: { code: 'routes.no_list' } })
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
    },
  )

  it('are not there with availability while only the routes are known', async ({ db }) => {
    await sync(db, routes('PMI-MAD'))
    const { get } = await readerOn(db)

    expect((await get(AVAILABLE)).status).toBe(503)
    expect((await get(ROUTES)).status).toBe(200)
  })
})

describe('a version', () => {
  it.for([ROUTES, AVAILABLE, CSV])(
    'of %s that a client has is a 304 that reads no routes, in a fresh process too',
    async (path, { db }) => {
      await sync(db, routes('PMI-MAD', 'PMI-BCN'))
      await sync(db, routes('PMI-MAD'), { list: 'with-availability' })
      const first = await (await readerOn(db)).get(path)
      await sql`alter table farewatch_private.route_version rename to elsewhere`.execute(db)
      const { get } = await readerOn(db)

      const again = await get(path, { 'if-none-match': tagOf(first) })
      const since = await get(path, {
        'if-modified-since': first.headers.get('last-modified') ?? '',
      })
      const tagged = await get(`${path}?country=Spain`, { 'if-none-match': tagOf(first) })

      expect([again, since, tagged].map(({ status, text }) => [status, text])).toEqual([
        [304, ''],
        [304, ''],
        [304, ''],
      ])
      expect(tagOf(again)).toBe(tagOf(first))
      expect(again.headers.get('cache-control')).toBe('private, no-cache')
      expect(again.headers.get('last-modified')).toBe(first.headers.get('last-modified'))
    },
  )

  it('is another one when the list is, and the same when a snapshot changed nothing', async ({
    db,
  }) => {
    const { get, pass } = await readerOn(db)
    const seen = async (list: readonly Route[]) => {
      await sync(db, list)
      pass(1_000)
      const answer = await get(ROUTES)
      return { tag: tagOf(answer), snapshotAt: answer.headers.get('farewatch-snapshot-at') }
    }

    const first = await seen(routes('PMI-MAD'))
    const same = await seen(routes('PMI-MAD'))
    const reordered = await seen([...routes('PMI-MAD'), ...routes('PMI-MAD')])
    const more = await seen(routes('PMI-MAD', 'PMI-BCN'))
    const renamed = await seen([
      { departure: place('PMI', { city: 'Palma' }), destination: place('MAD') },
      { departure: place('PMI', { city: 'Palma' }), destination: place('BCN') },
    ])

    expect(same.tag).toBe(first.tag)
    expect(same.snapshotAt).not.toBe(first.snapshotAt)
    expect(reordered.tag).toBe(first.tag)
    expect(new Set([first.tag, more.tag, renamed.tag]).size).toBe(3)
  })

  it('of the routes outlasts a change of availability; of the other forms it does not', async ({
    db,
  }) => {
    await sync(db, routes('PMI-MAD', 'PMI-BCN'))
    await sync(db, routes('PMI-MAD'), { list: 'with-availability' })
    const { get, pass } = await readerOn(db)
    const tags = async () => [
      tagOf(await get(ROUTES)),
      tagOf(await get(AVAILABLE)),
      tagOf(await get(CSV)),
    ]
    const before = await tags()

    await sync(db, routes('PMI-MAD', 'PMI-BCN'), { list: 'with-availability' })
    pass(1_000)
    const after = await tags()

    expect(after[0]).toBe(before[0])
    expect(after[1]).not.toBe(before[1])
    expect(after[2]).not.toBe(before[2])
    expect(pairsIn(await get(AVAILABLE))).toEqual(['PMI-BCN', 'PMI-MAD'])
  })

  it('of the CSV tells of a route that a list is the first to call unavailable', async ({ db }) => {
    await sync(db, routes('PMI-MAD'))
    await sync(db, routes('PMI-MAD'), { list: 'with-availability' })
    await sync(db, routes('PMI-MAD', 'PMI-BCN'))
    const { get, pass } = await readerOn(db)
    const before = await get(CSV)

    const run = await sync(db, routes('PMI-MAD'), { list: 'with-availability' })
    pass(1_000)
    const after = await get(CSV)

    expect(run).toMatchObject({ gained: 0, lost: 0 })
    expect(tagOf(after)).not.toBe(tagOf(before))
    expect(before.text).toMatch(/,BCN,.*,\n/)
    expect(after.text).toMatch(/,BCN,.*,false\n/)
  })

  it('is at most a second old', async ({ db }) => {
    await sync(db, routes('PMI-MAD'))
    const { get, pass } = await readerOn(db)
    const first = await get(ROUTES)
    await sync(db, routes('PMI-MAD', 'PMI-BCN'))

    pass(899)
    expect(tagOf(await get(ROUTES))).toBe(tagOf(first))
    pass(1)
    expect(pairsIn(await get(ROUTES))).toEqual(['PMI-BCN', 'PMI-MAD'])
  })

  it('and its bytes are the same from every process', async ({ db }) => {
    await sync(db, manyRoutes(300))
    const [one, other] = [await readerOn(db), await readerOn(db)]

    const [first, second] = [await one.get(ROUTES), await other.get(ROUTES)]

    expect(tagOf(second)).toBe(tagOf(first))
    expect(second.text).toBe(first.text)
  })
})

describe('many who ask at once', () => {
  it('cost one reading of the routes, and the next ones none', async ({ database }) => {
    const { db } = database
    await sync(db, manyRoutes(6_000))
    const { get } = await readerOn(db)
    const queries = countQueries(database)

    const answers = await Promise.all(Array.from({ length: 20 }, () => get(ROUTES)))
    const first = queries()
    const later = await get(ROUTES, { 'accept-encoding': 'gzip' })

    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
    expect(pairsIn(later)).toHaveLength(6_000)
    // The key and its use, the version, the last settled instant, and three pages.
    expect(first).toBeLessThanOrEqual(7)
    expect(queries()).toBe(first)
  })

  it('of a list that is too large to be kept have it read for each of them', async ({ db }) => {
    await sync(db, manyRoutes(300))
    const lists = (maxBytes: number) =>
      createRenderedLists({ db, nowMs: () => performance.now(), maxBytes })

    const kept = await (await lists(1_000_000).current('routes'))?.body()

    expect(kept?.bytes).toBeGreaterThan(10_000)
    expect(await (await lists(10_000).current('routes'))?.body()).toBeNull()
  })

  it('hear of a database that fails, and again once it is back', async ({ db }) => {
    await sync(db, routes('PMI-MAD'))
    const { get } = await readerOn(db)
    await sql`alter table farewatch_private.route_version rename to elsewhere`.execute(db)
    const failed = await Promise.all([get(ROUTES), get(ROUTES)])
    await sql`alter table farewatch_private.elsewhere rename to route_version`.execute(db)

    expect(failed.map(({ status }) => status)).toEqual([500, 500])
    expect(pairsIn(await get(ROUTES))).toEqual(['PMI-MAD'])
  })
})

describe('asOf', () => {
  it('is the list as it stood then, under the version that it had', async ({ db }) => {
    const first = await fetchedAt(db, (await sync(db, routes('PMI-MAD'))).runId)
    const { get, pass } = await readerOn(db)
    const then = await get(ROUTES)
    await sync(db, routes('PMI-MAD', 'PMI-BCN'))
    pass(1_000)

    const past = await get(`${ROUTES}?asOf=${first.toISOString()}`)
    const again = await get(`${ROUTES}?asOf=${first.toISOString()}`, {
      'if-none-match': tagOf(then),
    })
    const future = await get(`${ROUTES}?asOf=2100-01-01T00:00:00Z`)

    expect(past.text).toBe(then.text)
    expect(tagOf(past)).toBe(tagOf(then))
    expect(past.headers.get('farewatch-snapshot-at')).toBe(first.toISOString())
    expect(again.status).toBe(304)
    expect(pairsIn(future)).toEqual(['PMI-BCN', 'PMI-MAD'])
  })

  it('of a time before the first list is not found', async ({ db }) => {
    await sync(db, routes('PMI-MAD'))
    const { get } = await readerOn(db)

    expect(await get(`${CSV}?asOf=1999-01-01T00:00:00Z`)).toMatchObject({
      status: 404,
      body: { code: 'not_found', parameter: 'asOf' },
    })
  })
})

describe('the places of the routes', () => {
  const palma = place('1', { iata: 'PMI', city: 'Palma', country: 'Spain' })
  const faro = place('2', { iata: 'FAO', city: 'Faro', country: 'Portugal' })
  const porto = place('3', { iata: 'OPO', city: 'Porto', country: 'Portugal' })
  const rome = place('4', { iata: 'FCO', city: 'Rome', country: 'Italy' })
  const list = [
    [palma, faro],
    [faro, palma],
    [faro, porto],
    [palma, rome],
    [rome, palma],
  ] as const
  it.for([
    ['departure=1', ['1-2', '1-4']],
    ['departure=pmi', ['1-2', '1-4']],
    ['destination=PMI', ['2-1', '4-1']],
    ['departure=FAO&destination=1', ['2-1']],
    ['country=Portugal', ['1-2', '2-1', '2-3']],
    ['country=portugal&departure=1', ['1-2']],
    ['country=Atlantis', []],
    ['departure=%25', []],
  ] as const)('%s are %j', async ([query, pairs], { db }) => {
    await sync(
      db,
      list.map(([departure, destination]) => ({ departure, destination })),
    )
    await sync(db, [{ departure: palma, destination: rome }], { list: 'with-availability' })
    const { get } = await readerOn(db)

    expect(pairsIn(await get(`${ROUTES}?${query}`))).toEqual(pairs)
    expect(pairsIn(await get(`${AVAILABLE}?${query}`))).toEqual(
      pairs.filter((pair) => pair === '1-4'),
    )
    expect((await get(`${CSV}?${query}`)).text.trim().split('\n')).toHaveLength(1 + pairs.length)
  })

  it('are what they were called then', async ({ db }) => {
    const before = await sync(db, [{ departure: palma, destination: faro }])
    await sync(db, [{ departure: { ...palma, iata: 'XXX' }, destination: faro }])
    const { get } = await readerOn(db)
    const then = (await fetchedAt(db, before.runId)).toISOString()

    expect(pairsIn(await get(`${ROUTES}?departure=PMI`))).toEqual([])
    expect(pairsIn(await get(`${ROUTES}?departure=PMI&asOf=${then}`))).toEqual(['1-2'])
  })
})
