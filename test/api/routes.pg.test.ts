import { describe, expect } from 'vitest'
import { sql } from '../../src/platform/db/database.ts'
import { createRenderedLists } from '../../src/routes/read/export-routes.ts'
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

  it('the list with availability answers 503 while only the routes are known', async ({ db }) => {
    await sync(db, routes('PMI-MAD'))
    const { get } = await readerOn(db)

    expect((await get(AVAILABLE)).status).toBe(503)
    expect((await get(ROUTES)).status).toBe(200)
  })
})

describe('concurrent requests for a list', () => {
  it('concurrent requests read the routes once, and later ones not at all', async ({
    database,
  }) => {
    const { db } = database
    await sync(db, manyRoutes(6_000))
    const { get } = await readerOn(db)
    const queries = countQueries(database)

    const answers = await Promise.all(Array.from({ length: 20 }, () => get(ROUTES)))
    const first = queries()
    const later = await get(ROUTES, { 'accept-encoding': 'gzip' })

    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
    expect(pairsIn(later)).toHaveLength(6_000)
    // The key and its use, the version, the last valid time, and three pages.
    expect(first).toBeLessThanOrEqual(7)
    expect(queries()).toBe(first)
  })

  it('a list that is too large to cache is read for each request', async ({ db }) => {
    await sync(db, manyRoutes(300))
    const lists = (maxBytes: number) =>
      createRenderedLists({ db, nowMs: () => performance.now(), maxBytes })

    const kept = await (await lists(1_000_000).current('routes'))?.body()

    expect(kept?.bytes).toBeGreaterThan(10_000)
    expect(await (await lists(10_000).current('routes'))?.body()).toBeNull()
  })

  it('requests fail while the database fails, and succeed once it is back', async ({ db }) => {
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

  it('asOf before the first list is not found', async ({ db }) => {
    await sync(db, routes('PMI-MAD'))
    const { get } = await readerOn(db)

    expect(await get(`${CSV}?asOf=1999-01-01T00:00:00Z`)).toMatchObject({
      status: 404,
      body: { code: 'not_found', parameter: 'asOf' },
    })
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

  it('asOf filters by the attributes of that time', async ({ db }) => {
    const before = await sync(db, [{ departure: palma, destination: faro }])
    const edited = [{ departure: { ...palma, iata: 'XXX' }, destination: faro }]
    await sync(db, edited)
    await sync(db, edited)
    const { get } = await readerOn(db)
    const then = (await fetchedAt(db, before.runId)).toISOString()

    expect(pairsIn(await get(`${ROUTES}?departure=PMI`))).toEqual([])
    expect(pairsIn(await get(`${ROUTES}?departure=PMI&asOf=${then}`))).toEqual(['1-2'])
  })
})
