import { sql } from '../db/database.ts'

/**
 * Whether the departure of tracked fare `f` with state `s` has passed everywhere on earth: its flight's local time
 * read as UTC−12, or the end of the day that its watches gave, there.
 */
export const HAS_DEPARTED = sql`
  coalesce((s.state #>> '{outbound,flight,departsAt}')::timestamp + interval '12 hours' < clock_timestamp() at time zone 'UTC'
           or f.departs_on + interval '36 hours' < clock_timestamp() at time zone 'UTC', false)
`
