import { describe, expect } from 'vitest'
import { endWatches } from '../../src/fares/end.ts'
import type { ResellerId } from '../../src/platform/base/reseller-id.ts'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { selectOne } from '../../src/platform/db/transaction.ts'
import type { LegObservation } from '../../src/upstream/observation.ts'
import { changeWatch, resumeWatches, type WatchChange } from '../../src/watches/change-watches.ts'
import { verifierOf } from '../faults/fare-facts.ts'
import { silentLog } from '../support/silent-log.ts'
import { it } from '../support/test-database.ts'
import { type Cells, cells, importRows, resellerWith } from '../watches/watch-fixtures.ts'
import { available, endFares, gone, observation, watchFeed } from './fare-fixtures.ts'

/** The date of the flight of the fixtures. */
const TRUE_DATE = '2027-01-10'

/** A watch, as its reseller's import leaves it, and a verifier of an upstream that gives one answer. */
async function startFixture(db: Db, given: Cells = {}) {
  const row = cells(given)
  const resellerId = await resellerWith(db, [row])
  let answer: LegObservation = available()
  const { fullRound } = verifierOf(db, { verifyFares: async () => observation(answer) })
  return {
    resellerId,
    row,
    named: { resellerId, list: 'summer', references: ['A-1'] },
    change: (change: WatchChange) =>
      changeWatch(
        { db, resellerId: resellerId as ResellerId },
        { list: 'summer', reference: 'A-1' },
        change,
      ),
    feed: async () => (await watchFeed(db, resellerId)).map(([, kind]) => kind),
    check: async (leg: LegObservation) => {
      answer = leg
      return fullRound()
    },
  }
}

/** The watch ends by a departure an hour ago, which is not true. */
async function endFalsely(db: Db, given: Cells = {}) {
  const fixture = await startFixture(db, given)
  await fixture.check(available())
  await sql`update fare_state set departs_at = clock_timestamp() - interval '1 hour'`.execute(db)
  expect(await endFares(db)).toBe(1)
  return fixture
}

/** The ticks that end fares and watches. */
async function endAll(db: Db): Promise<number> {
  return (await endFares(db)) + (await endWatches({ db, log: silentLog }))
}

function facts(db: Db) {
  return selectOne(
    sql<{ ended: boolean; departs: string | null; lane: string | null; state: object }>`
      select s.expired_at is not null as ended, to_char(s.departs_at, 'YYYY-MM-DD') as departs, q.lane, s.state
        from fare_state s left join fare_schedule q using (tracked_fare_id)
    `,
    db,
  )
}

const UNKNOWN = { ended: false, departs: null, lane: 'first_check', state: {} }

/** What each record of the fare shows before and after it. */
async function steps(db: Db): Promise<unknown[]> {
  const { rows } = await sql<{ kind: string; was: string; is: string }>`
    select kind, before ->> 'pair' as was, after ->> 'pair' as is from availability_change order by seq
  `.execute(db)
  return rows.map(({ kind, was, is }) => [kind, was, is])
}

async function today(db: Db, days = 0): Promise<string> {
  const { date } = await selectOne(
    sql<{ date: string }>`select (current_date + ${days}::int)::text as date`,
    db,
  )
  return date
}

describe('a watch that ended by a false departure', () => {
  // Fault: A fare ended by a false date.
  it('begins again when it is resumed by name, as that of a fare of which nothing is known', async ({
    db,
  }) => {
    const { named, feed, check } = await endFalsely(db)

    expect(await resumeWatches(db, named)).toMatchObject({ watches: 1, trackedFaresAdded: 1 })

    expect(await facts(db)).toEqual(UNKNOWN)
    await check(available())
    expect(await endAll(db)).toBe(0)
    expect(await feed()).toEqual(['watch_started', 'expired', 'watch_started'])
    expect((await steps(db)).slice(1)).toEqual([
      ['expired', 'bookable', 'not_bookable'],
      ['first_seen', 'unknown', 'bookable'],
    ])
    expect(await facts(db)).toMatchObject({ ended: false, departs: TRUE_DATE })
  })

  it.for(['an import', 'a change'])(
    // Fault: A fare ended by a false date gets a later date.
    'begins again when %s gives it a later date',
    async (by, { db }) => {
      const { resellerId, row, change, feed, check } = await endFalsely(db)

      if (by === 'an import') {
        const outcome = await importRows(db, resellerId, [{ ...row, departs_on: TRUE_DATE }])
        expect(outcome).toMatchObject({ changed: 1, ended: 0, trackedFaresAdded: 1 })
      } else {
        await change({ departsOn: TRUE_DATE })
      }

      expect(await facts(db)).toEqual(UNKNOWN)
      await check(available())
      expect(await endAll(db)).toBe(0)
      expect(await feed()).toEqual(['watch_started', 'expired', 'watch_started'])
    },
  )

  it.for([{}, { departs_on: TRUE_DATE }])(
    // Fault: The row of an ended fare is imported again.
    'stays ended when its row %j is imported again',
    async (given, { db }) => {
      const { resellerId, row, feed } = await endFalsely(db, given)

      const outcome = await importRows(db, resellerId, [row])

      expect(outcome).toMatchObject({ unchanged: 1, ended: 1, trackedFaresAdded: 0 })
      expect(await facts(db)).toMatchObject({ ended: true, lane: null })
      expect(await feed()).toEqual(['watch_started', 'expired'])
    },
  )
})

describe('a watch of a flight that has departed', () => {
  // Fault: A watch of a flight that has departed gets the date of its departure.
  it('ends again when it gets the date on which it departed', async ({ db }) => {
    const { resellerId, row, feed } = await endFalsely(db)
    const date = await today(db)

    await importRows(db, resellerId, [{ ...row, departs_on: date }])
    expect(await endAll(db)).toBe(1)

    expect(await facts(db)).toMatchObject({ ended: true, lane: null })
    expect(await feed()).toEqual(['watch_started', 'expired', 'expired'])
  })

  // Fault: A watch of a flight that has departed is resumed.
  it('ends again three days after it was resumed by name, if all answers show the past departure', async ({
    db,
  }) => {
    const { named, feed, check } = await endFalsely(db)
    await resumeWatches(db, named)
    const past = JSON.parse(
      JSON.stringify(available()).replaceAll('2027-', '2020-'),
    ) as LegObservation
    await check(past)
    expect(await endAll(db)).toBe(0)

    await sql`update fare_state set past_since = past_since - interval '3 days'`.execute(db)
    await check(past)
    expect(await endAll(db)).toBe(1)

    expect(await facts(db)).toMatchObject({ ended: true, lane: null })
    expect(await feed()).toEqual(['watch_started', 'expired', 'expired'])
  })
})

describe('a watch whose fare ended as never available', () => {
  // Fault: A fare ended as `never_available` can be bought again.
  it('is not asked any more, and begins again when it is resumed by name', async ({ db }) => {
    const { named, feed, check } = await startFixture(db)
    await check(gone)
    await sql`update tracked_fare set created_at = created_at - interval '31 days'`.execute(db)
    await sql`update watch set began_at = began_at - interval '31 days'`.execute(db)
    expect(await endFares(db)).toBe(1)
    expect(await check(available())).toBe(0)

    await resumeWatches(db, named)
    expect(await check(available())).toBe(1)

    expect(await feed()).toEqual(['expired', 'watch_started'])
  })
})
