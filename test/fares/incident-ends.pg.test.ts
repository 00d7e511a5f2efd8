import { describe, expect } from 'vitest'
import { lockFares } from '../../src/fares/beliefs.ts'
import { closeIncident, closeUncheckedIncidents } from '../../src/fares/incidents.ts'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { inTransaction, selectOne } from '../../src/platform/db/transaction.ts'
import type { LegObservation } from '../../src/upstream/observation.ts'
import { silentLog } from '../support/silent-log.ts'
import { it } from '../support/test-database.ts'
import {
  available,
  gone,
  minute,
  openKinds,
  passSeconds,
  record,
  recordAll,
  trackFares,
  watchFares,
} from './fare-fixtures.ts'

const FARES = 30

/** Tracks fares and returns a function that records the same answer for them, each round half a minute after the one before. */
async function startRounds(db: Db) {
  const fares = await trackFares(db, FARES)
  let askedMs = Date.now() - 70_000
  return async (leg: LegObservation) => {
    askedMs += 30_000
    for (const fare of fares) {
      askedMs += 10
      await record(db, fare, new Date(askedMs), leg)
    }
  }
}

describe('an incident without further checks', () => {
  it('ends when its changes are no longer new: five minutes after they were seen first', async ({
    db,
  }) => {
    const recordRound = await startRounds(db)
    await recordRound(available())
    await recordRound(gone)
    expect(await openKinds(db)).toEqual(['mass_loss'])
    expect(await closeUncheckedIncidents({ db, log: silentLog })).toBe(0)

    await passSeconds(db, 300)

    expect(await closeUncheckedIncidents({ db, log: silentLog })).toBe(1)
    expect(await openKinds(db)).toEqual([])
    expect(await closeUncheckedIncidents({ db, log: silentLog })).toBe(0)
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

/** The n-th minute of a story that began eight minutes ago: its changes are not new, and what it holds waits still. */
function at(n: number): Date {
  return minute(22 + n)
}

/** Sixty watched, bookable fares. Returns the forty whose losses are held. */
async function openMassLoss(db: Db): Promise<number[]> {
  const fares = await trackFares(db, 60)
  await watchFares(db, 'ana', fares)
  await recordAll(db, fares, at(0), available())
  const losing = fares.slice(0, 40)
  for (const n of [1, 2]) await recordAll(db, losing, at(n), gone)
  return losing
}

/** The fares that are due now for a confirmation. */
async function dueNow(db: Db): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`
    select tracked_fare_id as id
      from fare_schedule
     where lane = 'confirmation' and lane_due_at <= clock_timestamp()
     order by tracked_fare_id
  `.execute(db)
  return rows.map(({ id }) => id)
}

describe('a lie that may have ended', () => {
  it('has four checked that wait once a minute, and four at the end of the incident', async ({
    db,
  }) => {
    await openMassLoss(db)
    expect(await dueNow(db)).toEqual([])

    expect(await closeUncheckedIncidents({ db, log: silentLog })).toBe(1)
    const first = await dueNow(db)
    expect(await closeUncheckedIncidents({ db, log: silentLog })).toBe(0)

    expect(first).toHaveLength(8)
    expect(await dueNow(db)).toHaveLength(12)
  })
})

describe('an operator who closes a mass loss', () => {
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
    expect(await laneOf(db, last)).toEqual(at(11))
  })
})
