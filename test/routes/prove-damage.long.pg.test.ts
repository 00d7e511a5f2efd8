import { afterAll, beforeAll, describe, expect } from 'vitest'
import { openPlace } from '../../src/history/export-place.ts'
import { pruneHistory } from '../../src/history/prune-history.ts'
import { type Db, openDatabase, sql } from '../../src/platform/db/database.ts'
import { exportAll, temporaryDirectory } from '../history/prune/prune-fixtures.ts'
import { silentLog } from '../support/silent-log.ts'
import { cloneDatabase, it, type TestDatabase } from '../support/test-database.ts'
import { approve, hoursPass } from './held-fixtures.ts'
import {
  approveBoth,
  changeFares,
  endFaresNow,
  LISTED,
  prove,
  syncChanges,
} from './prove-fixtures.ts'
import { manyRoutes, sync } from './sync-fixtures.ts'

const NONE = { differences: 0, kinds: {}, all: [] }

/** What is done to the stored rows, and the kinds of differences that it makes, with their counts. */
const DAMAGE: readonly (readonly [string, string, Readonly<Record<string, number>>])[] = [
  [
    'an interval of a route is deleted',
    `delete from route_version where destination_id = 'E' and valid_to is null`,
    { feed_change: 1, history_step: 2 },
  ],
  [
    'a route ends a run too late',
    `update route_version set valid_to = r.fetched_at, removed_by = r.id from sync_run r where r.id = 7 and destination_id = 'E' and valid_to is not null`,
    { feed_change: 3, history_overlap: 1, history_step: 3 },
  ],
  [
    'the last absence of a route is another',
    `update route_version set first_missed_at = last_seen_at where destination_id = 'E' and valid_to is not null`,
    { feed_change: 2, history_step: 1 },
  ],
  [
    'an interval of a route is doubled',
    `insert into route_version (departure_id, destination_id, valid_from, valid_to, added_by) select departure_id, destination_id, valid_from + interval '1 millisecond', valid_from + interval '2 milliseconds', added_by from route_version where destination_id = 'B'`,
    { history_overlap: 1, history_step: 2 },
  ],
  [
    'an availability is the opposite',
    `update route_availability_version set available = not available where destination_id = 'B'`,
    { history_step: 2 },
  ],
  [
    'a loss of availability is deleted',
    `delete from route_availability_version where destination_id = 'C' and not available`,
    { feed_change: 3, history_step: 2 },
  ],
  [
    'a place has its old name',
    `update place_version set city = 'City A' where place_id = 'A' and valid_to is null`,
    { feed_change: 2, history_overlap: 1, history_step: 2 },
  ],
  [
    'a change of a route is deleted',
    `delete from route_change where kind = 'route_removed' and destination_id = 'E'`,
    { feed_change: 1, feed_number: 1 },
  ],
  [
    'a change of a route is altered',
    `update route_change set before = '{"available": true}' where kind = 'route_removed' and destination_id = 'E'`,
    { feed_change: 2 },
  ],
  [
    'two changes of routes are exchanged',
    `update route_change set seq = -1 where seq = 1; update route_change set seq = 1 where seq = 8; update route_change set seq = 8 where seq = -1`,
    { feed_number: 2 },
  ],
  [
    'a change of a route is doubled',
    `insert into route_change (seq, kind, departure_id, destination_id, before, after, first_missed_at, sync_run_id) select 99, kind, departure_id, destination_id, before, after, first_missed_at, sync_run_id from route_change where seq = 1`,
    { feed_change: 1, feed_number: 1 },
  ],
  [
    'a change of a fare is deleted',
    `delete from watch_change where change_id = (select id from availability_change where seq = 3); delete from availability_change where seq = 3`,
    { feed_chain: 1, feed_change: 1, feed_number: 3 },
  ],
  [
    'a change of a fare is altered',
    `update availability_change set after = jsonb_set(after, '{price,amount}', '"1.00"') where seq = 3`,
    { feed_chain: 1, feed_change: 2 },
  ],
  [
    'a flight in a change of a fare is altered',
    `update availability_change set after = jsonb_set(after, '{outbound,identity}', '"other"') where seq = 3`,
    { feed_chain: 1 },
  ],
  [
    'a record of a reseller is deleted',
    `delete from watch_change where change_id = (select id from availability_change where kind = 'became_unavailable' and tracked_fare_id = 1) and reseller_id = 1`,
    { feed_change: 1, feed_number: 1 },
  ],
  [
    'a start of a watch is deleted',
    `delete from watch_change where seq = 1 and reseller_id = 1`,
    { feed_change: 1, feed_number: 1 },
  ],
  [
    'a route that no list shows is inserted',
    `insert into route_version (departure_id, destination_id, valid_from, added_by) select 'B', 'Z', fetched_at, id from sync_run where id = 5`,
    { feed_change: 1, history_step: 3 },
  ],
  [
    'an availability ends too early',
    `update route_availability_version set valid_to = valid_to - interval '1 ms' where destination_id = 'C' and valid_to is not null and available`,
    { feed_change: 1, history_step: 1 },
  ],
  [
    'the absence in a lost availability is another',
    `update route_change set first_missed_at = first_missed_at - interval '1 hour' where kind = 'route_lost_availability' and destination_id = 'C'`,
    { feed_record: 2 },
  ],
  [
    'the time of a change of a route is another',
    `update route_change set recorded_at = recorded_at - interval '1 day' where seq = 3`,
    { feed_number: 1 },
  ],
  [
    'a change of a fare is inserted',
    `insert into availability_change (seq, kind, tracked_fare_id, before, after, detected_at, provenance) select 99, 'price_changed', tracked_fare_id, after, jsonb_set(after, '{price}', '{"amount": "1.00", "currency": "EUR"}'), clock_timestamp(), '{}' from availability_change where tracked_fare_id = 1 order by seq desc limit 1`,
    { feed_change: 1, feed_number: 1 },
  ],
  [
    'a loss is called a gain',
    `update availability_change set kind = 'became_available', reason = null where kind = 'became_unavailable' and tracked_fare_id = 1`,
    { feed_record: 1 },
  ],
  [
    'the reason of a loss is deleted',
    `update availability_change set reason = null where kind = 'became_unavailable' and tracked_fare_id = 1`,
    { feed_record: 1 },
  ],
  [
    'a change of a fare is detected later',
    `update availability_change set detected_at = detected_at + interval '10 days' where seq = 3`,
    { feed_record: 1 },
  ],
  [
    'the evidence of a change is another',
    `update availability_change set evidence_hash = 'x' where seq = 3`,
    { feed_record: 1 },
  ],
  [
    'a belief is another',
    `update fare_belief_version set price = 1 where tracked_fare_id = 1 and price = 90`,
    { feed_change: 4 },
  ],
  [
    'a belief overlaps the next one',
    `update fare_belief_version set valid_to = valid_to + interval '1 ms' where tracked_fare_id = 1 and price = 90`,
    { history_overlap: 1 },
  ],
  [
    'the state of a fare is another',
    `update fare_state set price = 1 where tracked_fare_id = 1`,
    { history_belief: 1 },
  ],
  [
    'a record of a reseller has another reference',
    `update watch_change set reference = 'x' where reseller_id = 1 and seq = 3`,
    { feed_record: 1 },
  ],
  [
    'an event of a watch has another fare',
    `update watch_event set tracked_fare_id = 2 where tracked_fare_id = 1`,
    { feed_record: 2 },
  ],
  [
    'the head of a feed is another',
    `update feed_head set last_seq = last_seq - 1 where feed = 'availability'`,
    { feed_number: 1 },
  ],
  [
    'the head of the feed of a reseller is another',
    `update reseller set last_seq = last_seq + 1 where id = 1`,
    { feed_number: 1 },
  ],
  [
    'an accepted list is called rejected',
    `update sync_run set status = 'rejected' where id = 5`,
    { feed_change: 6, history_step: 3 },
  ],
]

