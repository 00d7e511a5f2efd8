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
    await sync(database.db, routes('PMI-MAD'))
    await database.db.connection().execute(async (session) => {
      await sql`set role farewatch_analyst`.execute(session)
      for (const view of [
        sql`farewatch.routes_current`,
        sql`farewatch.routes_as_of(now())`,
        sql`farewatch.route_history`,
        sql`farewatch.route_availability_history`,
        sql`farewatch.place_history`,
        sql`farewatch.route_changes`,
        sql`farewatch.sync_runs`,
        sql`farewatch.places`,
        sql`farewatch.route_distance_km('PMI', 'MAD')`,
        sql`farewatch.daily_network`,
        sql`farewatch.daily_country_pairs`,
        sql`farewatch.daily_place_degree`,
        sql`farewatch.daily_fares`,
        sql`farewatch.daily_hubs`,
        sql`farewatch.daily_airlines`,
        sql`farewatch.daily_delays`,
        sql`farewatch.daily_prices`,
        sql`farewatch.prices_by_days_to_departure`,
        sql`farewatch.fares_as_of(now())`,
        sql`farewatch.daily_route_churn`,
        sql`farewatch.fares_current`,
        sql`farewatch.fare_history`,
        sql`farewatch.availability_changes`,
        sql`farewatch.fare_survival`,
      ]) {
        await sql`select * from ${view}`.execute(session)
      }
      for (const table of [
        sql`farewatch_private.route_version`,
        sql`farewatch_private.sync_run`,
        sql`farewatch_queue.job`,
      ]) {
        await expect(sql`select * from ${table}`.execute(session)).rejects.toThrow(
          /permission denied/,
        )
      }
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
