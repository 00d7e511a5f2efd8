import { sql, type Tx } from '../db/database.ts'
import { CONFIRM_AFTER_SECONDS, RETRY_AFTER_SECONDS, type RecheckRules } from './recheck-rules.ts'

/** What comes after a check: its turn, a second look at a loss, or one early retry of a failure. */
export type NextCheck = 'normal' | 'confirm' | 'retry'

export interface SettledTurn {
  readonly fareId: number
  /** When its request began, by the database's clock. */
  readonly askedAt: Date
  readonly next: NextCheck
}

/**
 * Sets when each checked fare is due again, and gives its claim back.
 *
 * `not_before` keeps the minimum interval from request to request: counted from here, it would add the time that
 * the batch took to every interval. The virtual due time is lifted to what that interval is worth, so that
 * fares which may not be asked yet do not crowd the head of the queue. A failure has one early retry: a retry that
 * fails again waits for its turn, or dead ids would hold the queue up.
 */
export async function settleTurns(
  tx: Tx,
  turns: readonly SettledTurn[],
  { requestsPerSecond, minRecheckSeconds }: RecheckRules,
): Promise<void> {
  await sql`
    update fare_schedule s
       set claim_id = null,
           slot_at = null,
           not_before = least(i.asked_at, clock_timestamp()) + make_interval(secs => i.seconds),
           vdue = greatest(s.vdue, c.v + i.seconds * ${requestsPerSecond}::float8 / greatest(c.tickets, 1)),
           lane = i.lane,
           lane_due_at = case i.lane
             when 'confirmation' then clock_timestamp() + make_interval(secs => ${CONFIRM_AFTER_SECONDS})
             when 'retry' then clock_timestamp() + make_interval(secs => ${RETRY_AFTER_SECONDS})
           end
      from (select t.fare_id, t.asked_at,
                   greatest(${minRecheckSeconds}::int, coalesce(f.min_interval_seconds, 0)) as seconds,
                   case when t.next = 'confirm' then 'confirmation'
                        when t.next = 'retry' and old.lane is distinct from 'retry' then 'retry'
                   end as lane
              from unnest(${turns.map((t) => t.fareId)}::bigint[], ${turns.map((t) => t.next)}::text[],
                           ${turns.map((t) => t.askedAt)}::timestamptz[]) t (fare_id, next, asked_at)
              join tracked_fare f on f.id = t.fare_id
              join fare_schedule old on old.tracked_fare_id = t.fare_id) i,
           recheck_clock c
     where s.tracked_fare_id = i.fare_id
  `.execute(tx)
}
