import { describe, expect } from 'vitest'
import { createRandom } from '../../bench/schedule/random.ts'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { selectOne } from '../../src/platform/db/transaction.ts'
import { openWithSetClock } from '../support/set-clock.ts'
import { it } from '../support/test-database.ts'
import { addChoosers, changesOfCodes, chosenOf, readChosen } from './chosen-routes.ts'
import {
  type DailyLists,
  type Expected,
  expectedOf,
  generateDailyLists,
  type Interval,
  readDailyLists,
} from './daily-lists.ts'
import { prove } from './prove-fixtures.ts'
import { syncBody } from './sync-fixtures.ts'

/** A folder with real daily lists; without it the test generates some. */
const FOLDER = process.env.LISTS_FOLDER

const arrivalOf = (date: string) => new Date(`${date}T12:00Z`)

/** Syncs every list at noon of its day. Returns what became of the runs, with their numbers. */
async function syncDaily(
  { db, setClock }: { db: Db; setClock: (at: Date) => Promise<void> },
  { lists, placeOf }: DailyLists,
): Promise<Record<string, number>> {
  const outcomes: Record<string, number> = {}
  const shown = new Map<string, string>()
  const textOf = (id: string) => {
    const known = shown.get(id) ?? JSON.stringify(placeOf(id))
    shown.set(id, known)
    return known
  }
  for (const { date, pairs } of lists()) {
    await setClock(arrivalOf(date))
    const routes = [...pairs].map((pair) => {
      const [from = '', to = ''] = pair.split('-')
      return `{"departure":${textOf(from)},"destination":${textOf(to)}}`
    })
    const { status, reason } = await syncBody(db, `[${routes.join()}]`)
    const outcome = reason === null ? 'accepted' : `${date} ${status}: ${reason.text}`
    outcomes[outcome] = (outcomes[outcome] ?? 0) + 1
  }
  return outcomes
}

async function readHistory(db: Db, view: string): Promise<Map<string, Interval[]>> {
  const { rows } = await sql<Interval & { pair: string }>`
    select departure_id || '-' || destination_id as pair, to_char(valid_from at time zone 'UTC', 'YYYY-MM-DD') as from,
           to_char(valid_to at time zone 'UTC', 'YYYY-MM-DD') as to
      from ${sql.table(view)}
     order by departure_id, destination_id, valid_from
  `.execute(db)
  const found = new Map<string, Interval[]>()
  for (const { pair, from, to } of rows) {
    const intervals = found.get(pair) ?? []
    intervals.push({ from, to })
    found.set(pair, intervals)
  }
  return found
}

/** Additions and removals that follow from no renumbering, by month and country of departure. */
async function readChurn(db: Db): Promise<Expected['churn']> {
  const { rows } = await sql<{ key: string; added: number; removed: number }>`
    select to_char(valid_at at time zone 'UTC', 'YYYY-MM') || ' ' || departure_country as key,
           count(*) filter (where kind = 'route_added') as added, count(*) filter (where kind = 'route_removed') as removed
      from farewatch.route_changes
     where kind in ('route_added', 'route_removed') and not renumbered
     group by 1
  `.execute(db)
  return new Map(rows.map(({ key, ...counts }) => [key, counts]))
}

/** Live routes at the end of each month, by durable keys. */
async function readLive(db: Db, months: Iterable<string>): Promise<Expected['live']> {
  const found = new Map<string, number>()
  for (const month of months) {
    const { live } = await selectOne(
      sql<{ live: number }>`
        select count(distinct (d.durable_id, a.durable_id)) as live
          from farewatch.routes_as_of(${`${month}-01`}::timestamptz + interval '1 month' - interval '1 second') r
          join farewatch.places d on d.place_id = r.departure_id
          join farewatch.places a on a.place_id = r.destination_id
      `,
      db,
    )
    found.set(month, live)
  }
  return found
}

describe('lists of every day', () => {
  it('give the history, the churn, the network of each month and the feeds of resellers that follow from the lists alone', {
    timeout: 7_200_000,
  }, async ({ databaseUrl }) => {
    const daily = FOLDER === undefined ? generateDailyLists(7) : readDailyLists(FOLDER)
    const network = expectedOf(daily, (pair) => {
      return FOLDER === undefined ? pair.replaceAll('103', '3') : pair
    })
    const byId = expectedOf(daily)
    const clock = await openWithSetClock(databaseUrl, arrivalOf(network.days[0] ?? ''))
    const { db } = clock
    const choosers = await addChoosers(db, 100, daily, createRandom(7))

    expect(await syncDaily(clock, daily)).toEqual({ accepted: network.days.length })

    expect(network.live.size).toBeGreaterThan(2)
    expect(await readHistory(db, 'farewatch.route_history')).toEqual(byId.history)
    expect(await readHistory(db, 'farewatch.durable_route_history')).toEqual(network.history)
    expect(await readChurn(db)).toEqual(network.churn)
    expect(await readLive(db, network.live.keys())).toEqual(network.live)
    const changes = changesOfCodes(byId.history, { firstDay: byId.days[0] ?? '', ...daily })
    const feeds = await readChosen(db)
    for (const [id, chosen] of choosers)
      expect(feeds.get(id) ?? []).toEqual(chosenOf(changes, chosen))
    expect(feeds.size).toBeGreaterThan(50)
    if (FOLDER === undefined) {
      expect([...network.history.values()].flat().length).toBeLessThan(
        [...byId.history.values()].flat().length,
      )
      expect(await prove(db)).toMatchObject({ all: [] })
    }
  })
})
