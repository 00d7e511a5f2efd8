import { type RawBuilder, sql } from '../db/database.ts'

const NO_FLIGHT = sql`jsonb_build_object('identity', null, 'itinerary', null, 'flight', null)`

function shownLeg(leg: 'outbound' | 'return'): RawBuilder<unknown> {
  return sql`
    jsonb_build_object('belief', s.state #> array[${leg}::text, 'belief'],
                       'price', case when s.pair = 'bookable' then s.state #> array[${leg}::text, 'price'] end)
    || case when s.state #>> array[${leg}::text, 'belief'] = 'available'
            then jsonb_build_object('identity', s.state #> array[${leg}::text, 'identity'],
                                    'itinerary', s.state #> array[${leg}::text, 'itinerary'],
                                    'flight', s.state #> array[${leg}::text, 'flight'])
            else ${NO_FLIGHT} end
  `
}

/**
 * What a record shows of the belief of a fare, from its row `s` of fare_state, which a check has written and which has
 * not expired: the same as `viewOf` gives (src/verify/decide/fare-state.ts). In SQL, so that an import can start many
 * thousand watches in one statement.
 */
export const SHOWN_BELIEF = sql`
  jsonb_build_object(
    'pair', s.pair,
    'outbound', ${shownLeg('outbound')},
    'return', case when s.return is not null then ${shownLeg('return')} end,
    'price', case when s.price is not null
                  then jsonb_build_object('amount', s.price::text, 'currency', s.currency) end)
`
