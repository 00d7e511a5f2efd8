import { type RawBuilder, sql } from '../platform/db/database.ts'

/** Of more fares than this, a sample of about so many shows what all show. */
const SAMPLED_FARES = 20_000
const PERCENT = sql`
  least(100, 100 * ${SAMPLED_FARES}::float8
               / greatest(1, (select reltuples from pg_class where oid = 'fare_schedule'::regclass)))
`

/** Fares that are checked: whole pages of the table, chosen by chance. */
export const SAMPLE = sql`fare_schedule q tablesample system (${PERCENT})`

/** How many fares meet a condition, if each that is read stands for `scale`. */
export const countOf = (condition = sql`true`, scale = sql`100 / ${PERCENT}`) => sql<number>`
  round(${scale} * count(*) filter (where ${condition}))::float8
`

/**
 * The present row of a fare, by its index: `offset 0` keeps the planner, which does not know how small a sample is, from
 * reading all fares.
 */
export const presentOf = (fareId: RawBuilder<unknown>) => sql`
  lateral (select a.*, s.pair, s.hidden
             from farewatch.fares_current a
             join fare_state s on s.tracked_fare_id = a.fare_id
            where a.fare_id = ${fareId}
           offset 0)
`
