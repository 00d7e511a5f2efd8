import { describe, expect } from 'vitest'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { inTransaction } from '../../src/platform/db/transaction.ts'
import { createReseller } from '../../src/resellers/resellers.ts'
import {
  deleteWatches,
  disableReseller,
  pauseWatches,
  resumeWatches,
} from '../../src/watches/change-watches.ts'
import { syncTrackedFares } from '../../src/watches/sync-tracked-fares.ts'
import { untilWaiting } from '../platform/db/sessions.ts'
import { countHints } from '../support/hints.ts'
import { it } from '../support/test-database.ts'
import { until } from '../support/until.ts'
import {
  type Cells,
  cells,
  fareRows,
  importRows,
  manyCells,
  newReseller,
  resellerWith,
} from './watch-fixtures.ts'

/** Writes what a check writes: a state, and a schedule without a lane. */
async function fakeCheck(db: Db, departsAt: string | null = null): Promise<void> {
  await sql`
    insert into fare_state (tracked_fare_id, state, departs_at) select id, '{}', ${departsAt}::timestamptz from tracked_fare
        on conflict (tracked_fare_id) do update set state = excluded.state, departs_at = excluded.departs_at
  `.execute(db)
  await sql`update fare_schedule set lane = null, lane_due_at = null`.execute(db)
}

/** Writes what the expiry of all fares writes. */
async function fakeExpiry(db: Db): Promise<void> {
  const { rows } = await sql<{ id: number }>`
    update fare_state set expired_at = clock_timestamp() returning tracked_fare_id as id
  `.execute(db)
  await sql`update watch set ended_at = clock_timestamp()`.execute(db)
  await inTransaction(db, (tx) =>
    syncTrackedFares(
      tx,
      rows.map(({ id }) => id),
    ),
  )
}

const lanes = async (db: Db) => (await fareRows(db)).map((fare) => fare.lane)

