import { describe, expect } from 'vitest'
import { sql } from '../../src/platform/db/database.ts'
import { selectOne } from '../../src/platform/db/transaction.ts'
import { findFare } from '../../src/views/fare-operations.ts'
import { available, gone, keepFresh, minute, record, trackFare } from '../fares/fare-fixtures.ts'
import { it } from '../support/test-database.ts'

describe('findFare', () => {
  it('a fare with a pending loss has its belief, its last price and its confirmation', async ({
    db,
  }) => {
    const fareId = await trackFare(db)
    await keepFresh(db)
    await record(db, fareId, minute(1), available('100.00'))
    await record(db, fareId, minute(2), gone)

    expect(await findFare(db, fareId)).toMatchObject({
      outbound: { belief: 'available', price: { amount: '100.00', currency: 'EUR' } },
      return: null,
      state: 'bookable',
      price: { amount: '100.00', currency: 'EUR' },
      lastGoodCheckAt: minute(1),
      contradictedSince: minute(2),
      next: { why: expect.stringContaining('contradicts the belief') },
    })
  })

  it('a claimed fare is being checked, and an unscheduled fare has no next check', async ({
    db,
  }) => {
    const claimed = await trackFare(db, { flightId: '1' })
    const unscheduled = await trackFare(db, { flightId: '2' })
    await sql`
      update fare_schedule set claim_id = uuidv7(), slot_at = clock_timestamp() where tracked_fare_id = ${claimed}
    `.execute(db)
    await sql`delete from fare_schedule where tracked_fare_id = ${unscheduled}`.execute(db)

    expect((await findFare(db, claimed))?.next?.why).toBe('it is being checked')
    expect((await findFare(db, unscheduled))?.next).toBeNull()
    expect(await findFare(db, 999)).toBeUndefined()
  })
})

/** What is shown of the price of a bookable fare, checked so many seconds ago; prices are fresh for ten minutes. */
const CASES = [
  ['a fresh price is shown', { ago: 590 }, [590, null, true]],
  ['an old one is not', { ago: 610 }, [610, 'stale', false]],
  [
    'a fresh one that the last answers lacked is shown, with the reason',
    { ago: 590, price_reason: 'unreadable' },
    [590, 'unreadable', true],
  ],
  [
    'an old one keeps that reason',
    { ago: 610, price_reason: 'unreadable' },
    [610, 'unreadable', false],
  ],
  ['one whose change is held is not shown', { ago: 5, price_reason: 'held' }, [5, 'held', false]],
  ['one that no answer showed is not', { price_reason: 'unreadable' }, [null, 'unreadable', false]],
  ['one from before the clock was set back is not', { ago: -60 }, [null, 'stale', false]],
  [
    'none is shown of a fare that is sold out',
    { ago: 5, pair: 'not_bookable' },
    [null, null, false],
  ],
  ['none is shown of a hidden belief', { ago: 5, hidden: 'held' }, [null, null, false]],
] as const

it.for(CASES)('%s', async ([, given, expected], { db }) => {
  const { ago, ...fields } = { ago: null, pair: 'bookable', ...given }
  const { seconds, reason, is_shown } = await selectOne(
    sql<{ seconds: number | null; reason: string | null; is_shown: boolean }>`
      select round(extract(epoch from statement_timestamp() - p.checked_at))::int as seconds, p.reason, p.is_shown
        from (select statement_timestamp() - make_interval(secs => ${ago}) as at) t
       cross join lateral jsonb_populate_record(null::fare_state, ${JSON.stringify(fields)}::jsonb || jsonb_build_object('price_checked_at', t.at)) s
       cross join lateral shown_price(s, interval '10 minutes') p
    `,
    db,
  )

  expect([seconds, reason, is_shown]).toEqual(expected)
})
