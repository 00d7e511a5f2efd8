import { describe, expect } from 'vitest'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { migrate } from '../../src/platform/db/migrate.ts'
import type { Route } from '../../src/upstream/route-list.ts'
import { createEmptyDatabase, openAnother } from '../platform/db/empty-database.ts'
import { it } from '../support/test-database.ts'
import { prove } from './prove-fixtures.ts'
import { place, sync } from './sync-fixtures.ts'

/** '1:PMI-2:MAD' is the route from the place 1 with the code PMI to the place 2 with the code MAD. */
function list(...pairs: string[]): Route[] {
  return pairs.map((pair) => {
    const [departure, destination] = pair.split('-').map((end) => {
      const [id = '', iata = '', country = 'Spain'] = end.split(':')
      return place(id, { iata, country, city: iata })
    })
    if (departure === undefined || destination === undefined) throw new Error(pair)
    return { departure, destination }
  })
}

async function syncAll(db: Db, ...lists: Route[][]): Promise<void> {
  for (const each of lists) await sync(db, each)
}

/** Renumberings as '1 > 9: 3 of 4', in order. */
async function renumberings(db: Db): Promise<string[]> {
  const { rows } = await sql<{ text: string }>`
    select previous_id || ' > ' || place_id || ': ' || routes_taken_over || ' of ' || routes as text
      from farewatch.place_renumberings order by sync_run_id, previous_id
  `.execute(db)
  return rows.map(({ text }) => text)
}

/** The additions and removals that are marked, and those that are not, as '+1-2' and '-1-2'. */
async function churn(db: Db): Promise<{ marked: string[]; unmarked: string[] }> {
  const { rows } = await sql<{ change: string; renumbered: boolean }>`
    select case kind when 'route_added' then '+' else '-' end || departure_id || '-' || destination_id as change,
           renumbered
      from farewatch.route_changes
     where kind in ('route_added', 'route_removed')
     order by seq
  `.execute(db)
  const of = (mark: boolean) =>
    rows.filter(({ renumbered }) => renumbered === mark).map(({ change }) => change)
  return { marked: of(true), unmarked: of(false) }
}

/** The intervals of routes by durable keys: '1-2', followed by 'x' where it has ended and by the number of its parts. */
async function durable(db: Db): Promise<string[]> {
  const { rows } = await sql<{ text: string }>`
    select departure_id || '-' || destination_id || case when is_current then '' else ' x' end || ' ' || intervals as text
      from farewatch.durable_route_history
     order by departure_id, destination_id, valid_from
  `.execute(db)
  return rows.map(({ text }) => text)
}

/** The places of airport codes, as 'PMI 9'. */
async function codes(db: Db): Promise<string[]> {
  const { rows } = await sql<{ text: string }>`
    select concat_ws(' ', iata, place_id) as text from place_code where iata in ('PMI', 'MAD') order by iata
  `.execute(db)
  return rows.map(({ text }) => text)
}

const OLD = list('1:PMI-2:MAD', '1:PMI-3:BCN', '1:PMI-4:LIS', '2:MAD-1:PMI', '3:BCN-4:LIS')
/** PMI and MAD have other ids, MAD without a country, PMI-LIS is not flown any more, and PMI-NCE is new. */
const OTHER_IDS = list('9:PMI-8:MAD:', '9:PMI-3:BCN', '8:MAD:-9:PMI', '9:PMI-5:NCE', '3:BCN-4:LIS')

describe('places under other ids', () => {
  it('are recognised in one list at both ends of a route, and what follows from them is marked', async ({
    db,
  }) => {
    await syncAll(db, OLD, OTHER_IDS)

    expect(await renumberings(db)).toEqual(['1 > 9: 3 of 4', '2 > 8: 2 of 2'])
    expect(await durable(db)).toEqual(['1-2 2', '1-3 2', '1-4 1', '1-5 1', '2-1 2', '3-4 1'])
    expect(await codes(db)).toEqual(['MAD 8', 'PMI 9'])

    await syncAll(db, OTHER_IDS)

    expect(await renumberings(db)).toEqual(['1 > 9: 3 of 4', '2 > 8: 2 of 2'])
    expect(await churn(db)).toEqual({
      marked: ['+8-9', '+9-3', '+9-8', '-1-2', '-1-3', '-2-1'],
      unmarked: ['+9-5', '-1-4'],
    })
    expect(await durable(db)).toEqual(['1-2 2', '1-3 2', '1-4 x 1', '1-5 1', '2-1 2', '3-4 1'])
    const { rows } = await sql`
      select places_renumbered, added - added_renumbered as added, removed - removed_renumbered as removed
        from farewatch.daily_route_churn
    `.execute(db)
    expect(rows).toEqual([{ places_renumbered: 2, added: 1, removed: 1 }])
    expect(await codes(db)).toEqual(['MAD 8', 'PMI 9'])
    expect(await prove(db)).toMatchObject({ all: [] })
  })

  it.for([
    ['another country', list('9:PMI:France-2:MAD', '2:MAD-9:PMI:France', '3:BCN-4:LIS')],
    ['another code', list('9:PMX-2:MAD', '2:MAD-9:PMX', '9:PMX-3:BCN', '3:BCN-4:LIS')],
    ['half of the routes', list('9:PMI-2:MAD', '2:MAD-9:PMI', '3:BCN-4:LIS')],
    [
      'a route of the old id in the list',
      list('9:PMI-2:MAD', '9:PMI-3:BCN', '2:MAD-9:PMI', '1:PMI-4:LIS', '3:BCN-4:LIS'),
    ],
  ] as const)('are other places with %s', async ([, other], { db }) => {
    await syncAll(db, OLD, other, other)

    expect(await renumberings(db)).toEqual([])
    expect(await churn(db)).toMatchObject({ marked: [] })
    expect(await prove(db)).toMatchObject({ all: [] })
  })
})

it('records of renumberings become changes that change nothing', async () => {
  const { db } = openAnother(await createEmptyDatabase())
  await migrate(db, { last: '0035_turns' })
  await sql`
    with run as (
      insert into sync_run (list, status, started_at, finished_at) values ('routes', 'applied', now(), now()) returning id)
    insert into route_change (seq, kind, place_id, before, after, first_missed_at, sync_run_id)
    select 1, 'place_renumbered', '9', '{"id": "1", "iata": "PMI"}', '{"id": "9", "iata": "PMI"}', now(), id
      from run
  `.execute(db)

  await migrate(db)

  const { rows } = await sql`
    select place_id, attributes_before as before, attributes as after from farewatch.route_changes where kind = 'place_changed'
  `.execute(db)
  expect(rows).toEqual([{ place_id: '9', before: { iata: 'PMI' }, after: { iata: 'PMI' } }])
})
