import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'
import { readWatchChanges } from '../../../src/feeds/watch-feed-queries.ts'
import { type Db, PRIVATE_SCHEMA, sql } from '../../../src/platform/db/database.ts'
import { createEmptyDatabase, openAnother } from './empty-database.ts'

const FOLDER = path.resolve(import.meta.dirname, '../../../migrations')
const FILES = readdirSync(FOLDER).sort((a, b) => a.localeCompare(b, 'en'))
const RENAMING = '0024_watch_events.sql'

async function apply(db: Db, files: readonly string[]): Promise<void> {
  for (const file of files) {
    await sql.raw(readFileSync(path.join(FOLDER, file), 'utf8')).execute(db)
  }
}

it('records from before watch_started keep their numbers and contents through the migration', async () => {
  const { db } = openAnother(await createEmptyDatabase())
  await sql`create schema ${sql.id(PRIVATE_SCHEMA)}`.execute(db)
  await apply(db, FILES.slice(0, FILES.indexOf(RENAMING)))
  await sql`
    with reseller as (insert into reseller (name, last_seq) values ('ana', 2) returning id),
         fare as (
      insert into tracked_fare (flight_id, residents_adults, residents_children, residents_infants,
                                non_residents_adults, non_residents_children, non_residents_infants)
      values ('101', 0, 0, 0, 1, 0, 0) returning id),
         own as (
      insert into own_change (kind, tracked_fare_id, before, after, last_good_check_at, detected_at)
      select kind, id, '{"pair": "unknown"}', '{"pair": "bookable"}', null, '2026-01-31T12:00:03Z'
        from fare, unnest(array['became_available', 'expired']) kind
      returning id, kind)
    insert into watch_change (reseller_id, seq, watch_id, reference, own_change_id, recorded_at)
    select reseller.id, case own.kind when 'expired' then 2 else 1 end, gen_random_uuid(), 'A-1', own.id,
           '2026-01-31T12:00:04Z'
      from reseller, own
  `.execute(db)

  await apply(db, FILES.slice(FILES.indexOf(RENAMING)))

  const records = await readWatchChanges(db, 1, { after: 0, limit: 10 })
  const same = {
    reason: null,
    schemaVersion: 1,
    watchId: expect.any(String),
    reference: 'A-1',
    list: null,
    flightId: '101',
    returnFlightId: null,
    before: { pair: 'unknown' },
    after: { pair: 'bookable' },
    lastGoodCheckAt: null,
    detectedAt: new Date('2026-01-31T12:00:03Z'),
    recordedAt: new Date('2026-01-31T12:00:04Z'),
  }
  expect(records).toEqual([
    { ...same, seq: 1, kind: 'became_available' },
    { ...same, seq: 2, kind: 'expired' },
  ])
})