async function world(db: Db): Promise<void> {
  await syncChanges(db)
  await changeFares(db)
}

/** Closes its connections at the end: a database with a session cannot be copied. */
async function onDatabase<T>({ url }: TestDatabase, work: (db: Db) => Promise<T>): Promise<T> {
  const database = openDatabase({ url, applicationName: 'test', log: silentLog })
  try {
    return await work(database.db)
  } finally {
    await database.close()
  }
}

describe('a proof after damage by hand', () => {
  let template: TestDatabase
  beforeAll(async () => {
    template = await cloneDatabase()
    await onDatabase(template, world)
  })
  afterAll(() => template.drop())

  for (const [name, damage, kinds] of DAMAGE) {
    it(`names and counts the differences after ${name}`, async () => {
      const copy = await cloneDatabase(template.name)
      const run = (db: Db) => sql.raw(damage).execute(db)
      const found = await onDatabase(copy, async (db) => (await run(db)) && prove(db))
      await copy.drop()

      expect(found.kinds).toEqual(kinds)
      expect(found.all).toHaveLength(found.differences)
      expect(found.first).toEqual(found.all[0])
    })
  }
})

describe('a proof of an undamaged history', () => {
  it('finds no difference in changes of routes, places, availability and fares', async ({ db }) => {
    await world(db)
    expect(await prove(db)).toMatchObject(NONE)

    await endFaresNow(db)
    expect(await prove(db)).toMatchObject(NONE)
  })

  it('finds no difference after an approval of both lists, and after that of one list', async ({
    db,
  }) => {
    await approveBoth(db)
    expect(await prove(db)).toMatchObject(NONE)

    const { runId } = await sync(db, manyRoutes(30, 'NEW'))
    await approve(db, runId)
    expect(await prove(db)).toMatchObject(NONE)
    await sync(db, manyRoutes(5, 'NEW'), LISTED)
    expect(await prove(db)).toMatchObject(NONE)
  })

  it('finds no difference after a prune, and names its floor', async ({ database }) => {
    const { db } = database
    await world(db)
    await hoursPass(db, 100 * 24)
    await sql`update route_change set recorded_at = recorded_at - interval '100 days'`.execute(db)
    await syncChanges(db)
    const floor = new Date(Math.floor(Date.now() / 86_400_000) * 86_400_000 - 70 * 86_400_000)
    const to = await temporaryDirectory()
    await exportAll(database, to)
    await pruneHistory(db, { before: floor, place: await openPlace(to) })

    expect(await prove(db)).toMatchObject({ ...NONE, floor })
  })
})
