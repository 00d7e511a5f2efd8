import { describe, expect } from 'vitest'
import { systemClock } from '../../src/platform/base/clock.ts'
import { sql } from '../../src/platform/db/database.ts'
import { GUARD_LIMITS } from '../../src/routes/guard.ts'
import { runOrAwait } from '../../src/routes/sync.ts'
import { it } from '../support/test-database.ts'
import { changes, livePairs, noScrub, routes, sync, upstreamOf } from './sync-fixtures.ts'

const never = new AbortController().signal

describe('runs', () => {
  it('a second sync of the same list awaits the first run and fetches nothing', async ({ db }) => {
    const body = upstreamOf(JSON.stringify(routes('PMI-MAD')))
    const arrived = Promise.withResolvers<void>()
    const release = Promise.withResolvers<void>()
    let fetches = 0
    const upstream: typeof body = {
      fetchRouteListIfModified: async (...args) => {
        fetches += 1
        arrived.resolve()
        await release.promise
        return body.fetchRouteListIfModified(...args)
      },
    }
    const deps = {
      db,
      upstream,
      confirmations: 2,
      guard: GUARD_LIMITS,
      scrub: noScrub,
      clock: systemClock,
    }

    const first = runOrAwait(deps, 'routes', never)
    await arrived.promise
    const joining = runOrAwait(
      { ...deps, clock: { ...systemClock, sleep: async () => release.resolve() } },
      'routes',
      never,
    )
    const [own, joined] = await Promise.all([first, joining])

    expect(fetches).toBe(1)
    expect(own.joined).toBe(false)
    expect(joined).toMatchObject({ joined: true, outcome: { runId: own.outcome.runId } })
  })

  it('no interval ends before it begins when the clock of the database steps back', async ({
    db,
  }) => {
    await sync(db, routes('PMI-MAD'))
    await sql`update sync_run set fetched_at = now() + interval '1 hour'`.execute(db)
    await sql`update route_version set valid_from = (select max(fetched_at) from sync_run)`.execute(
      db,
    )
    await sync(db, routes('PMI-BCN'), { confirmations: 1 })

    expect(await livePairs(db)).toEqual(['PMI-BCN'])
    expect(await changes(db)).toHaveLength(2)
  })
})

describe('the public SQL', () => {
  it('the analyst role reads the public SQL and nothing else', async ({ database }) => {
    const { rows } = await sql<{ table: string }>`
      select oid::regclass::text as table from pg_class
       where relnamespace::regnamespace::text like 'farewatch%' and relkind in ('r', 'p', 'v', 'm')
         and has_table_privilege('farewatch_analyst', oid, 'select') <> (relnamespace = 'farewatch'::regnamespace)
       order by 1
    `.execute(database.db)
    // The reader of a reseller’s data is another role.
    expect(rows.map(({ table }) => table)).toEqual([
      'farewatch.fare_schedule',
      'farewatch.watch_changes',
    ])

    await sync(database.db, routes('PMI-MAD'))
    await database.db.connection().execute(async (session) => {
      await sql`set role farewatch_analyst`.execute(session)
      for (const of of [
        'routes_current',
        'fares_current',
        'routes_as_of(now())',
        'fares_as_of(now())',
      ]) {
        await sql`select * from farewatch.${sql.raw(of)}`.execute(session)
      }
      const table = sql`select * from farewatch_private.sync_run`.execute(session)
      await expect(table).rejects.toThrow(/permission denied/)
      await sql`reset role`.execute(session)
    })
  })

  it('every column of the public SQL has a comment', async ({ db }) => {
    const { rows } = await sql<{ column: string }>`
      select c.relname || '.' || a.attname as column
        from pg_class c
        join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
       where c.relnamespace = 'farewatch'::regnamespace
         and col_description(c.oid, a.attnum) is null
    `.execute(db)
    expect(rows).toEqual([])
  })
})
