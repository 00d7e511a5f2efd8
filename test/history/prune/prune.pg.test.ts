import { readFile, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { describe, expect } from 'vitest'
import { deletePruned } from '../../../src/history/delete-pruned.ts'
import { openPlace } from '../../../src/history/export-place.ts'
import { pruneHistory } from '../../../src/history/prune-history.ts'
import { type Database, type Db, sql } from '../../../src/platform/db/database.ts'
import { beginGeneration } from '../../../src/platform/db/generations.ts'
import { withSessionLock } from '../../../src/platform/db/session-lock.ts'
import { it } from '../../support/test-database.ts'
import {
  DAY,
  exportAll,
  exportedRows,
  faresAsOf,
  routesAsOf,
  seedHistory,
  storedRows,
  temporaryDirectory,
  without,
} from './prune-fixtures.ts'

const FLOOR = '2026-06-01'
const SINCE_FLOOR = ['2026-06-01T00:00Z', '2026-06-10T12:00Z', '2026-11-01T00:00Z']
const BELOW = '2025-06-15T00:00Z'

async function prune(db: Db, to: string, before = FLOOR) {
  return pruneHistory(db, { before: DAY(before), place: await openPlace(to) })
}

/** A history with its export, whole or in two runs. */
async function exported(
  database: Database,
): Promise<{ readonly to: string; readonly endpoint: string }> {
  const seeded = await seedHistory(database.db)
  const to = await temporaryDirectory()
  await exportAll(database, to)
  return { ...seeded, to }
}

describe('a prune', () => {
  it('deletes only rows that the export has, and answers since its date stay as they were', async ({
    database,
  }) => {
    const { db } = database
    const { to } = await exported(database)
    const before = await storedRows(db)
    const asOf = () =>
      Promise.all(
        SINCE_FLOOR.flatMap((instant) => [routesAsOf(db, instant), faresAsOf(db, instant)]),
      )
    const answers = await asOf()
    expect(answers[3]).toContain(
      'F3 bookable 200.00 EUR 2026-05-05 00:00:00+00 2026-07-30 07:30:00, F4 bookable 180.00',
    )

    const result = await prune(db, to)

    const gone = without(before, await storedRows(db))
    const counts = Object.fromEntries(
      Object.entries(gone).map(([name, rows]) => [name, rows.length]),
    )
    expect(counts).toEqual({
      route_history: 10,
      route_availability_history: 2,
      fare_history: 8,
      route_changes: 31,
      availability_changes: 18,
      watch_changes: 38,
    })
    expect(result).toEqual({ before: FLOOR, deleted: Object.values(gone).flat().length, needs: [] })
    expect(Object.values(without(gone, await exportedRows(to))).flat()).toEqual([])
    expect(await asOf()).toEqual(answers)
    const refused = 'the history before 2026-06-01T00:00:00Z is archived'
    expect([await routesAsOf(db, BELOW), await faresAsOf(db, BELOW)]).toEqual([refused, refused])
    const { rows: floors } = await sql<{ name: string; first: number | null }>`
      select view_name as name, first_seq as first, complete_from = '2026-06-01T00:00Z' as since
        from farewatch.history_starts order by 1
    `.execute(db)
    expect(floors).toEqual([
      { name: 'availability_changes', first: 19, since: true },
      { name: 'durable_route_history', first: null, since: true },
      { name: 'fare_history', first: null, since: true },
      { name: 'route_availability_history', first: null, since: true },
      { name: 'route_changes', first: 32, since: true },
      { name: 'route_history', first: null, since: true },
      { name: 'watch_changes', first: null, since: true },
    ])
    // The day that was not rolled up before can never be rolled up later.
    const { rows: days } = await sql`
      select from daily_network where day = '2026-05-31'
    `.execute(db)
    expect(days.length).toBeGreaterThan(0)
    expect(await prune(db, to)).toEqual({ ...result, deleted: 0 })
  })

  it('keeps the records that an endpoint still needs, and the changes that they cite', async ({
    database,
  }) => {
    const { db } = database
    const { endpoint, to } = await exported(database)
    await sql`
      insert into delivery (endpoint_id, seq, previous_seq, recorded_at)
      select ${endpoint}, 5, 0, recorded_at from watch_change where reseller_id = 1 and seq = 5
    `.execute(db)
    const recordsFrom = async (seq: number) => {
      const { rows } = await sql`
        select w.seq, c.seq as change from watch_change w left join availability_change c on c.id = w.change_id
         where w.reseller_id = 1 and w.seq >= ${seq}
         order by w.seq
      `.execute(db)
      return rows
    }
    const kept = await recordsFrom(5)

    const { needs } = await prune(db, to)

    expect(needs).toEqual([{ reseller: 'ana', endpointId: endpoint, seq: 5 }])
    expect(await recordsFrom(0)).toEqual(kept)
    const { rows: first } = await sql<{ first: number; min: number }>`
      select (select first_seq from feed_head where feed = 'availability') as first,
             (select min(seq) from availability_change) as min,
             (select min(seq) from watch_change where reseller_id = 2) > 5 as "benIsPruned"
    `.execute(db)
    expect(first).toEqual([{ first: 4, min: 4, benIsPruned: true }])
  })

  it('refuses an export that lacks a table, or of which a file is missing or changed, and deletes nothing', async ({
    database,
  }) => {
    const { db } = database
    const { to } = await exported(database)
    const before = await storedRows(db)
    const file = path.join(to, 'fare_history.parquet')
    const manifest = path.join(to, 'export.json')
    const [bytes, text] = [await readFile(file), await readFile(manifest, 'utf8')]
    const tables = text.replace('"name": "watch_changes"', '"name": "other"')

    await expect(prune(db, await temporaryDirectory())).rejects.toThrow(
      /has route_history up to 0, and/,
    )
    await writeFile(manifest, tables)
    await expect(prune(db, to)).rejects.toThrow(
      /has watch_changes up to 0, and rows up to \d+ would/,
    )
    await writeFile(manifest, '{}')
    await expect(prune(db, to)).rejects.toThrow(/export\.json is not the manifest of an export/)
    await writeFile(manifest, text)
    await writeFile(file, bytes.with(100, (bytes[100] ?? 0) ^ 1))
    await expect(prune(db, to)).rejects.toThrow(
      /fare_history\.parquet is not the file that its manifest names/,
    )
    await rm(file)
    await expect(prune(db, to)).rejects.toThrow(/fare_history\.parquet is missing/)
    await writeFile(file, bytes)
    await beginGeneration(db)
    await expect(prune(db, to)).rejects.toThrow(
      /is of generation 1, and a restore began generation 2/,
    )

    expect(await storedRows(db)).toEqual(before)
    const { rows } = await sql`select farewatch.history_floor() as floor`.execute(db)
    expect(rows).toEqual([{ floor: null }])
  })

  it('deletes no interval that was written after the export that it checked', async ({ db }) => {
    await seedHistory(db)
    await sql`update prune set before = ${FLOOR}::timestamptz, written_before = '1'`.execute(db)

    expect(await deletePruned(db)).toBe(0)
    await sql`update prune set written_before = pg_current_xact_id()`.execute(db)
    expect(await deletePruned(db)).toBe(20)
  })

  it('refuses days that are too new, and another prune meanwhile', async ({ db }) => {
    await sql`
      insert into sync_run (list, status, baseline, started_at, fetched_at, finished_at)
      select 'routes', 'applied', true, at, at, at from (select '2026-06-30T06:00Z'::timestamptz as at) r
    `.execute(db)
    const to = await temporaryDirectory()

    await expect(prune(db, to, '2999-01-01')).rejects.toThrow(/the last 60 days stay/)
    await expect(prune(db, to, '2026-07-02')).rejects.toThrow(
      /no route list has been accepted since 2026-07-02/,
    )
    await withSessionLock(db, 'prune', async () => {
      await expect(prune(db, to)).rejects.toThrow(
        /the lock "prune" was not free in time: it was held by role/,
      )
    })
  })
})
