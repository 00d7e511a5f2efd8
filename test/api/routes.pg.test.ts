import { describe, expect } from 'vitest'
import { type Db, sql } from '../../src/platform/db/database.ts'
import type { Route } from '../../src/upstream/route-list.ts'
import { fetchedAt, place, route, routes, sync } from '../routes/sync-fixtures.ts'
import { it } from '../support/test-database.ts'
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
      const { get: inMemory } = await readerOn(db)
      const first = await inMemory(path)
      await sql`alter table farewatch_private.route_version rename to elsewhere`.execute(db)
      // It was rendered once for all.
      expect((await inMemory(path)).text).toBe(first.text)
      const { get } = await readerOn(db)

      const tag = { 'if-none-match': tagOf(first) }
      const modified = first.headers.get('last-modified') ?? ''
      const again = await get(path, tag)
      const others = [
        await get(path, { 'if-modified-since': modified }),
        await get(`${path}?country=Spain`, tag),
      ]
      expect([again, ...others]).toMatchObject([1, 2, 3].map(() => ({ status: 304, text: '' })))
      expect(Object.fromEntries(again.headers)).toMatchObject({
        etag: tagOf(first),
        'cache-control': 'private, no-cache',
        'last-modified': modified,
      })
    },
  )

  it('the version changes with the list, and not with a snapshot that changes nothing', async ({
    db,
  }) => {
    const { get, pass } = await readerOn(db)
    const seen = async (list: readonly Route[]) => {
      await sync(db, list)
      pass(1_000)
      const { headers } = await get(ROUTES)
      return [headers.get('etag'), headers.get('farewatch-snapshot-at')]
    }
    const palma = place('PMI', { city: 'Palma' })
    const edited = ['MAD', 'BCN'].map((id) => ({ departure: palma, destination: place(id) }))
    const [first, firstAt] = await seen(routes('PMI-MAD'))
    const [same, sameAt] = await seen(routes('PMI-MAD'))
    const [reordered] = await seen([...routes('PMI-MAD'), ...routes('PMI-MAD')])
    const [more] = await seen(routes('PMI-MAD', 'PMI-BCN'))
    const [pending] = await seen(edited)
    const [renamed] = await seen(edited)
    expect([same, reordered, pending]).toEqual([first, first, more])
    expect(sameAt).not.toBe(firstAt)
    expect(new Set([first, more, renamed]).size).toBe(3)
  })

  it('a change of availability changes the version of every form except the routes, one from unknown that of the CSV', async ({
    db,
  }) => {
    const listed = (...pairs: string[]) =>
      sync(db, routes(...pairs), { list: 'with-availability' as const })
    await sync(db, routes('PMI-MAD'))
    await listed('PMI-MAD')
    await sync(db, routes('PMI-MAD', 'PMI-BCN'))
    const { get, pass } = await readerOn(db)
    const tags = async () =>
      Promise.all([ROUTES, AVAILABLE, CSV].map(async (path) => tagOf(await get(path))))
    const unknown = await tags()
    expect((await get(CSV)).text).toMatch(/,BCN,.*,\n/)
    expect(await listed('PMI-MAD')).toMatchObject({ gained: 0, lost: 0 })
    pass(1_000)
    const lost = await tags()
    expect((await get(CSV)).text).toMatch(/,BCN,.*,false\n/)
    await listed('PMI-MAD', 'PMI-BCN')
    pass(1_000)
    const gained = await tags()
    expect(lost.map((tag, i) => tag === unknown[i])).toEqual([true, true, false])
    expect(gained.map((tag, i) => tag === lost[i])).toEqual([true, false, false])
    expect(pairsIn(await get(AVAILABLE))).toEqual(['PMI-BCN', 'PMI-MAD'])
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
