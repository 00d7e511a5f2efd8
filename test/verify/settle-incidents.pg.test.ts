import { describe, expect } from 'vitest'
import { type Db, sql } from '../../src/db/database.ts'
import type { LegObservation } from '../../src/upstream/observation.ts'
import { endIncident } from '../../src/verify/incidents/close-incident.ts'
import { listIncidents } from '../../src/verify/incidents/incident-queries.ts'
import { settleIncidents } from '../../src/verify/incidents/settle-incidents-job.ts'
import { silentLog } from '../support/silent-log.ts'
import { it } from '../support/test-database.ts'
import { available, gone, record, silent, trackFare } from './fare-fixtures.ts'

const FARES = 30

async function openKinds(db: Db): Promise<string[]> {
  return (await listIncidents(db, { open: true, limit: 10 })).map(({ kind }) => kind)
}

/** Fares, and answers about them, each a little later than the last. */
async function someFares(db: Db) {
  const fares: number[] = []
  for (let i = 0; i < FARES; i += 1) fares.push(await trackFare(db, { flightId: `F${i}` }))
  let askedMs = Date.now() - 60_000
  return async (leg: LegObservation, count = FARES) => {
    for (const fare of fares.slice(0, count)) {
      askedMs += 10
      await record(db, fare, new Date(askedMs), leg)
    }
  }
}

/** So many minutes pass of what is counted by the minute. */
async function passMinutes(db: Db, minutes: number): Promise<void> {
  // All at once: one minute would meet the next on its way.
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
  it('stays open while answers are few and none tells anything', async ({ db }) => {
    const say = await someFares(db)
    await say(silent)
    expect(await openKinds(db)).toEqual(['upstream_trouble'])

    for (let minute = 0; minute < 6; minute += 1) {
      await passMinutes(db, 3)
      await say(silent, 2)
      await settleIncidents({ db, log: silentLog })
      expect(await openKinds(db)).toEqual(['upstream_trouble'])
    }

    expect(await listIncidents(db, { limit: 10 })).toHaveLength(1)
  })

  it('ends when at least half of enough answers tell something, however slowly they come', async ({
    db,
  }) => {
    const say = await someFares(db)
    await say(silent)
    const open: boolean[] = []

    for (let minute = 0; minute < 5; minute += 1) {
      await passMinutes(db, 3)
      await say(available(), 1)
      open.push((await openKinds(db)).length > 0)
    }

    expect(open).toEqual([true, true, true, true, false])
  })

  it('is not over because nobody asks for a while', async ({ db }) => {
    const say = await someFares(db)
    await say(silent)
    await passMinutes(db, 120)

    expect(await settleIncidents({ db, log: silentLog })).toBe(0)

    expect(await openKinds(db)).toEqual(['upstream_trouble'])
  })

  it('is closed by a person, and opens again where answers still tell nothing', async ({ db }) => {
    const say = await someFares(db)
    await say(silent)

    await endIncident({ db, log: silentLog }, 'upstream_trouble')

    expect(await openKinds(db)).toEqual([])
    await say(silent, 1)
    expect(await openKinds(db)).toEqual(['upstream_trouble'])
  })
})

describe('an incident about which no answer comes any more', () => {
  it('ends once nothing is watched', async ({ db }) => {
    const say = await someFares(db)
    await say(available())
    for (let round = 0; round < 2; round += 1) await say(gone)
    for (let round = 0; round < 4; round += 1) await say(silent)
    expect(await openKinds(db)).toEqual(['upstream_trouble', 'mass_loss'])
    expect(await settleIncidents({ db, log: silentLog })).toBe(0)

    await watchNothing(db)

    expect(await settleIncidents({ db, log: silentLog })).toBe(2)
    expect(await openKinds(db)).toEqual([])
    expect(await settleIncidents({ db, log: silentLog })).toBe(0)
  })

  it('ends once the fares that were lost are watched no more', async ({ db }) => {
    const say = await someFares(db)
    await say(available())
    for (let round = 0; round < 2; round += 1) await say(gone)
    await sql`update fare_state set last_good_check_at = last_good_check_at - interval '6 minutes'`.execute(
      db,
    )
    await sql`
      update availability_change set recorded_at = recorded_at - interval '6 minutes'
    `.execute(db)
    expect(await settleIncidents({ db, log: silentLog })).toBe(0)
    await watchNothing(db)
    await trackFare(db, { flightId: 'another' })

    expect(await settleIncidents({ db, log: silentLog })).toBe(1)

    expect(await openKinds(db)).toEqual([])
  })
})
