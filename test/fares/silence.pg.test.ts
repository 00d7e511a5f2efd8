import { describe, expect } from 'vitest'
import { type Db, sql } from '../../src/platform/db/database.ts'
import type { LegObservation } from '../../src/upstream/observation.ts'
import { readBeliefAges } from '../../src/views/belief-ages.ts'
import { it } from '../support/test-database.ts'
import { available, minute, record, recordAll, trackFare, trackFares } from './fare-fixtures.ts'

const NO_FLIGHT: LegObservation = { kind: 'unknown', reason: 'contract_violation' }
const FAILS: LegObservation = { kind: 'unknown', reason: 'http_5xx' }

/** Fares that are usually checked once a minute, and that were bookable in the first of it. */
async function bookable(db: Db, count: number): Promise<number[]> {
  const fares = await trackFares(db, count)
  await sql`update fare_schedule set rate = 1.0 / 60`.execute(db)
  await recordAll(db, fares, minute(0), available())
  return fares
}

async function shown(db: Db) {
  const { rows } = await sql`
    select a.state, a.hidden_reason as hidden, s.last_reason as reason, q.lane,
           round(extract(epoch from q.not_before - s.asked_at)) as pause
      from farewatch.fares_current a
      join fare_state s on s.tracked_fare_id = a.fare_id
      join fare_schedule q using (tracked_fare_id)
     order by tracked_fare_id
  `.execute(db)
  return rows
}

describe('a fare whose answers are unusable', () => {
  // Fault: Some fares are never answered, whatever the reason. Shown as `unanswered` after five answers over two minutes and
  // three intervals; they wait alone.
  it('is shown as unanswered with the reason after five over three intervals, and waits as long as it is silent', async ({
    db,
  }) => {
    const [fare = 0] = await bookable(db, 1)
    for (const n of [1, 2, 3, 4]) await record(db, fare, minute(n), NO_FLIGHT)
    expect(await shown(db)).toMatchObject([{ state: 'bookable', hidden: null }])

    const silence = { state: 'unknown', hidden: 'unanswered', reason: 'contract_violation' }
    await record(db, fare, minute(5), NO_FLIGHT)
    expect(await shown(db)).toEqual([{ ...silence, lane: null, pause: '240' }])
    await record(db, fare, minute(9), NO_FLIGHT)
    expect(await shown(db)).toEqual([{ ...silence, lane: null, pause: '480' }])
    await record(db, fare, minute(25), NO_FLIGHT)
    expect(await shown(db)).toEqual([{ ...silence, lane: null, pause: '900' }])

    await record(db, fare, minute(26), available())

    expect(await shown(db)).toMatchObject([{ state: 'bookable', hidden: null, pause: '60' }])
  })

  it('is counted with the most frequent reason, unless it never had a good check', async ({
    db,
  }) => {
    const fares = await bookable(db, 3)
    const [first = 0, second = 0, third = 0] = fares
    const never = await trackFare(db, { flightId: 'N' })
    for (const n of [1, 2, 3, 4, 5]) {
      await recordAll(db, [first, second, never], minute(n), FAILS)
      await record(db, third, minute(n), NO_FLIGHT)
    }

    const beliefs = { fares: 4, unanswered: 1, silent: 3, silentReason: 'http_5xx' }
    expect(await readBeliefAges(db)).toMatchObject(beliefs)
  })

  it('comes forward when another one answers that failed for the same reason, and no other does', async ({
    db,
  }) => {
    const fares = await bookable(db, 3)
    const [first = 0, same = 0, other = 0] = fares
    const ago = (minutes: number) => new Date(Date.now() - minutes * 60_000)
    for (const n of [10, 9, 8, 7, 6, 2]) {
      await recordAll(db, [first, same], ago(n), FAILS)
      await record(db, other, ago(n), NO_FLIGHT)
    }
    const waiting = async () => {
      const { rows } = await sql<{ id: number }>`
        select tracked_fare_id as id from fare_schedule where not_before > clock_timestamp() order by id
      `.execute(db)
      return rows.map(({ id }) => id)
    }
    expect(await waiting()).toEqual(fares)

    await record(db, first, ago(1), available())

    expect(await waiting()).toEqual([other])
    expect(await shown(db)).toMatchObject([{ hidden: null }, { hidden: 'unanswered' }, {}])
  })
})
