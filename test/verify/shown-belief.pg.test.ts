import fc from 'fast-check'
import { expect } from 'vitest'
import { sql } from '../../src/db/database.ts'
import {
  pairOf,
  priceCheckOf,
  shownPrice,
  viewOf,
  withoutOldPrices,
} from '../../src/verify/decide/fare-state.ts'
import { shownBelief } from '../../src/watch/notify-watches.ts'
import { it } from '../support/test-database.ts'
import { at } from './answers.ts'
import { anyStory, play } from './stories.ts'

it('the start of a watch shows of any belief what a change shows of it', async ({ db }) => {
  const states = fc.sample(anyStory, 500).flatMap((story) => {
    const last = play(story).at(-1)
    return last === undefined ? [] : [last.decision.state]
  })
  const rows = states.map((state, i) => ({
    id: i,
    outbound: state.outbound.belief,
    return: state.return?.belief ?? null,
    pair: pairOf(state),
    price: shownPrice(state)?.amount ?? null,
    currency: shownPrice(state)?.currency ?? null,
    price_checked_at: priceCheckOf(state).checkedAt,
    state: state,
  }))
  const freshSince = at(60)

  const { rows: shown } = await sql<{ belief: unknown }>`
    select ${shownBelief(sql`${freshSince}::timestamptz`)} as belief
      from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb)
           s (id bigint, outbound text, return text, pair text, price numeric, currency text, price_checked_at timestamptz,
             state jsonb)
     order by s.id
  `.execute(db)

  expect(shown.map(({ belief }) => belief)).toEqual(
    states.map((state) => viewOf(withoutOldPrices(state, freshSince))),
  )
  expect(new Set(states.map(pairOf)).size).toBe(3)
})
