import { describe, expect } from 'vitest'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { it } from '../support/test-database.ts'
import { place, routes, sync } from './sync-fixtures.ts'

async function select(db: Db, statement: string): Promise<unknown[]> {
  const { rows } = await sql<object>`${sql.raw(statement)}`.execute(db)
  return rows
}

describe('farewatch.route_history', () => {
  it('an interval names its runs and the lists around its end, and a closed one changed later', async ({
    db,
  }) => {
    const added = await sync(db, routes('PMI-MAD', 'PMI-BCN'))
    const missed = await sync(db, routes('PMI-MAD'))
    const removed = await sync(db, [...routes('PMI-MAD'), ...routes('PMI-LIS')])

    expect(
      await select(
        db,
        `select destination_id, is_current, added_run_id, removed_run_id,
                last_seen_at = (select arrived_at from farewatch.sync_runs where sync_run_id = ${added.runId}) as last_seen,
                first_missed_at = (select arrived_at from farewatch.sync_runs where sync_run_id = ${missed.runId}) as first_missed
           from farewatch.route_history order by 1`,
      ),
    ).toEqual([
      {
        destination_id: 'BCN',
        is_current: false,
        added_run_id: added.runId,
        removed_run_id: removed.runId,
        last_seen: true,
        first_missed: true,
      },
      {
        destination_id: 'LIS',
        is_current: true,
        added_run_id: removed.runId,
        removed_run_id: null,
        last_seen: null,
        first_missed: null,
      },
      {
        destination_id: 'MAD',
        is_current: true,
        added_run_id: added.runId,
        removed_run_id: null,
        last_seen: null,
        first_missed: null,
      },
    ])
    expect(
      await select(
        db,
        `select destination_id from farewatch.route_history
          where changed_at > (select finished_at from farewatch.sync_runs where sync_run_id = ${missed.runId}) order by 1`,
      ),
    ).toEqual([{ destination_id: 'BCN' }, { destination_id: 'LIS' }])
  })
})

describe('the indexes of the feeds', () => {
  it.for([
    [`route_changes where departure_id = 'PMI' and destination_id = 'MAD'`, 'route_change_route'],
    [`route_changes where place_id = 'PMI'`, 'route_change_place'],
    [`route_changes where recorded_at > '2026-01-01T00:00Z'`, 'route_change_recorded'],
    [`availability_changes where recorded_at > '2026-01-01T00:00Z'`, 'availability_change_recent'],
    [`fare_survival where fare_id = 1`, 'fare_belief_version_timeline'],
    [`route_history where departure_id = 'PMI'`, 'route_version_timeline'],
  ] as const)('%s can be read by the index %s', async ([from, index], { db }) => {
    const plan = await db.connection().execute(async (session) => {
      await sql`set enable_seqscan = off`.execute(session)
      return select(session, `explain (costs off) select * from farewatch.${from}`)
    })
    expect(JSON.stringify(plan)).toContain(index)
  })
})

describe('farewatch.places', () => {
  it('a place has the facts of its airport where its code is known, and nothing guessed elsewhere', async ({
    db,
  }) => {
    const other = place('X1', { iata: '', city: 'Palma', country: 'Spain' })
    await sync(db, [...routes('PMI-MAD'), { departure: place('PMI'), destination: other }])

    expect(
      await select(
        db,
        `select place_id, iso_country, continent, zone, round(latitude)::int as latitude from farewatch.places order by 1`,
      ),
    ).toEqual([
      { place_id: 'MAD', iso_country: 'ES', continent: 'EU', zone: 'Europe/Madrid', latitude: 40 },
      { place_id: 'PMI', iso_country: 'ES', continent: 'EU', zone: 'Europe/Madrid', latitude: 40 },
      { place_id: 'X1', iso_country: null, continent: null, zone: null, latitude: null },
    ])
    expect(
      await select(
        db,
        `select round(farewatch.route_distance_km('PMI', 'MAD'))::int as km,
                farewatch.route_distance_km('PMI', 'X1') as unknown, farewatch.route_distance_km('PMI', 'PMI') as same`,
      ),
    ).toEqual([{ km: 546, unknown: null, same: 0 }])
  })
})

describe('farewatch.sync_runs', () => {
  it('a baseline added nothing, so the sums over the runs are those of the changes', async ({
    db,
  }) => {
    await sync(db, routes('PMI-MAD', 'PMI-BCN'))
    await sync(db, routes('PMI-MAD'), { list: 'with-availability' })
    await sync(db, routes('PMI-MAD', 'PMI-BCN', 'PMI-LIS'))
    await sync(db, routes('PMI-MAD', 'PMI-LIS'), { list: 'with-availability' })

    expect(
      await select(
        db,
        'select list, baseline, live, added, gained from farewatch.sync_runs order by sync_run_id',
      ),
    ).toEqual([
      { list: 'routes', baseline: true, live: 2, added: null, gained: null },
      { list: 'with-availability', baseline: true, live: 1, added: null, gained: null },
      { list: 'routes', baseline: false, live: 3, added: 1, gained: 0 },
      { list: 'with-availability', baseline: false, live: 2, added: 0, gained: 1 },
    ])
    expect(
      await select(
        db,
        `select sum(added)::int as added, sum(gained)::int as gained from farewatch.sync_runs
         union all
         select sum(added)::int, sum(gained)::int from farewatch.daily_route_churn`,
      ),
    ).toEqual([
      { added: 1, gained: 1 },
      { added: 1, gained: 1 },
    ])
  })
})
