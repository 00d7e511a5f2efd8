import { describe, expect } from 'vitest'
import { pruneEvidence, pruneFares } from '../../src/fares/end.ts'
import { sql } from '../../src/platform/db/database.ts'
import { it } from '../support/test-database.ts'
import { available, gone, minute, record, trackFare, watchFare } from './fare-fixtures.ts'

describe('pruning', () => {
  // Fault: The answer behind a change has been deleted.
  it('deletes an answer 90 days after the last change that cited it, and keeps the change', async ({
    db,
  }) => {
    const fare = await trackFare(db)
    await record(db, fare, minute(0), available('80.00'))
    await record(db, fare, minute(1), available('88.00'))
    await sql`update evidence set created_at = created_at - interval '91 days'`.execute(db)
    // The same answer as the first: it is cited again.
    await record(db, fare, minute(12), available('80.00'))

    expect(await pruneEvidence(db)).toBe(1)

    const { rows } = await sql`
      select c.after -> 'price' ->> 'amount' as price, e.hash is not null as kept
        from availability_change c left join evidence e on e.hash = c.evidence_hash order by c.seq
    `.execute(db)
    expect(rows).toEqual([
      { price: '80.00', kept: true },
      { price: '88.00', kept: false },
      { price: '80.00', kept: true },
    ])
  })

  it('deletes fares that ended long ago and have neither a watch nor a history', async ({ db }) => {
    const [unanswered, answered, watched, fresh] = [
      await trackFare(db, { flightId: 'F1' }),
      await trackFare(db, { flightId: 'F2' }),
      await trackFare(db, { flightId: 'F3' }),
      await trackFare(db, { flightId: 'F4' }),
    ]
    await watchFare(db, 'ana', watched)
    await record(db, answered, minute(0), gone)
    await record(db, answered, minute(1), gone)
    await sql`insert into fare_state (tracked_fare_id, state) values (${unanswered}, '{}')`.execute(
      db,
    )
    await sql`
      update tracked_fare set ended_at = clock_timestamp() - case id when ${fresh} then interval '1 day' else '31 days' end
    `.execute(db)

    expect(await pruneFares(db)).toBe(1)

    const { rows } = await sql<{ id: number }>`select id from tracked_fare order by id`.execute(db)
    expect(rows.map(({ id }) => id)).toEqual([answered, watched, fresh])
  })
})
