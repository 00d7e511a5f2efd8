import { describe, expect } from 'vitest'
import { lockFares } from '../../src/fares/check/belief-store.ts'
import { closeIncident, closeUncheckedIncidents } from '../../src/fares/hold/change-incidents.ts'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { inTransaction, selectOne } from '../../src/platform/db/transaction.ts'
import type { LegObservation } from '../../src/upstream/observation.ts'
import { listIncidents, readHeld } from '../../src/views/incident-operations.ts'
import { silentLog } from '../support/silent-log.ts'
import { it } from '../support/test-database.ts'
import {
  available,
  closedAt,
  countChanges,
  gone,
  heldFares,
  minute,
  openKinds,
  passSeconds,
  RULES,
  record,
  recordAll,
  silent,
  trackFares,
  watchFare,
  watchFares,
} from './fare-fixtures.ts'

const FARES = 30

/** Tracks fares and returns a function that records the same answer for them, each round half a minute after the one before. */
async function startRounds(db: Db) {
  const fares = await trackFares(db, FARES)
  let askedMs = Date.now() - 600_000
  return async (leg: LegObservation, count = FARES) => {
    askedMs += 30_000
    for (const fare of fares.slice(0, count)) {
      askedMs += 10
      await record(db, fare, new Date(askedMs), leg)
    }
    await gatherMinute(db)
  }
}

/** Counts the last checks in one minute, also if the clock has begun the next one meanwhile. */
async function gatherMinute(db: Db): Promise<void> {
  await sql`
    with new as (delete from check_minute where minute > clock_timestamp() - interval '2 minutes' returning *)
    insert into check_minute select min(minute), sum(checks), sum(unknown) from new having count(*) > 0
        on conflict (minute) do update set checks = excluded.checks, unknown = excluded.unknown
  `.execute(db)
}

/** Makes the counts by minute older. */
async function passMinutes(db: Db, minutes: number): Promise<void> {
  // In one statement: row by row, a moved minute could collide with one that has not moved yet.
  await sql`
    with old as (delete from check_minute returning *)
    insert into check_minute select minute - ${`${minutes} minutes`}::interval, checks, unknown from old
        on conflict (minute) do nothing
  `.execute(db)
}

async function watchNothing(db: Db): Promise<void> {
  await sql`delete from fare_schedule`.execute(db)
}

describe('upstream trouble', () => {
  it('trouble stays open while there are few checks and all are unknown', async ({ db }) => {
    const recordRound = await startRounds(db)
    await recordRound(silent)
    expect(await openKinds(db)).toEqual(['upstream_trouble'])

    for (let minute = 0; minute < 6; minute += 1) {
      await passMinutes(db, 3)
      await recordRound(silent, 2)
      await closeUncheckedIncidents({ db, log: silentLog }, RULES.massHoldMs)
      expect(await openKinds(db)).toEqual(['upstream_trouble'])
    }

    expect(await listIncidents(db, { limit: 10 })).toHaveLength(1)
  })

  it('trouble ends when at least half of enough checks are good, however slowly they come', async ({
    db,
  }) => {
    const recordRound = await startRounds(db)
    await recordRound(silent)
    const open: boolean[] = []

    for (let minute = 0; minute < 5; minute += 1) {
      await passMinutes(db, 3)
      await recordRound(available(), 1)
      open.push((await openKinds(db)).length > 0)
    }

    expect(open).toEqual([true, true, true, true, false])
  })

  it('trouble does not end because no checks are made for a while', async ({ db }) => {
    const recordRound = await startRounds(db)
    await recordRound(silent)
    await passMinutes(db, 120)

    expect(await closeUncheckedIncidents({ db, log: silentLog }, RULES.massHoldMs)).toBe(0)

    expect(await openKinds(db)).toEqual(['upstream_trouble'])
  })

  it('trouble that an operator has closed opens again if checks are still unknown', async ({
    db,
  }) => {
    const recordRound = await startRounds(db)
    await recordRound(silent)

    await closeIncident({ db, log: silentLog }, 'upstream_trouble')

    expect(await openKinds(db)).toEqual([])
    await recordRound(silent, 1)
    expect(await openKinds(db)).toEqual(['upstream_trouble'])
  })
})

