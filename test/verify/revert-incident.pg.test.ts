import { describe, expect } from 'vitest'
import { type Db, sql } from '../../src/db/database.ts'
import { selectOne } from '../../src/db/transaction.ts'
import { endWatches } from '../../src/verify/expiry/end-watches-job.ts'
import { listIncidents } from '../../src/verify/incidents/incident-queries.ts'
import { revertIncident, UnknownIncidentError } from '../../src/verify/incidents/revert-incident.ts'
import { resumeWatches } from '../../src/watch/change-watches.ts'
import { silentLog } from '../support/silent-log.ts'
import { it } from '../support/test-database.ts'
import {
  available,
  endFares,
  gone,
  kinds,
  minute,
  pairStates,
  record,
  recordAll,
  trackFare,
  watchFare,
  watchFeed,
} from './fare-fixtures.ts'

const FARES = 30
/** As many as the guard lets pass. */
const EARLY = 5
const WRONG = available('70.00', { identity: 'VY|1|PMI-MAD|2026-12-02', itinerary: '09:00|3900' })

async function trackFares(db: Db): Promise<number[]> {
  const fares: number[] = []
  for (let i = 0; i < FARES; i += 1) fares.push(await trackFare(db, { flightId: `F${i}` }))
  return fares
}

/** Watched fares; some are recorded with another identity before the guard acts, and end by its departure. */
async function endFalsely(db: Db) {
  const fares = await trackFares(db)
  let reseller = 0
  for (const fare of fares) {
    reseller = await watchFare(db, 'ana', fare)
    await sql`update tracked_fare set watchers = 1 where id = ${fare}`.execute(db)
  }
  await recordAll(db, fares, minute(0), available())
  const early = fares.slice(0, EARLY)
  for (const n of [1, 2]) await recordAll(db, early, minute(n), WRONG)
  await recordAll(db, fares.slice(EARLY), minute(3), WRONG)
  await record(db, fares.at(-1) ?? 0, minute(4), WRONG)
  await sql`
    update fare_state set departs_at = clock_timestamp() - interval '1 minute'
     where tracked_fare_id = any(${early}::bigint[])
  `.execute(db)
  expect(await endFares(db)).toBe(EARLY)
  const [incident] = await listIncidents(db, { limit: 10 })
  return { fares, early, reseller, id: incident?.id ?? 0 }
}

function revert(db: Db, id: number, dryRun = false) {
  return revertIncident({ db, log: silentLog }, id, { dryRun })
}

/** Everything that a revert may write. */
async function snapshot(db: Db): Promise<unknown> {
  const { all } = await selectOne(
    sql<{ all: unknown }>`
      select jsonb_build_object(
               'states', (select jsonb_agg(to_jsonb(s) order by tracked_fare_id) from fare_state s),
               'changes', (select jsonb_agg(to_jsonb(c) order by seq) from availability_change c),
               'feeds', (select jsonb_agg(to_jsonb(c) order by reseller_id, seq) from watch_change c),
               'watches', (select jsonb_agg(to_jsonb(w) order by id) from watch w),
               'schedule', (select jsonb_agg(to_jsonb(q) order by tracked_fare_id) from fare_schedule q)) as all
    `,
    db,
  )
  return all
}

