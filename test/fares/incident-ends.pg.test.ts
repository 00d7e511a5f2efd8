import { describe, expect } from 'vitest'
import { closeIncident, closeUncheckedIncidents } from '../../src/fares/hold/change-incidents.ts'
import { type Db, sql } from '../../src/platform/db/database.ts'
import type { LegObservation } from '../../src/upstream/observation.ts'
import { listIncidents } from '../../src/views/incident-queries.ts'
import { silentLog } from '../support/silent-log.ts'
import { it } from '../support/test-database.ts'
import { available, gone, passSeconds, RULES, record, silent, trackFare } from './fare-fixtures.ts'

const FARES = 30

async function openKinds(db: Db): Promise<string[]> {
  return (await listIncidents(db, { open: true, limit: 10 })).map(({ kind }) => kind)
}

/** Tracks fares and returns a function that records the same answer for them, each round half a minute after the one before. */
async function trackFares(db: Db) {
  const fares: number[] = []
  for (let i = 0; i < FARES; i += 1) fares.push(await trackFare(db, { flightId: `F${i}` }))
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
    const recordAll = await trackFares(db)
    await recordAll(silent)
    expect(await openKinds(db)).toEqual(['upstream_trouble'])

    for (let minute = 0; minute < 6; minute += 1) {
      await passMinutes(db, 3)
      await recordAll(silent, 2)
      await closeUncheckedIncidents({ db, log: silentLog }, RULES.massHoldMs)
      expect(await openKinds(db)).toEqual(['upstream_trouble'])
    }

    expect(await listIncidents(db, { limit: 10 })).toHaveLength(1)
  })

  it('trouble ends when at least half of enough checks are good, however slowly they come', async ({
    db,
  }) => {
    const recordAll = await trackFares(db)
    await recordAll(silent)
    const open: boolean[] = []

    for (let minute = 0; minute < 5; minute += 1) {
      await passMinutes(db, 3)
      await recordAll(available(), 1)
      open.push((await openKinds(db)).length > 0)
    }

    expect(open).toEqual([true, true, true, true, false])
  })

  it('trouble does not end because no checks are made for a while', async ({ db }) => {
    const recordAll = await trackFares(db)
    await recordAll(silent)
    await passMinutes(db, 120)

    expect(await closeUncheckedIncidents({ db, log: silentLog }, RULES.massHoldMs)).toBe(0)

    expect(await openKinds(db)).toEqual(['upstream_trouble'])
  })

  it('trouble that an operator has closed opens again if checks are still unknown', async ({
    db,
  }) => {
    const recordAll = await trackFares(db)
    await recordAll(silent)

    await closeIncident({ db, log: silentLog }, 'upstream_trouble')

    expect(await openKinds(db)).toEqual([])
    await recordAll(silent, 1)
    expect(await openKinds(db)).toEqual(['upstream_trouble'])
  })
})

describe('an incident without further checks', () => {
  it('every incident ends once no fare is watched', async ({ db }) => {
    const recordAll = await trackFares(db)
    await recordAll(available())
    for (let round = 0; round < 2; round += 1) await recordAll(gone)
    for (let round = 0; round < 4; round += 1) await recordAll(silent)
    expect(await openKinds(db)).toEqual(['upstream_trouble', 'mass_loss'])
    expect(await closeUncheckedIncidents({ db, log: silentLog }, RULES.massHoldMs)).toBe(0)

    await watchNothing(db)

    expect(await closeUncheckedIncidents({ db, log: silentLog }, RULES.massHoldMs)).toBe(2)
    expect(await openKinds(db)).toEqual([])
    expect(await closeUncheckedIncidents({ db, log: silentLog }, RULES.massHoldMs)).toBe(0)
  })

  it('a mass loss ends once its last answers are older than a hold lasts', async ({ db }) => {
    const recordAll = await trackFares(db)
    await recordAll(available())
    for (let round = 0; round < 2; round += 1) await recordAll(gone)
    await passSeconds(db, 500)
    expect(await closeUncheckedIncidents({ db, log: silentLog }, RULES.massHoldMs)).toBe(0)
    await passSeconds(db, 101)

    expect(await closeUncheckedIncidents({ db, log: silentLog }, RULES.massHoldMs)).toBe(1)

    expect(await openKinds(db)).toEqual([])
  })
})
