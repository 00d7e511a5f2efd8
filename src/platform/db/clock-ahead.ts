import { CLOCK_ERROR_MS } from '../base/clock.ts'
import { type RawBuilder, sql } from './database.ts'

/** `isAhead` of base/clock.ts in SQL: whether the database's clock was set back since an instant. Null for null. */
export function isAhead(instant: RawBuilder<unknown>): RawBuilder<boolean> {
  return sql`(${instant} > clock_timestamp() + make_interval(secs => ${CLOCK_ERROR_MS / 1000}))`
}
