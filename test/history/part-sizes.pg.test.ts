import { describe, expect } from 'vitest'
import { daysUntilFull, readGrowth } from '../../src/history/roll-up-days.ts'
import { sql } from '../../src/platform/db/database.ts'
import { it } from '../support/test-database.ts'

describe('the storage of the database', () => {
  it('its growth a day follows from its sizes of the last 30 days', async ({ db }) => {
    expect(await readGrowth(db)).toBeNull()
    await sql`
      insert into daily_rollup (day, computed_at, database_bytes)
      select current_date - n, clock_timestamp() - n * interval '1 day', case when n > 30 then 0 else 9000 - 100 * n end
        from generate_series(0, 40) n
    `.execute(db)

    expect(await readGrowth(db)).toBeCloseTo(100)
    expect(daysUntilFull(1_000, 100)).toBe(10)
    expect(daysUntilFull(1_000, -1)).toBeNull()
  })
})
