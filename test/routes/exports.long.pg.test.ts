import { once } from 'node:events'
import { Readable } from 'node:stream'
import { parse } from 'csv-parse/sync'
import { describe, expect } from 'vitest'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { exportRoutes, type RouteExport } from '../../src/routes/read/export-routes.ts'
import { countQueries, it } from '../support/test-database.ts'
import { routes, sync } from './sync-fixtures.ts'

type Line = Record<string, string>

/** Live routes from one hub, written without the cost of a sync. */
async function seed(db: Db, count: number, hub = 'HUB'): Promise<void> {
  await sql`
    with run as (
      insert into sync_run (list, status, started_at, arrived_at, fetched_at, finished_at)
      select 'routes', 'applied', at, at, at, at from (select date_trunc('milliseconds', clock_timestamp()) as at) t
      returning id, fetched_at
    ), places as (
      insert into place_version (place_id, iata, city, country, valid_from)
      select p.id, p.id, 'City ' || p.id, 'Spain', fetched_at
        from run, (select ${hub}::text as id union all select ${hub} || 'D' || n from generate_series(0, ${count}::int - 1) n) p
    )
    insert into route_version (departure_id, destination_id, valid_from, added_by)
    select ${hub}, ${hub} || 'D' || n, fetched_at, run.id from run, generate_series(0, ${count}::int - 1) n
  `.execute(db)
  await sql`analyze route_version, place_version`.execute(db)
}

/** More than two pages. */
const MANY = 12_000

async function textOf(db: Db, args: RouteExport): Promise<string> {
  let text = ''
  for await (const part of exportRoutes(db, args)) text += part
  return text
}

async function csvRows(db: Db, args: Omit<RouteExport, 'format'> = {}): Promise<Line[]> {
  return parse<Line>(await textOf(db, { ...args, format: 'csv' }), { columns: true })
}

function pairsOf(rows: readonly Line[]): string[] {
  return rows.map((row) => `${row.departure_id}-${row.destination_id}`)
}

describe('exports', () => {
  it('every format has the rows of routes_as_of, in the order of the ids', async ({ db }) => {
    await seed(db, MANY)
    await seed(db, 30, 'A')
    await sync(db, routes('HUB-HUBD1', 'A-AD2'), { list: 'with-availability' })

    const csv = await csvRows(db)
    const json = JSON.parse(await textOf(db, { format: 'json' })) as Record<string, unknown>[]

    const { rows } = await sql<Record<string, unknown>>`
      select departure_id, departure_iata, departure_city, departure_country,
             destination_id, destination_iata, destination_city, destination_country, valid_from as since, available
        from farewatch.routes_as_of('infinity') order by departure_id, destination_id
    `.execute(db)
    expect(rows).toHaveLength(MANY + 30)
    expect(json).toEqual(JSON.parse(JSON.stringify(rows)))
    expect(Object.keys(csv[0] ?? {})).toEqual(Object.keys(rows[0] ?? {}))
    expect(pairsOf(csv)).toEqual(rows.map((row) => `${row.departure_id}-${row.destination_id}`))
  })

  it.for([
    { of: 'of now', asOf: undefined },
    { of: 'of a future day', asOf: new Date('2100-01-01') },
  ])(
    'an export $of shows one instant on all its pages while another list is applied',
    async ({ asOf }, { db }) => {
      await seed(db, MANY)
      const texts = exportRoutes(db, { format: 'csv', asOf })
      let text = (await texts.next()).value + (await texts.next()).value
      await seed(db, 20, 'Z')

      for await (const more of texts) text += more

      expect(parse<Line>(text, { columns: true })).toHaveLength(MANY)
    },
  )

  it('an export reads nothing ahead, and holds no connection once its reader stops', async ({
    database,
  }) => {
    await seed(database.db, MANY)
    const queries = countQueries(database)
    const texts = exportRoutes(database.db, { format: 'json' })

    await texts.next()
    expect(queries()).toBe(2)
    expect(database.pool.idleCount).toBe(database.pool.totalCount)
    await texts.return(undefined)

    const stream = Readable.from(exportRoutes(database.db, { format: 'json' }))
    await once(stream, 'readable')
    stream.destroy()
    await once(stream, 'close')
    expect(queries()).toBeLessThanOrEqual(6)
    expect(database.pool.idleCount).toBe(database.pool.totalCount)
  })
})
