import fc from 'fast-check'
import { expect } from 'vitest'
import { priceReasonOf, storedState, withoutPrice } from '../../src/fares/state.ts'
import { sql } from '../../src/platform/db/database.ts'
import { shownBelief } from '../../src/watches/notify-watches.ts'
import { it } from '../support/test-database.ts'
import { at } from './answers.ts'
import { anyStory, play } from './stories.ts'

it('the start of a watch shows the belief, without a price that is old or held', async ({ db }) => {
  const states = fc.sample(anyStory, 500).flatMap((story) => {
    const last = play(story).at(-1)
    return last === undefined ? [] : [last.decision.state]
  })
  const rows = states.map((state, i) => ({
    id: i,
    pair: state.belief.pair,
    return: state.belief.return?.belief ?? null,
    price_checked_at: state.pricedAt,
    price_reason: i % 7 === 0 ? 'held' : priceReasonOf(state),
    state: storedState(state),
  }))
  const freshSince = at(60)

  const { rows: shown } = await sql<{ belief: unknown }>`
    select ${shownBelief(sql`${freshSince}::timestamptz`)} as belief
      from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb)
           s (id bigint, pair text, return text, price_checked_at timestamptz, price_reason text, state jsonb)
     order by s.id
  `.execute(db)

  expect(shown.map(({ belief }) => belief)).toEqual(
    states.map((state, i) => {
      const { belief, pricedAt } = state
      const isShown = pricedAt !== null && Date.parse(pricedAt) >= freshSince.getTime()
      return isShown && i % 7 !== 0
        ? belief
        : withoutPrice(belief, i % 7 === 0 ? 'held' : (priceReasonOf(state) ?? 'stale'))
    }),
  )
  expect(new Set(states.map(({ belief }) => belief.pair)).size).toBe(3)
})
