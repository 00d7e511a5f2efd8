import { expect, it } from 'vitest'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { migrate } from '../../src/platform/db/migrate.ts'
import { createEmptyDatabase, openAnother } from '../platform/db/empty-database.ts'

type Run = readonly [
  list: string,
  status: string,
  review: number | null,
  resolution?: string,
  resolvedBy?: number | null,
]

/** Runs as they were recorded while several could be held, an hour apart, each with its own bytes. */
async function upgraded(runs: readonly Run[]): Promise<Db> {
  const { db } = openAnother(await createEmptyDatabase())
  await migrate(db, { last: '0037_renumbered_places_view' })
  for (const [at, [list, status, review, resolution = null]] of runs.entries()) {
    const instant = new Date(Date.UTC(2026, 0, 1, at))
    await sql`
      insert into sync_run (list, status, review_id, resolution, resolved_at, reason_code, content_hash,
                            started_at, arrived_at, fetched_at, finished_at)
      values (${list}, ${status}, ${review}, ${resolution}, ${resolution === null ? null : instant},
              ${status === 'applied' && review !== null ? 'agreed' : null}, ${String(at)},
              ${instant}, ${instant}, ${instant}, ${instant})
    `.execute(db)
  }
  for (const [at, run] of runs.entries()) {
    await sql`update sync_run set resolved_by = ${run[4] ?? null} where id = ${at + 1}`.execute(db)
  }
  await migrate(db)
  return db
}

const heldLists = async (db: Db) =>
  (await db.selectFrom('held_list').selectAll().orderBy('list').execute()).map(
    ({ list, first_run_id, lists, rejected_at }) => [list, first_run_id, lists, rejected_at],
  )

it('of the held runs of several reviews, the newest list stays with those that agree in a row', async () => {
  const db = await upgraded([
    ['routes', 'applied', null],
    ['routes', 'held', 2],
    ['routes', 'held', 3],
    ['routes', 'held', 2],
    ['routes', 'held', 2],
    ['with-availability', 'held', 6],
  ])

  expect(await heldLists(db)).toEqual([
    ['routes', 4, 2, null],
    ['with-availability', 6, 1, null],
  ])
  const { rows } =
    await sql`select status, resolution, resolved_by from sync_run order by id`.execute(db)
  const superseded = { status: 'dropped', resolution: 'superseded', resolved_by: 5 }
  expect(rows.slice(1)).toMatchObject([
    ...[superseded, superseded, superseded],
    ...[{ status: 'held' }, { status: 'held' }],
  ])
})