describe('an incident without further checks', () => {
  it('every incident ends once no fare is watched', async ({ db }) => {
    const recordRound = await startRounds(db)
    await recordRound(available())
    for (let round = 0; round < 2; round += 1) await recordRound(gone)
    for (let round = 0; round < 4; round += 1) await recordRound(silent)
    expect(await openKinds(db)).toEqual(['upstream_trouble', 'mass_loss'])
    expect(await closeUncheckedIncidents({ db, log: silentLog }, RULES.massHoldMs)).toBe(0)

    await watchNothing(db)

    expect(await closeUncheckedIncidents({ db, log: silentLog }, RULES.massHoldMs)).toBe(2)
    expect(await openKinds(db)).toEqual([])
    expect(await closeUncheckedIncidents({ db, log: silentLog }, RULES.massHoldMs)).toBe(0)
  })

  it('a mass loss ends once its last answers are older than a hold lasts', async ({ db }) => {
    const recordRound = await startRounds(db)
    await recordRound(available())
    for (let round = 0; round < 2; round += 1) await recordRound(gone)
    await passSeconds(db, 500)
    expect(await closeUncheckedIncidents({ db, log: silentLog }, RULES.massHoldMs)).toBe(0)
    await passSeconds(db, 101)

    expect(await closeUncheckedIncidents({ db, log: silentLog }, RULES.massHoldMs)).toBe(1)

    expect(await openKinds(db)).toEqual([])
  })
})

async function laneOf(db: Db, fareId: number): Promise<Date | null> {
  const { due } = await selectOne(
    sql<{ due: Date | null }>`
      select lane_due_at as due from fare_schedule where tracked_fare_id = ${fareId}
    `,
    db,
  )
  return due
}

/** Sixty watched, bookable fares. Returns the forty whose losses are held. */
async function openMassLoss(db: Db): Promise<number[]> {
  const fares = await trackFares(db, 60)
  await watchFares(db, 'ana', fares)
  await recordAll(db, fares, minute(0), available())
  const losing = fares.slice(0, 40)
  for (const n of [1, 2]) await recordAll(db, losing, minute(n), gone)
  return losing
}

describe('an operator who closes a mass loss', () => {
  it('reads how many watches wait until when, without fares that are no longer watched', async ({
    db,
  }) => {
    const losing = await openMassLoss(db)
    await watchFare(db, 'ben', losing[0] ?? 0)
    const held = { kind: 'became_unavailable', since: minute(1), latestSince: minute(1) }
    expect(await readHeld(db, RULES)).toMatchObject([{ ...held, fares: 40, watches: 41 }])

    await sql`
      update watch set ended_at = clock_timestamp() where tracked_fare_id = any(${losing.slice(1)}::bigint[])
    `.execute(db)

    expect(await readHeld(db, RULES)).toMatchObject([{ ...held, fares: 1, watches: 2 }])
  })

  it('does not wait for a transaction that has locked a fare: it may wait for the operator', async ({
    db,
  }) => {
    const losing = await openMassLoss(db)
    const last = losing.at(-1) ?? 0

    const askedAgain = await inTransaction(db, async (tx) => {
      await lockFares(tx, [last])
      return (await closeIncident({ db, log: silentLog }, 'mass_loss')).askedAgain
    })

    expect(askedAgain).toBe(39)
    // Its hold ends ten minutes after it began.
    expect(await laneOf(db, last)).toEqual(minute(11))
  })

  it('has what still waits recorded after the mass too', async ({ db }) => {
    const losing = await openMassLoss(db)
    const last = losing.slice(-5)
    await recordAll(db, losing.slice(0, -5), minute(3), available())
    await recordAll(db, last, minute(4), gone)
    expect(await openKinds(db)).toEqual([])
    expect(await heldFares(db)).toEqual({ became_unavailable: 5 })

    const { askedAgain } = await closeIncident({ db, log: silentLog }, 'mass_loss')
    await closedAt(db, minute(4))
    await recordAll(db, last, minute(5), gone)

    expect(askedAgain).toBe(5)
    expect(await countChanges(db, 'became_unavailable')).toBe(5)
  })
})
