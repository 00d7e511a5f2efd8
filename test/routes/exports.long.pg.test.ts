import { once } from 'node:events'
import net from 'node:net'
import { Readable } from 'node:stream'
import { parse } from 'csv-parse/sync'
import { describe, expect } from 'vitest'
import { type Database, type Db, sql } from '../../src/platform/db/database.ts'
import { type ListForm, routesText } from '../../src/routes/read/export-routes.ts'
import type { RouteFilter } from '../../src/routes/read/route-queries.ts'
import { newKeyText, startApi } from '../support/api-server.ts'
import { startFarewatch } from '../support/child-process.ts'
import { countQueries, it } from '../support/test-database.ts'
import { until } from '../support/until.ts'
import { routes, sync } from './sync-fixtures.ts'

type Line = Record<string, string>
type Pair = { readonly [End in 'departure' | 'destination']: { readonly id: string } }

/** Live routes from one hub, written without the cost of a sync. */
async function seed(db: Db, count: number, hub = 'HUB'): Promise<void> {
  await sql`
    with run as (
      insert into sync_run (list, status, started_at, arrived_at, fetched_at, finished_at, added)
      select 'routes', 'applied', at, at, at, at, ${count}::int from (select date_trunc('milliseconds', clock_timestamp()) as at) t
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

async function textOf(db: Db, form: ListForm, filter: RouteFilter = {}): Promise<string> {
  let text = ''
  for await (const part of routesText(db, form, filter)) text += part
  return text
}

async function csvRows(db: Db, filter: RouteFilter = {}): Promise<Line[]> {
  return parse<Line>(await textOf(db, 'csv', filter), { columns: true })
}

function pairsOf(rows: readonly Line[]): string[] {
  return rows.map((row) => `${row.departure_id}-${row.destination_id}`)
}

async function listenTo({ db }: Database): Promise<{ url: string; port: number; key: string }> {
  const url = await startApi(db)
  return { url, port: Number(new URL(url).port), key: await newKeyText(db) }
}

describe('exports', () => {
  it('every format has the rows of routes_as_of, in the order of the ids', async ({ db }) => {
    await seed(db, MANY)
    await seed(db, 30, 'A')
    await sync(db, routes('HUB-HUBD1', 'A-AD2'), { list: 'with-availability' })

    const csv = await csvRows(db)
    const json = JSON.parse(await textOf(db, 'routes')) as Pair[]

    const { rows } = await sql<Record<string, unknown>>`
      select departure_id, departure_iata, departure_city, departure_country,
             destination_id, destination_iata, destination_city, destination_country, valid_from as since, available
        from farewatch.routes_as_of('infinity') order by departure_id, destination_id
    `.execute(db)
    const pairs = rows.map((row) => `${row.departure_id}-${row.destination_id}`)
    expect(rows).toHaveLength(MANY + 30)
    expect(json.map((one) => `${one.departure.id}-${one.destination.id}`)).toEqual(pairs)
    expect(Object.keys(csv[0] ?? {})).toEqual(Object.keys(rows[0] ?? {}))
    expect(pairsOf(csv)).toEqual(pairs)
  })

  it('an export of available routes alone skips all others, however few are available', async ({
    db,
  }) => {
    await seed(db, MANY)
    await sync(db, routes('HUB-HUBD7', 'HUB-HUBD11000'), { list: 'with-availability' })

    const rows = await csvRows(db, { onlyAvailable: true })

    expect(pairsOf(rows)).toEqual(['HUB-HUBD11000', 'HUB-HUBD7'])
    expect(rows.map((row) => row.available)).toEqual(['true', 'true'])
  })

  it.for([
    { of: 'of now', asOf: undefined },
    { of: 'of a future day', asOf: new Date('2100-01-01') },
  ])(
    'an export $of shows one instant on all its pages while another list is applied',
    async ({ asOf }, { db }) => {
      await seed(db, MANY)
      const texts = routesText(db, 'csv', { asOf })
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
    const texts = routesText(database.db, 'routes')

    await texts.next()
    expect(queries()).toBe(2)
    expect(database.pool.idleCount).toBe(database.pool.totalCount)
    await texts.return(undefined)

    const stream = Readable.from(routesText(database.db, 'routes'))
    await once(stream, 'readable')
    stream.destroy()
    await once(stream, 'close')
    expect(queries()).toBeLessThanOrEqual(6)
    expect(database.pool.idleCount).toBe(database.pool.totalCount)
  })
})

describe('the CSV endpoint', () => {
  it('the endpoint frees its connection when the client is killed halfway', async ({
    database,
  }) => {
    const { port, key } = await listenTo(database)
    await seed(database.db, 3 * MANY)
    const queries = countQueries(database)
    const client = net.connect(port, '127.0.0.1')
    client.write(
      `GET /api/v1/data/routes/csv?departure=HUB&accessToken=${key} HTTP/1.1\r\nhost: localhost\r\n\r\n`,
    )
    await once(client, 'data')
    client.pause()

    client.resetAndDestroy()

    const { pool } = database
    await until('an idle pool', () => queries() >= 2 && pool.idleCount === pool.totalCount)
    expect(pool.waitingCount).toBe(0)
  })
})

describe('farewatch routes export', () => {
  it('the command exits with 0 when its reader stops', async ({ db }) => {
    await seed(db, 5 * MANY)
    const command = startFarewatch(['routes', 'export'], {
      FAREWATCH_URL: await startApi(db),
      FAREWATCH_KEY: await newKeyText(db),
    })
    const { stdout } = command.child
    if (stdout === null) throw new Error('the command has no output')
    await once(stdout, 'data')

    stdout.destroy()

    expect(await command.ended).toBe(0)
    expect(command.stderr()).toBe('')
  })
})
