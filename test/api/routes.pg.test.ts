import { describe, expect } from 'vitest'
import { type Db, sql } from '../../src/platform/db/database.ts'
import type { Route } from '../../src/upstream/route-list.ts'
import { fetchedAt, manyRoutes, place, route, routes, sync } from '../routes/sync-fixtures.ts'
import { countQueries, it } from '../support/test-database.ts'
import { AVAILABLE, CSV, pairsIn, ROUTES, readerOn, tagOf } from './route-reader.ts'

describe('the routes', () => {
  it('the routes have the upstream’s shape and are ordered by id', async ({ db }) => {
    await sync(db, routes('PMI-MAD', 'BCN-PMI', 'PMI-BCN'))
    await sync(db, routes('PMI-MAD', 'MAD-PMI'), { list: 'with-availability' })
    const { get } = await readerOn(db)

    const all = await get(ROUTES)
    const available = await get(AVAILABLE)

    expect(all.headers.get('content-type')).toBe('application/json; charset=utf-8')
    expect(JSON.parse(all.text)).toEqual(routes('BCN-PMI', 'PMI-BCN', 'PMI-MAD'))
    expect(JSON.parse(available.text)).toEqual([route('PMI-MAD')])
  })

  it('the headers show when the snapshot arrived and its age', async ({ db }) => {
    await sync(db, routes('PMI-MAD'))
    const last = await sync(db, routes('PMI-MAD'))
    await sql`
      update farewatch_private.sync_run
         set fetched_at = fetched_at - interval '90 seconds', arrived_at = arrived_at - interval '90 seconds'
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

  it('every list answers 503 before the first one has arrived, and not with an empty list', async ({
    db,
  }) => {
    const { get } = await readerOn(db)

    for (const path of [ROUTES, AVAILABLE, CSV]) {
      const answer = await get(path)

      expect(answer, path).toMatchObject({ status: 503, body: { code: 'routes.no_list' } })
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
    }
  })
})

describe('concurrent requests for a list', () => {
  it('concurrent requests read the routes once, and later ones not at all', async ({
    database,
  }) => {
    const { db } = database
    await sync(db, manyRoutes(300))
    const { get } = await readerOn(db)
    const queries = countQueries(database)

    const answers = await Promise.all(Array.from({ length: 20 }, () => get(ROUTES)))
    const first = queries()
    const later = await get(ROUTES, { 'accept-encoding': 'gzip' })

    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
    expect(pairsIn(later)).toHaveLength(300)
    // The key and its use, the version, the last valid time, and two pages, the last of which is empty.
    expect(first).toBeLessThanOrEqual(6)
    expect(queries()).toBe(first)
  })
})

describe('asOf', () => {
  it('asOf returns the list of that instant with its version', async ({ db }) => {
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
})

describe('filters by place', () => {
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
  it('a list has the routes that match all given places', async ({ db }) => {
    await sync(
      db,
      list.map(([departure, destination]) => ({ departure, destination })),
    )
    await sync(db, [{ departure: palma, destination: rome }], { list: 'with-availability' })
    const { get } = await readerOn(db)

    for (const [query, pairs] of [
      ['departure=1', ['1-2', '1-4']],
      ['departure=pmi', ['1-2', '1-4']],
      ['destination=PMI', ['2-1', '4-1']],
      ['departure=FAO&destination=1', ['2-1']],
      ['country=Portugal', ['1-2', '2-1', '2-3']],
      ['country=portugal&departure=1', ['1-2']],
      ['country=Atlantis', []],
      ['departure=%25', []],
    ] as const) {
      expect(pairsIn(await get(`${ROUTES}?${query}`)), query).toEqual(pairs)
      const available = pairs.filter((pair) => pair === '1-4')
      expect(pairsIn(await get(`${AVAILABLE}?${query}`)), query).toEqual(available)
      const lines = (await get(`${CSV}?${query}`)).text.trim().split('\n')
      expect(lines, query).toHaveLength(1 + pairs.length)
    }
  })
})

/** Moves all runs so far into the past by hours. */
async function hoursPass(db: Db): Promise<void> {
  await sql`update sync_run set fetched_at = fetched_at - interval '5 hours'`.execute(db)
}

describe('versions of the lists', () => {
  it.for([ROUTES, AVAILABLE, CSV])(
    'a client that has the version of %s gets a 304 without reading routes, also from a new process',
    async (path, { db }) => {
      await sync(db, routes('PMI-MAD', 'PMI-BCN'))
      await hoursPass(db)
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

  it('the version changes with the list, and not with a snapshot that changes nothing', async ({
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
    const palma = place('PMI', { city: 'Palma' })
    const edited = [
      { departure: palma, destination: place('MAD') },
      { departure: palma, destination: place('BCN') },
    ]
    const pending = await seen(edited)
    const renamed = await seen(edited)

    expect(same.tag).toBe(first.tag)
    expect(same.snapshotAt).not.toBe(first.snapshotAt)
    expect(reordered.tag).toBe(first.tag)
    expect(pending.tag).toBe(more.tag)
    expect(new Set([first.tag, more.tag, renamed.tag]).size).toBe(3)
  })

  it('a change of availability changes the version of every form except the routes', async ({
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

  it('the version of the CSV changes when a list is the first to show a route as unavailable', async ({
    db,
  }) => {
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

  it('a version has no Last-Modified if another one began in the same second', async ({ db }) => {
    await sync(db, routes('PMI-MAD'))
    await hoursPass(db)
    const { get, pass } = await readerOn(db)
    const first = await get(ROUTES)
    const dated = first.headers.get('last-modified') ?? ''
    await sync(db, routes('PMI-MAD', 'PMI-BCN'))
    await sql`
      update sync_run r
         set fetched_at = date_trunc('second', first.fetched_at) + interval '999 ms'
        from (select min(fetched_at) as fetched_at from sync_run) first
       where r.fetched_at > first.fetched_at
    `.execute(db)
    pass(1_000)

    const second = await get(ROUTES, { 'if-modified-since': dated })

    expect(new Date(dated).getTime()).toBeGreaterThan(0)
    expect(second.status).toBe(200)
    expect(second.headers.get('last-modified')).toBeNull()
    expect(tagOf(second)).not.toBe(tagOf(first))
  })
})
