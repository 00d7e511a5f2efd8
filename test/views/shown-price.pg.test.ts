import { expect } from 'vitest'
import { sql } from '../../src/platform/db/database.ts'
import { selectOne } from '../../src/platform/db/transaction.ts'
import { it } from '../support/test-database.ts'

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
