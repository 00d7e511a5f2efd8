import { sql, type Tx } from '../db/database.ts'
import { CONFIRM_AFTER_SECONDS, RETRY_AFTER_SECONDS, type RecheckRules } from './recheck-rules.ts'

/** What follows a check: the next one by the schedule, a confirmation soon, or one early retry. */
export type FollowUp = 'normal' | 'confirm' | 'retry'

export interface CompletedCheck {
  readonly fareId: number
  /** When its request began, by the database's clock. */
  readonly askedAt: Date
  readonly next: FollowUp
}

/**
 * Sets when each checked fare is due again, and releases its claim.
 *
 * `not_before` keeps the minimum interval from request to request: counted from now, every interval would be longer by
 * the time that the batch took. The virtual due time is raised to at least the end of that interval, so that fares that
 * must wait do not crowd the head of the queue. A failure has one early retry. A retry that fails again waits for the
 * next check by the schedule: otherwise ids that never answer would hold up the queue.
 */
export async function reschedule(
  tx: Tx,
  checks: readonly CompletedCheck[],
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
      from (select d.fare_id, d.asked_at,
                   greatest(${minRecheckSeconds}::int, coalesce(f.min_interval_seconds, 0)) as seconds,
                   case when d.next = 'confirm' then 'confirmation'
                        when d.next = 'retry' and old.lane is distinct from 'retry' then 'retry'
                   end as lane
              from unnest(${checks.map((c) => c.fareId)}::bigint[], ${checks.map((c) => c.next)}::text[],
                           ${checks.map((c) => c.askedAt)}::timestamptz[]) d (fare_id, next, asked_at)
              join tracked_fare f on f.id = d.fare_id
              join fare_schedule old on old.tracked_fare_id = d.fare_id) i,
           recheck_clock c
     where s.tracked_fare_id = i.fare_id
  `.execute(tx)
}

/**
 * Releases the claim on fares that were not checked: their slot had passed, the circuit breaker was open, or the upstream
 * answered 429. They are due at once.
 *
 * The claim moved the virtual due time forward by the price of a check, except of confirmations and retries: their fares
 * come back in their lane. That price is given back.
 */
export async function releaseClaims(
  tx: Tx,
  claimId: string,
  fareIds: readonly number[],
): Promise<void> {
  if (fareIds.length === 0) return
  await sql`
    update fare_schedule
       set claim_id = null, slot_at = null, not_before = clock_timestamp(),
           lane_due_at = case when lane is not null then clock_timestamp() end,
           vdue = case when lane is null or lane = 'new_watch' then vdue - 1 / ticket else vdue end
     where claim_id = ${claimId} and tracked_fare_id = any(${fareIds}::bigint[])
  `.execute(tx)
}
