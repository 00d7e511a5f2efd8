import { describe, expect } from 'vitest'
import { type Db, sql } from '../../src/platform/db/database.ts'
import type { Route } from '../../src/upstream/route-list.ts'
import { it } from '../support/test-database.ts'
import { hoursPass, review } from './held-fixtures.ts'
import { livePairs, manyRoutes, type SyncArgs, sync } from './sync-fixtures.ts'

/** A hub with 1,975 routes and five places with five each: 2,000 in all. */
const SMALL = ['V', 'W', 'X', 'Y', 'Z'].flatMap((hub) => manyRoutes(5, hub))
const ALL = [...manyRoutes(1_975), ...SMALL]

/** The list without these many of the hub's routes. */
const without = (count: number) => ALL.slice(count)

/** A month in which the list was accepted every day without a change. */
async function month(db: Db, args: SyncArgs = {}): Promise<void> {
  const { runId } = await sync(db, ALL, args)
  await sql`
    insert into sync_run (list, status, started_at, arrived_at, fetched_at, finished_at, content_hash, live,
                          added, removed, gained, lost)
    select list, 'unchanged', at, at, at, at, content_hash, live, 0, 0, 0, 0
      from sync_run, generate_series(fetched_at - interval '30 days', fetched_at - interval '1 day', interval '1 day') at
     where id = ${runId}
  `.execute(db)
  await hoursPass(db, 24)
}

describe('a list that lacks 2 % of the routes', () => {
  it('is applied to a young history, and held once a quiet month is known', async ({ db }) => {
    await sync(db, ALL)
    expect(await sync(db, without(40))).toMatchObject({ status: 'applied', pendingAbsences: 40 })
    await sync(db, ALL)
    await month(db)

    const held = await sync(db, without(40))

    expect(held).toMatchObject({ status: 'held', removed: 0, reason: { code: 'mass_absence' } })
    expect(held.reason?.text).toBe('40 of 2,000 routes are missing at once (2.0 %, limit 1.5 %)')
    expect((await review(db, held.runId)).plan).toMatchObject({
      missing: 40,
      examples: { countries: [{ country: 'Spain', missing: 40, live: 2_000 }] },
    })
  })

  it('is held if two lists of one day lack 1 % each, and applied a day later', async ({ db }) => {
    await month(db)
    expect(await sync(db, without(20))).toMatchObject({ status: 'applied' })
    await hoursPass(db, 6)

    const held = await sync(db, without(40))
    await hoursPass(db, 19)

    expect(held).toMatchObject({ status: 'held', reason: { code: 'mass_absence' } })
    expect(held.reason?.text).toContain('40 of 2,000 routes are missing within 24 hours')
    expect(await sync(db, without(40))).toMatchObject({ status: 'applied', removed: 20 })
  })
})

describe('a list with availability', () => {
  it('is held by its own history of losses', async ({ db }) => {
    await sync(db, ALL)
    await month(db, { list: 'with-availability' })

    const held = await sync(db, without(40), { list: 'with-availability' })

    expect(held).toMatchObject({ status: 'held', lost: 0, reason: { code: 'mass_absence' } })
  })
})

describe('a list that lacks all routes of five departures', () => {
  it('is held, however few they are and however young the history is', async ({ db }) => {
    await sync(db, ALL)

    const held = await sync(db, ALL.slice(0, -25))

    expect(held).toMatchObject({ status: 'held', reason: { code: 'departures_emptied' } })
    expect(held.reason?.text).toBe('5 departures of 5 or more routes have none in the list')
  })
})

/** The ids of both places in another form. */
const padded = ({ departure, destination }: Route): Route => ({
  departure: { ...departure, id: `0${departure.id}` },
  destination: { ...destination, id: `0${destination.id}` },
})

describe('ids', () => {
  it('of known places that have a leading zero in some rows hold the list', async ({ db }) => {
    await sync(db, ALL)
    const list = [...ALL.slice(0, 20).map(padded), ...ALL.slice(20)]

    const held = await sync(db, list)

    expect(held).toMatchObject({ status: 'held', added: 0, reason: { code: 'places_renumbered' } })
    expect(held.reason?.text).toBe('21 known places have a new id')
    expect(await livePairs(db)).toHaveLength(2_000)
  })
})
