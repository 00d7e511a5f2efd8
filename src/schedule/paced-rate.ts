import { type Db, PREPARED, sql } from '../platform/db/database.ts'
import { selectOne } from '../platform/db/transaction.ts'

/** While the upstream is in trouble, checks take a tenth of the budget: enough to see when the trouble ends. */
const TROUBLE_SHARE = 0.1
/** After it the rate climbs back for this long: full rate at once could overload the upstream again. */
const RAMP_SECONDS = 60

/**
 * The part of the budget that checks may take now, in requests a second.
 * @param trouble whether an incident of upstream trouble is open, and how long ago the last one ended or the errors breaker
 * closed, whichever is later (null: never).
 * @example pacedRate(10, { open: false, closedSecondsAgo: 30 }) // 5
 */
export function pacedRate(
  requestsPerSecond: number,
  trouble: { readonly open: boolean; readonly closedSecondsAgo: number | null },
): number {
  if (trouble.open) return requestsPerSecond * TROUBLE_SHARE
  // Below zero, the clock was set back since: how long ago the trouble ended is unknown.
  if (trouble.closedSecondsAgo === null || trouble.closedSecondsAgo < 0) return requestsPerSecond
  const climbed = Math.max(TROUBLE_SHARE, Math.min(1, trouble.closedSecondsAgo / RAMP_SECONDS))
  return requestsPerSecond * climbed
}

/** The state of upstream trouble, as `pacedRate` takes it. */
export async function readTrouble(
  db: Db,
): Promise<{ open: boolean; closedSecondsAgo: number | null }> {
  return selectOne(
    sql<{ open: boolean; closedSecondsAgo: number | null }>`${PREPARED}
      select coalesce(bool_or(i.id is not null and i.closed_at is null), false) as open,
             extract(epoch from clock_timestamp() - greatest(max(i.closed_at), max(b.closed_at)))::float8
               as "closedSecondsAgo"
        from (select to_timestamp((breakers #>> '{verify,errors,closedAtMs}')::float8 / 1000) as closed_at
                from upstream_breaker) b
        left join incident i on i.kind = 'upstream_trouble'
    `,
    db,
  )
}