describe('syncTrackedFares', () => {
  it('a new watch notifies the workers that fares may be due', async ({ db, databaseUrl }) => {
    const hints = await countHints(databaseUrl, 'due')

    await resellerWith(db, [cells({ reference: 'A', flight_id: '1' })])

    await until('the hint', () => hints() === 1)
  })

  it('equal questions share one tracked fare, in any list, by any reseller, in any order and spelling', async ({
    db,
  }) => {
    const one = await newReseller(db, 'one')
    const two = await newReseller(db, 'two')
    await importRows(db, one, [
      cells({ reference: 'A', non_residents_adults: '5' }),
      cells({ reference: 'B', non_residents_adults: '05', flight_id: ' 101 ' }),
      cells({ list: 'winter', reference: 'A', non_residents_adults: '5', residents_infants: '0' }),
    ])

    const outcome = await importRows(db, two, [
      cells({
        reference: 'Z',
        non_residents_adults: ' 5',
        residents_children: '',
        return_flight_id: ' ',
      }),
    ])

    expect(outcome).toMatchObject({ added: 1, trackedFaresAdded: 0 })
    expect(await fareRows(db)).toMatchObject([{ flightId: '101', watchers: 4 }])
  })

  it.for<[string, Cells]>([
    ['the flight', { flight_id: '102' }],
    ['the return flight', { return_flight_id: '102' }],
    ['residence', { residents_adults: '1', non_residents_adults: '0' }],
    ['one child', { residents_children: '1' }],
    ['one infant', { non_residents_infants: '1' }],
    ['the letters of the flight id', { flight_id: '１０１' }],
  ])('two questions that differ in %s have two tracked fares', async ([, other], { db }) => {
    await resellerWith(db, [cells(), cells({ reference: 'B', ...other })])

    expect(await fareRows(db)).toHaveLength(2)
  })

  it('fares get an early check with their first active watch, and stand anywhere in the first interval of the queue', async ({
    db,
  }) => {
    const resellerId = await newReseller(db)
    await sql`insert into reseller_queue (reseller_id, v) values (${resellerId}, 12.5)`.execute(db)

    await importRows(db, resellerId, manyCells(64))

    const fares = await fareRows(db)
    const early = { watchers: 1, ended: false, active: true, lane: 'first_check' }
    expect(fares).toMatchObject(Array.from({ length: 64 }, () => early))
    // The score of a new watch is √(2 · 1.1 · 1).
    const interval = 1 / Math.sqrt(2.2)
    const places = fares.map(({ vdues: [vdue = 0] }) => (vdue - 12.5) / interval)
    expect(Math.min(...places)).toBeGreaterThanOrEqual(0)
    expect(Math.max(...places)).toBeLessThan(1)
    // In 10¹⁸ worlds one would have them all in one half.
    expect(Math.min(...places)).toBeLessThan(0.5)
    expect(Math.max(...places)).toBeGreaterThan(0.5)
    const { rows } = await sql`select fares, scores from reseller_queue`.execute(db)
    expect(rows).toEqual([{ fares: 64, scores: expect.closeTo(64 * Math.sqrt(2.2)) }])
  })

  it('a fare gets an early check for every watch that begins, and keeps its turn', async ({
    db,
  }) => {
    const resellerId = await resellerWith(db, [cells()])
    await fakeCheck(db)
    // An interval that becomes shorter would bring a turn that lies later forward.
    await sql`update turn set vdue = 0`.execute(db)
    const vdues = [0]
    await sql`update watch set started_at = now()`.execute(db)

    await importRows(db, resellerId, [cells({ min_interval_seconds: '900' })])
    expect(await fareRows(db)).toMatchObject([{ watchers: 1, lane: null, vdues }])

    await importRows(db, resellerId, [cells({ reference: 'B' })])
    expect(await fareRows(db)).toMatchObject([{ watchers: 2, lane: 'first_check', vdues }])
  })

  it('a fare that was asked since its last watch began has no early check when another watch of it changes', async ({
    db,
  }) => {
    await resellerWith(db, [cells()], 'one')
    const two = await resellerWith(db, [cells()], 'two')
    await fakeCheck(db)
    await sql`update fare_state set last_check_at = clock_timestamp()`.execute(db)

    await pauseWatches(db, { resellerId: two, list: 'summer' })
    expect(await lanes(db)).toEqual([null])
    await resumeWatches(db, { resellerId: two, list: 'summer' })

    expect(await lanes(db)).toEqual(['first_check'])
    const { rows } = await sql`select lane_reseller as payer from fare_schedule`.execute(db)
    expect(rows).toEqual([{ payer: two }])
  })

  it('longest delays leave no promise behind when the minimum interval of the workers changes meanwhile', async ({
    db,
  }) => {
    const sums = async () =>
      (await sql`select fares, promised from reseller_queue`.execute(db)).rows
    await sql`update schedule_facts set requests_per_second = 10, min_recheck_seconds = 10`.execute(
      db,
    )
    const resellerId = await resellerWith(db, [cells({ max_delay_seconds: '30' })])
    expect(await sums()).toEqual([{ fares: 1, promised: 1 / 30 }])

    await sql`update schedule_facts set min_recheck_seconds = 60`.execute(db)
    await pauseWatches(db, { resellerId, list: 'summer' })

    expect(await sums()).toEqual([{ fares: 0, promised: 0 }])
  })

  it('a fare is unscheduled with its last active watch, not with an earlier one', async ({
    db,
  }) => {
    const one = await resellerWith(db, [cells()], 'one')
    const two = await resellerWith(db, [cells(), cells({ reference: 'B' })], 'two')

    await pauseWatches(db, { resellerId: one, list: 'summer' })
    await deleteWatches(db, { resellerId: two, list: 'summer', references: ['A-1'] })
    const before = await fareRows(db)
    const outcome = await pauseWatches(db, { resellerId: two, list: 'summer' })

    expect(before).toMatchObject([{ watchers: 1, ended: false, lane: 'first_check' }])
    expect(outcome).toEqual({ watches: 1, trackedFaresAdded: 0, trackedFaresEnded: 1 })
    expect(await fareRows(db)).toMatchObject([
      { watchers: 0, ended: true, active: false, lane: null, vdues: [] },
    ])
  })

  it('a fare that is watched again is the same row, and joins the queue again', async ({ db }) => {
    const resellerId = await resellerWith(db, [cells()])
    await fakeCheck(db)
    const [before] = await fareRows(db)
    await pauseWatches(db, { resellerId, list: 'summer' })

    const outcome = await resumeWatches(db, { resellerId, list: 'summer' })

    expect(outcome).toEqual({ watches: 1, trackedFaresAdded: 1, trackedFaresEnded: 0 })
    expect(await fareRows(db)).toMatchObject([
      {
        id: before?.id,
        watchers: 1,
        ended: false,
        lane: 'first_check',
        vdues: [expect.any(Number)],
      },
    ])
  })

  it('a fare ends when its only reseller is disabled, and a fare of another reseller does not', async ({
    db,
  }) => {
    const one = await resellerWith(
      db,
      [cells(), cells({ reference: 'B', flight_id: '102' })],
      'one',
    )
    await resellerWith(db, [cells()], 'two')

    const outcome = await disableReseller(db, one)
    const again = await disableReseller(db, one)

    expect(outcome).toEqual({ trackedFaresAdded: 0, trackedFaresEnded: 1 })
    expect(again).toEqual({ trackedFaresAdded: 0, trackedFaresEnded: 0 })
    expect(await fareRows(db)).toMatchObject([
      { flightId: '101', watchers: 1, lane: 'first_check' },
      { flightId: '102', watchers: 0, ended: true, lane: null },
    ])
  })

  it('an expired fare is checked again when another watch begins', async ({ db }) => {
    const resellerId = await resellerWith(db, [cells()])
    await fakeCheck(db)
    await fakeExpiry(db)
    const expired = await fareRows(db)

    await importRows(db, resellerId, [cells({ reference: 'B' })])

    expect(expired).toMatchObject([{ watchers: 0, lane: null, ended: true }])
    expect(await fareRows(db)).toMatchObject([{ watchers: 1, lane: 'first_check', ended: false }])
  })

  it('an expired fare is checked again when a watch is resumed', async ({ db }) => {
    const resellerId = await resellerWith(db, [cells()])
    await fakeCheck(db)
    await fakeExpiry(db)
    await pauseWatches(db, { resellerId, list: 'summer' })

    await resumeWatches(db, { resellerId, list: 'summer' })

    expect(await lanes(db)).toEqual(['first_check'])
    const { rows } = await sql`select expired_at as at from fare_state`.execute(db)
    expect(rows).toEqual([{ at: null }])
  })

  it('an expired fare stays expired once it has departed', async ({ db }) => {
    const resellerId = await resellerWith(db, [cells()])
    await fakeCheck(db, '2020-01-01T10:00:00Z')
    await fakeExpiry(db)
    await pauseWatches(db, { resellerId, list: 'summer' })

    await resumeWatches(db, { resellerId, list: 'summer' })

    expect(await lanes(db)).toEqual([null])
  })

  it('watchers are counted after a concurrent change of other watches has ended', async ({
    db,
  }) => {
    const one = await resellerWith(db, [cells()], 'one')
    const two = await resellerWith(db, [cells()], 'two')
    for (const resellerId of [one, two]) await pauseWatches(db, { resellerId, list: 'summer' })
    const fareIds = (await fareRows(db)).map((fare) => fare.id)
    const tx = await db.startTransaction().execute()
    await sql`update watch set paused_at = null where reseller_id = ${one}`.execute(tx)
    await syncTrackedFares(tx, fareIds)

    const resuming = resumeWatches(db, { resellerId: two, list: 'summer' })
    await untilWaiting(db, 1)
    await tx.commit().execute()

    expect(await resuming).toMatchObject({ watches: 1, trackedFaresAdded: 0 })
    expect(await fareRows(db)).toMatchObject([{ watchers: 2, ended: false, lane: 'first_check' }])
  })

  it('watchers are counted correctly while resellers import, pause and delete the same questions', async ({
    db,
  }) => {
    const ids = await Promise.all(
      ['a', 'b', 'c', 'd'].map(async (name) => (await createReseller(db, name)).id),
    )
    const rows = manyCells(200)
    const mixed = ids.map((_, i) => (i % 2 === 0 ? rows : rows.toReversed()))

    await Promise.all(ids.map((id, i) => importRows(db, id, mixed[i] ?? [])))
    const all = await fareRows(db)
    await Promise.all([
      pauseWatches(db, { resellerId: ids[0] ?? 0, list: 'summer' }),
      deleteWatches(db, { resellerId: ids[1] ?? 0, list: 'summer' }),
      disableReseller(db, ids[2] ?? 0),
      importRows(db, ids[3] ?? 0, manyCells(100, { flight_id: 'other' })),
    ])

    expect(all).toHaveLength(200)
    expect(all.every((fare) => fare.watchers === 4)).toBe(true)
    const left = await fareRows(db)
    expect(left.filter((fare) => fare.watchers === 1 && fare.lane !== null)).toHaveLength(100)
    expect(left.filter((fare) => fare.watchers === 0 && fare.lane === null)).toHaveLength(100)
    expect(left.filter((fare) => fare.watchers === 100)).toMatchObject([{ flightId: 'other' }])
  })
})