describe('the revert of an incident', () => {
  it('restores the fares that ended by a false date, with new records, and their watches go on', async ({
    db,
  }) => {
    const { early, reseller, id } = await endFalsely(db)
    const first = early[0] ?? 0
    const before = await watchFeed(db, reseller)

    const reversal = await revert(db, id)

    expect(reversal).toEqual({
      id,
      kind: 'mass_identity_change',
      fares: EARLY,
      records: EARLY,
      watches: EARLY,
      left: 0,
    })
    expect(await kinds(db, first)).toEqual([
      'became_available',
      'identity_changed',
      'expired',
      'became_available',
    ])
    const { rows } = await sql<{ before: unknown; after: unknown }>`
      select before, after from availability_change where tracked_fare_id = ${first} order by seq
    `.execute(db)
    expect(rows[3]).toEqual({ before: rows[2]?.after, after: rows[1]?.before })
    const after = await watchFeed(db, reseller)
    expect(after.slice(0, before.length)).toEqual(before)
    const reversals = Array.from({ length: EARLY }, (_, i) => [
      before.length + i + 1,
      'became_available',
    ])
    expect(after.slice(before.length)).toEqual(reversals)
    const open = await sql`
      select (select count(*) from watch where ended_at is not null) as ended,
             (select count(*) from fare_schedule where lane = 'confirmation' and lane_due_at <= clock_timestamp()
                 and tracked_fare_id = any(${early}::bigint[])) as soon,
             (select count(*) from fare_belief_version
               where valid_to is null and tracked_fare_id = any(${early}::bigint[])) as intervals
    `.execute(db)
    expect(open.rows).toEqual([{ ended: 0, soon: EARLY, intervals: EARLY }])
    expect(await pairStates(db, first)).toEqual(['bookable', 'bookable', 'bookable'])
  })

  it('restores a fare whose only watch is paused: when it is resumed, the flight is as before', async ({
    db,
  }) => {
    const { early, id, reseller } = await endFalsely(db)
    const first = early[0] ?? 0
    await sql`update watch set paused_at = clock_timestamp() where tracked_fare_id = ${first}`.execute(
      db,
    )

    expect(await revert(db, id)).toMatchObject({ fares: EARLY, watches: EARLY, left: 0 })
    await resumeWatches(db, {
      resellerId: reseller,
      list: 'list',
      references: [`w${first}`],
    })
    await endWatches({ db, log: silentLog })

    const { rows } = await sql`
      select s.expired_at is null as lives, s.pair, w.ended_at is null as open, q.lane
        from fare_state s
        join watch w using (tracked_fare_id)
        left join fare_schedule q using (tracked_fare_id)
       where s.tracked_fare_id = ${first}
    `.execute(db)
    expect(rows).toMatchObject([{ lives: true, pair: 'bookable', open: true }])
    expect((await watchFeed(db, reseller)).at(-1)?.[1]).toBe('watch_started')
  })

  it('the next check of a restored fare finds nothing new', async ({ db }) => {
    const { early, id } = await endFalsely(db)
    const first = early[0] ?? 0
    await revert(db, id)

    const [check] = await record(db, first, new Date(Date.now() + 60_000), available())

    expect(check?.decision.changes).toEqual([])
  })

  it('changes nothing when it runs again', async ({ db }) => {
    const { id } = await endFalsely(db)
    await revert(db, id)
    const before = await snapshot(db)

    const again = await revert(db, id)

    expect(again).toMatchObject({ fares: 0, records: 0, watches: 0, left: 0 })
    expect(await snapshot(db)).toEqual(before)
  })

  it('a dry run reports the same and changes nothing', async ({ db }) => {
    const { id } = await endFalsely(db)
    const before = await snapshot(db)

    const planned = await revert(db, id, true)

    expect(await snapshot(db)).toEqual(before)
    expect(await revert(db, id)).toEqual(planned)
  })

  it('a fare that has changed otherwise or departed since is left as it is', async ({ db }) => {
    const { fares, early, id } = await endFalsely(db)
    const [departed = 0] = early
    await sql`
      update availability_change c
         set before = jsonb_set(before, '{outbound,flight,departsAt}', '"2026-01-01 10:00"')
       where kind = 'identity_changed' and tracked_fare_id = ${departed}
    `.execute(db)
    const others = fares.slice(EARLY)

    expect(await revert(db, id)).toMatchObject({ fares: EARLY - 1, left: 1 })

    expect(await kinds(db, departed)).toEqual(['became_available', 'identity_changed', 'expired'])
    for (const fare of others) expect(await kinds(db, fare)).toEqual(['became_available'])
  })

  it('false losses are taken back as gains, except where a gain was recorded already', async ({
    db,
  }) => {
    const fares = await trackFares(db)
    await recordAll(db, fares, minute(0), available())
    for (const n of [1, 2]) await recordAll(db, fares.slice(0, EARLY), minute(n), gone)
    for (const n of [3, 4]) await recordAll(db, fares.slice(EARLY), minute(n), gone)
    const [back = 0, lost = 0] = fares
    await record(db, back, minute(5), available())
    const id = (await listIncidents(db, { limit: 1 }))[0]?.id ?? 0

    const reversal = await revert(db, id)

    expect(reversal).toMatchObject({ kind: 'mass_loss', fares: EARLY - 1 })
    expect(await kinds(db, lost)).toEqual([
      'became_available',
      'became_unavailable',
      'became_available',
    ])
    expect(await kinds(db, back)).toHaveLength(3)
  })

  it('false prices are taken back with the instant of their last check, and ordinary ones stay', async ({
    db,
  }) => {
    const fares = await trackFares(db)
    const [ordinary = 0, far = 0] = fares
    await recordAll(db, fares, minute(0), available())
    await record(db, ordinary, minute(1), available('104.00'))
    for (const n of [2, 3]) await recordAll(db, fares.slice(1, EARLY), minute(n), available('9.00'))
    for (const n of [4, 5]) await recordAll(db, fares.slice(EARLY), minute(n), available('9.00'))
    const [incident] = await listIncidents(db, { limit: 1 })

    const reversal = await revert(db, incident?.id ?? 0)

    expect(reversal).toMatchObject({ kind: 'mass_price_change', fares: EARLY - 1, left: 0 })
    const prices = await sql`
      select tracked_fare_id as fare, price, price_checked_at as priced, last_good_check_at as checked
        from fare_state where tracked_fare_id in (${ordinary}, ${far}) order by 1
    `.execute(db)
    expect(prices.rows).toEqual([
      { fare: ordinary, price: '104.00', priced: minute(1), checked: minute(1) },
      { fare: far, price: '100.00', priced: minute(0), checked: minute(0) },
    ])
  })

  it('an unknown incident is refused', async ({ db }) => {
    await expect(revert(db, 7)).rejects.toThrow(UnknownIncidentError)
  })
})
