import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { describe, expect } from 'vitest'
import { archiveHistory } from '../../../src/history/archive/archive-history.ts'
import { type Database, sql } from '../../../src/platform/db/database.ts'
import { withSessionLock } from '../../../src/platform/db/session-lock.ts'
import { it } from '../../support/test-database.ts'
import {
  DAY,
  faresAsOf,
  filedRows,
  routesAsOf,
  seedHistory,
  storedRows,
  temporaryDirectory,
  without,
} from './archive-fixtures.ts'

const FLOOR = '2026-06-01'
const SINCE_FLOOR = ['2026-06-01T00:00Z', '2026-06-10T12:00Z', '2026-11-01T00:00Z']
const BELOW = '2025-06-15T00:00Z'

function archive(database: Database, directory: string, before = FLOOR) {
  return archiveHistory(database, { before: DAY(before), directory })
}

describe('an archive', () => {
  it('its files hold exactly the rows that it deletes, and answers since its date stay as they were', async ({
    database,
  }) => {
    const { db } = database
    await seedHistory(db)
    const directory = path.join(await temporaryDirectory(), 'new')
    const before = await storedRows(db)
    const asOf = () =>
      Promise.all(
        SINCE_FLOOR.flatMap((instant) => [routesAsOf(db, instant), faresAsOf(db, instant)]),
      )
    const answers = await asOf()
    expect(answers[3]).toContain(
      'F3 bookable 200.00 EUR 2026-05-05 00:00:00+00 2026-07-30 07:30:00, F4 bookable 180.00',
    )

    const result = await archive(database, directory)

    const after = await storedRows(db)
    expect(await filedRows(directory)).toEqual(without(before, after))
    const counts = Object.fromEntries(result.files.map(({ name, rows }) => [name, rows]))
    expect(counts).toEqual({
      'route_history.parquet': 10,
      'route_availability_history.parquet': 2,
      'fare_history.parquet': 8,
      'route_changes.parquet': 31,
      'availability_changes.parquet': expect.any(Number),
      'watch_changes.parquet': expect.any(Number),
    })
    expect(result.deleted).toBe(result.files.reduce((sum, { rows }) => sum + rows, 0))
    expect(await asOf()).toEqual(answers)
    const refused = 'the history before 2026-06-01T00:00:00Z is archived'
    expect([await routesAsOf(db, BELOW), await faresAsOf(db, BELOW)]).toEqual([refused, refused])
    const { rows: floors } = await sql<{ name: string; first: number | null }>`
      select view_name as name, first_seq as first, complete_from = '2026-06-01T00:00Z' as since
        from farewatch.history_starts order by 1
    `.execute(db)
    const firstOf = (name: string) => Number(counts[`${name}.parquet`]) + 1
    expect(floors).toEqual([
      { name: 'availability_changes', first: firstOf('availability_changes'), since: true },
      { name: 'durable_route_history', first: null, since: true },
      { name: 'fare_history', first: null, since: true },
      { name: 'route_availability_history', first: null, since: true },
      { name: 'route_changes', first: firstOf('route_changes'), since: true },
      { name: 'route_history', first: null, since: true },
    ])
    // The day that was not rolled up before can never be rolled up later.
    const { rows: days } = await sql`
      select from daily_network where day = '2026-05-31'
    `.execute(db)
    expect(days.length).toBeGreaterThan(0)
    expect(await archive(database, directory)).toEqual({ ...result, deleted: 0 })
    await expect(archive(database, directory, '2026-06-02')).rejects.toThrow(
      /holds the archive before 2026-06-01/,
    )
  })

  it('keeps the records that an endpoint still needs, and the changes that they cite', async ({
    database,
  }) => {
    const { db } = database
    const { endpoint } = await seedHistory(db)
    await sql`
      insert into delivery (endpoint_id, seq, previous_seq, recorded_at)
      select ${endpoint}, 5, 0, recorded_at from watch_change where reseller_id = 1 and seq = 5
    `.execute(db)
    const kept = await sql<{ seq: number }>`
      select w.seq, c.seq as change from watch_change w left join availability_change c on c.id = w.change_id
       where w.reseller_id = 1 and w.seq >= 5
       order by w.seq
    `.execute(db)

    const { needs } = await archive(database, await temporaryDirectory())

    expect(needs).toEqual([{ reseller: 'ana', endpointId: endpoint, seq: 5, why: 'delivery' }])
    const { rows } = await sql<{ seq: number }>`
      select w.seq, c.seq as change from watch_change w left join availability_change c on c.id = w.change_id
       where w.reseller_id = 1
       order by w.seq
    `.execute(db)
    expect(rows).toEqual(kept.rows)
    const { rows: first } = await sql<{ first: number; min: number }>`
      select (select first_seq from feed_head where feed = 'availability') as first,
             (select min(seq) from availability_change) as min,
             (select min(seq) from watch_change where reseller_id = 2) > 5 as "benIsArchived"
    `.execute(db)
    expect(first).toEqual([{ first: 4, min: 4, benIsArchived: true }])
  })

  it('computes the missing days before its date alone, and reports its progress', async ({
    database,
  }) => {
    await seedHistory(database.db)
    await sql`delete from daily_rollup where day = '2026-06-15'`.execute(database.db)
    const steps: string[] = []

    const directory = await temporaryDirectory()
    const onProgress = (step: string) => void steps.push(step)
    await archiveHistory(database, { before: DAY(FLOOR), directory }, { onProgress })

    expect(steps.filter((step) => step.startsWith('computing'))).toEqual([
      'computing the tables of 2026-05-31, 1 of 1',
    ])
    expect(steps).toContain('writing route_history.parquet: 10 rows')
    expect(steps).toContain('comparing route_history.parquet with the database: 10 rows')
    expect(steps.at(-1)).toMatch(/^deleting the rows: \d+ of them are deleted$/)
  })

  it('refuses what it cannot do, and changes nothing', async ({ database, db }) => {
    await sql`
      insert into sync_run (list, status, baseline, started_at, fetched_at, finished_at)
      select 'routes', 'applied', true, at, at, at from (select '2026-06-30T06:00Z'::timestamptz as at) r
    `.execute(db)
    const directory = await temporaryDirectory()
    const file = path.join(directory, 'notes.txt')
    await writeFile(file, 'mine')

    await expect(archive(database, directory, '2999-01-01')).rejects.toThrow(
      /the last 60 days stay/,
    )
    await expect(archive(database, directory, '2026-07-02')).rejects.toThrow(
      /no route list has been accepted since 2026-07-02/,
    )
    await expect(archive(database, directory)).rejects.toThrow(/is not empty/)
    await expect(archive(database, path.join(file, 'below'))).rejects.toThrow(/cannot be written/)
    await withSessionLock(db, 'archive', async () => {
      await expect(archive(database, path.join(directory, 'new'))).rejects.toThrow(
        /another archive runs: its lock is held by role/,
      )
    })
    expect(await readFile(file, 'utf8')).toBe('mine')
    const { rows } = await sql`select from archive`.execute(db)
    expect(rows).toEqual([])
  })
})
