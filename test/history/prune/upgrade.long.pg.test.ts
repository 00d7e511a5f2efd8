import { expect } from 'vitest'
import { sql } from '../../../src/platform/db/database.ts'
import { readHistoryFloor } from '../../../src/platform/db/history-floor.ts'
import { migrate } from '../../../src/platform/db/migrate.ts'
import { createEmptyDatabase, openAnother } from '../../platform/db/empty-database.ts'
import { it } from '../../support/test-database.ts'

it('a database with archives keeps their floor, and one without them has none', async () => {
  const [archived, whole] = [
    openAnother(await createEmptyDatabase()),
    openAnother(await createEmptyDatabase()),
  ]
  for (const { db } of [archived, whole]) {
    await migrate(db, { last: '0042_sites_and_passenger_prices' })
    await sql`insert into archive (before) values ('2026-09-01T00:00Z')`.execute(db)
  }
  await sql`
    insert into archive (before, applied_at) values ('2026-06-01T00:00Z', now()), ('2026-03-01T00:00Z', now())
  `.execute(archived.db)
  await sql`update feed_head set first_seq = 5, last_seq = 9 where feed = 'route'`.execute(
    archived.db,
  )

  for (const { db } of [archived, whole]) await migrate(db)

  expect(await readHistoryFloor(archived.db)).toEqual(new Date('2026-06-01T00:00Z'))
  expect(await readHistoryFloor(whole.db)).toBeNull()
  const starts = sql`
    select view_name, complete_from, first_seq from farewatch.history_starts where view_name like '%changes' order by 1
  `
  const since = new Date('2026-06-01T00:00Z')
  expect((await starts.execute(archived.db)).rows).toEqual([
    { view_name: 'availability_changes', complete_from: null, first_seq: 1 },
    { view_name: 'route_changes', complete_from: since, first_seq: 5 },
    { view_name: 'watch_changes', complete_from: since, first_seq: null },
  ])
  // Rows of before may be gone: an export that began before the upgrade does not go on in silence.
  const { rows } = await sql`select written_before > '0' as archived from prune`.execute(
    archived.db,
  )
  expect(rows).toEqual([{ archived: true }])
})
