import { describe, expect } from 'vitest'
import { reopenDays, rollUpDay, rollUpDays } from '../../src/history/roll-up-days.ts'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { inTransaction } from '../../src/platform/db/transaction.ts'
import { seedAnalytics } from '../routes/analytics-history.ts'
import { it } from '../support/test-database.ts'

async function select(db: Db, statement: string): Promise<unknown[]> {
  const { rows } = await sql<object>`${sql.raw(statement)}`.execute(db)
  return rows
}

/** The statement that each daily table stands for, on the last instant of a day. */
function statementsOf(day: string): Readonly<Record<string, string>> {
  const end = `timestamptz '${day}T23:59:59.999999Z'`
  const holds = (table: string) =>
    `${table}.valid_from <= ${end} and (${table}.valid_to is null or ${table}.valid_to > ${end})`
  const network = `
    farewatch.route_history r
      join farewatch.place_history d on d.place_id = r.departure_id and ${holds('d')}
      join farewatch.place_history a on a.place_id = r.destination_id and ${holds('a')}
      left join farewatch.route_availability_history v
             on v.departure_id = r.departure_id and v.destination_id = r.destination_id and ${holds('v')}`
  const changes = (kind: string) => `
    (select count(*)::int from farewatch.route_changes c
       join farewatch.place_history p on p.place_id = c.departure_id and tstzrange(p.valid_from, p.valid_to) @> c.valid_at
      where c.kind = '${kind}' and (c.valid_at at time zone 'UTC')::date = '${day}' and p.country = k.country)`
  return {
    daily_network: `
      select k.country as departure_country, k.live, k.available_routes, k.known, ${changes('route_added')} as added, ${changes('route_removed')} as removed
        from (select d.country, count(*)::int as live, count(*) filter (where v.available)::int as available_routes,
                     count(v.available)::int as known
                from ${network} where ${holds('r')} group by 1) k`,
    daily_country_pairs: `
      select d.country as departure_country, a.country as destination_country, count(*)::int as live,
             count(*) filter (where v.available)::int as available_routes
        from ${network} where ${holds('r')} group by 1, 2`,
    daily_place_degree: `
      select place_id, sum(one)::int as destinations, sum(other)::int as origins
        from (select departure_id as place_id, 1 as one, 0 as other from farewatch.route_history r where ${holds('r')}
              union all
              select destination_id, 0, 1 from farewatch.route_history r where ${holds('r')}) e group by 1`,
  }
}

async function rollUp(db: Db, day: string): Promise<void> {
  await inTransaction(db, (tx) => rollUpDay(tx, day))
}

describe('the daily tables', () => {
  it('each row is what its query returns for the end of the day', async ({ db }) => {
    await seedAnalytics(db)

    for (const day of ['2023-01-01', '2025-02-20', '2025-06-10', '2025-11-03', '2026-04-20']) {
      await rollUp(db, day)
      // Twice: the rows are replaced.
      await rollUp(db, day)
      for (const [table, statement] of Object.entries(statementsOf(day))) {
        const rows = await select(db, `select * from farewatch.${table} where day = '${day}'`)
        const kept = rows.map((row) => {
          const { day: _, written_in: __, ...rest } = row as Record<string, unknown>
          return rest
        })
        expect(kept.length).toBeGreaterThan(0)
        expect(new Set(kept.map((row) => JSON.stringify(row))), `${table} ${day}`).toEqual(
          new Set((await select(db, statement)).map((row) => JSON.stringify(row))),
        )
      }
    }
    expect(
      await select(
        db,
        `select added, removed from farewatch.daily_network where day = '2025-06-10' order by departure_country`,
      ),
    ).toEqual([
      { added: 0, removed: 0 },
      { added: 1, removed: 1 },
    ])
  })

  // Fault: A list is applied after its day was summed up.
  it('every complete day is computed once, and again when a list is applied later that belongs to it', async ({
    db,
  }) => {
    // Four complete days, however late it is: the last of them ended ten minutes ago or more.
    await sql`
      insert into sync_run (list, status, started_at, fetched_at, finished_at)
      select 'routes', 'applied', at, at, at
        from (select date_trunc('day', clock_timestamp() - interval '10 minutes') - interval '4 days' as at) r
    `.execute(db)
    await sql`
      insert into place_version (place_id, iata, city, country, valid_from)
      select p, p, p, 'Spain', fetched_at from sync_run, unnest(array['a', 'b']) p
    `.execute(db)

    expect(await rollUpDays(db)).toBe(4)
    expect(await rollUpDays(db)).toBe(0)
    expect(await select(db, 'select * from farewatch.daily_network')).toEqual([])

    await sql`
      with run as (
        insert into sync_run (list, status, started_at, fetched_at, finished_at)
        select 'routes', 'applied', at, at, clock_timestamp() from (select fetched_at + interval '49 hours' as at from sync_run) r
        returning id, fetched_at)
      insert into route_version (departure_id, destination_id, valid_from, added_by) select 'a', 'b', fetched_at, id from run
    `.execute(db)

    expect(await rollUpDays(db)).toBe(2)
    expect(
      await select(
        db,
        `select (select min(valid_at) at time zone 'UTC' from farewatch.sync_runs)::date - day as days, live
           from farewatch.daily_network order by day`,
      ),
    ).toEqual([
      { days: -2, live: 1 },
      { days: -3, live: 1 },
    ])
    expect(await rollUpDays(db, { signal: AbortSignal.abort() })).toBe(0)
    await reopenDays(db, '1970-01-01')
    expect(await rollUpDays(db, { signal: AbortSignal.abort() })).toBe(0)
    expect(await rollUpDays(db)).toBe(4)
  })
})
