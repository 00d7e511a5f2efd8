import type { RatedState } from '../base/kinds.ts'
import { type RawBuilder, sql } from '../db/database.ts'
import { FIRST_RATE } from './policy/ticket.ts'

/**
 * The changes a day of a fare with the schedule row `q`: the estimate of its own checks, without the factors, which hold for
 * hours only. `priorOf` and `rateOf` in policy/ compute the same.
 */
export const RATE = sql`
  case when q.rated_state = 'unavailable' then ${rateIn('unavailable')} else ${rateIn('available')} end
`

/** The running value of the events of a fare with the schedule row `q`. */
export const EVENT_VALUE = sql`
  case when q.rated_state = 'unavailable' then q.unavailable_value else q.available_value end
`

function rateIn(state: RatedState): RawBuilder<unknown> {
  return sql`
    (1 + ${sql.ref(`q.${state}_changes`)})
      / ((select (1 / ${FIRST_RATE}::float8 + coalesce(sum(expected), 0)) / (1 + coalesce(sum(observed), 0))
            from recheck_factor where name = ${`all ${state}`}) + ${sql.ref(`q.${state}_exposure`)})
  `
}
