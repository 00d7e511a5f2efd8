import { describe, expect } from 'vitest'
import { type Db, sql } from '../../src/platform/db/database.ts'
import type { Route } from '../../src/upstream/route-list.ts'
import { manyRoutes, place, routes, sync } from '../routes/sync-fixtures.ts'
import { it } from '../support/test-database.ts'
import { AVAILABLE, CSV, pairsIn, ROUTES, readerOn, tagOf } from './route-reader.ts'

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

  it('the version of the CSV also changes if an earlier list arrived before the route was known', async ({
    db,
  }) => {
    const available = { list: 'with-availability' } as const
    await sync(db, routes('PMI-MAD'))
    await sync(db, routes('PMI-MAD'), available)
    await sync(db, routes('PMI-MAD', 'PMI-BCN'))
    const early = await sync(db, routes('PMI-MAD'), available)
    await sql`
      update sync_run set arrived_at = arrived_at - interval '1 hour' where id = ${early.runId}
    `.execute(db)
    await sql`delete from route_availability_version where not available`.execute(db)
    const { get, pass } = await readerOn(db)
    const before = await get(CSV)

    await sync(db, routes('PMI-MAD'), available)
    pass(1_000)
    const after = await get(CSV)

    expect(before.text).toMatch(/,BCN,.*,\n/)
    expect(after.text).toMatch(/,BCN,.*,false\n/)
    expect(tagOf(after)).not.toBe(tagOf(before))
  })

  it('the version of the CSV does not change while the lists stay the same', async ({ db }) => {
    const available = { list: 'with-availability' } as const
    await sync(db, routes('PMI-MAD', 'PMI-BCN'))
    const { get, pass } = await readerOn(db)
    const seen = async () => {
      pass(1_000)
      return tagOf(await get(CSV))
    }
    const unknown = await seen()
    await sync(db, routes('PMI-MAD'), available)
    const known = await seen()

    await sync(db, routes('PMI-MAD', 'PMI-BCN'))
    await sync(db, routes('PMI-MAD'), available)
    await sync(db, [...routes('PMI-MAD'), ...routes('PMI-MAD')], available)

    expect(await seen()).toBe(known)
    expect(known).not.toBe(unknown)
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

  it('a served version is at most a second old', async ({ db }) => {
    await sync(db, routes('PMI-MAD'))
    const { get, pass } = await readerOn(db)
    const first = await get(ROUTES)
    await sync(db, routes('PMI-MAD', 'PMI-BCN'))

    pass(899)
    expect(tagOf(await get(ROUTES))).toBe(tagOf(first))
    pass(1)
    expect(pairsIn(await get(ROUTES))).toEqual(['PMI-BCN', 'PMI-MAD'])
  })

  it('every process serves the same version and bytes', async ({ db }) => {
    await sync(db, manyRoutes(300))
    const [one, other] = [await readerOn(db), await readerOn(db)]

    const [first, second] = [await one.get(ROUTES), await other.get(ROUTES)]

    expect(tagOf(second)).toBe(tagOf(first))
    expect(second.text).toBe(first.text)
  })
})
