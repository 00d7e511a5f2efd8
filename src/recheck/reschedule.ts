import { PREPARED, sql, type Tx } from '../db/database.ts'
import { maxDelayOf } from '../watch/fare-payers.ts'
import { promisedTicket } from '../watch/max-delays.ts'
import { FLOOR } from './policy/ticket.ts'
import { addCredit, movingRoutes, pullRoutes } from './pull-routes.ts'
import { type CheckRating, type CheckToRate, rateFares } from './rate-fares.ts'
import type { RateStore } from './rate-store.ts'
import { RETRY_AFTER_SECONDS, type RecheckRules } from './recheck-rules.ts'

/** What follows a check: the next one by the schedule, a confirmation at an instant, one early retry, or the next one in an hour. */
export type FollowUp = 'normal' | 'retry' | 'hourly' | { readonly confirmAt: Date }

export interface CompletedCheck {
  readonly fareId: number
  /** When its request began, by the database's clock. */
  readonly askedAt: Date
  readonly next: FollowUp
  /** Missing where the check shows nothing of the rate of change: it failed, or awaits its confirmation. */
  readonly rating?: CheckRating | undefined
}

/**
 * The next ticket. Without a rating a fare loses the part that a surprise of its route had raised it by, down to the floor and to
 * what its longest delay needs.
 */
const NEXT_TICKET = sql`coalesce(i.ticket, greatest(
  s.ticket / sqrt(greatest(s.surprise, 1)), least(s.ticket, ${FLOOR}::float8 * p.tickets / greatest(p.fares, 1)),
  ${promisedTicket(sql`i.max_delay_seconds`, sql`i.budget`)}))`

/** Whether the check was one of the schedule. A confirmation, a retry and a check on demand are none. */
const IS_SCHEDULED = sql`s.claim_id is not null and (s.lane is null or s.lane = 'new_watch')`

/**
 * Sets when each checked fare is due again, with its new ticket, and releases its claim.
 *
 * The virtual due time moves forward by the price of the check (\`nextDue\` in policy/stride.ts computes the same).
 *
 * \`not_before\` keeps the minimum interval from request to request: counted from now, every interval would be longer by
 * the time that the batch took. The virtual due time is raised to at least the end of that interval, so that fares that
 * must wait do not crowd the head of the queue; few have a longest delay, and those keep their place. A failure has one early retry. A retry that fails again waits for the
 * next check by the schedule: otherwise ids that never answer would hold up the queue.
 */
export async function reschedule(
  tx: Tx,
  checks: readonly CompletedCheck[],
  { requestsPerSecond, minRecheckSeconds, rates }: RecheckRules,
): Promise<void> {
  const toRate = checks.flatMap(({ rating, ...check }) => (rating ? [{ ...check, rating }] : []))
  const rated = rates
    ? await rateFares(tx, toRate, { rates, requestsPerSecond, minRecheckSeconds })
    : []
  await sql`${PREPARED}
    update fare_schedule s
       set claim_id = null,
           slot_at = null,
           leased_until = '-infinity',
           not_before = least(i.asked_at, clock_timestamp()) + make_interval(secs => i.seconds),
           ticket = ${NEXT_TICKET},
           route = coalesce(i.route, s.route),
           surprise = coalesce(i.surprise, least(s.surprise, 1)),
           changes_per_day = coalesce(i."changesPerDay", s.changes_per_day / greatest(s.surprise, 1)),
           rated_state = case when i.ticket is null then s.rated_state else i."ratedState" end,
           rated_at = case when i.ticket is null then s.rated_at else to_timestamp(i."ratedAt") end,
           changed_at = case when i.ticket is null then s.changed_at else to_timestamp(i."changedAt") end,
           available_changes = coalesce(i."availableChanges", s.available_changes),
           available_exposure = coalesce(i."availableExposure", s.available_exposure),
           available_value = coalesce(i."availableValue", s.available_value),
           unavailable_changes = coalesce(i."unavailableChanges", s.unavailable_changes),
           unavailable_exposure = coalesce(i."unavailableExposure", s.unavailable_exposure),
           unavailable_value = coalesce(i."unavailableValue", s.unavailable_value),
           vdue = greatest(s.vdue + 1 / ${NEXT_TICKET} - case when ${IS_SCHEDULED} then 0 else 1 / s.ticket end,
                           p.v + case when i.max_delay_seconds is null
                                      then i.seconds * p.budget_part * ${requestsPerSecond}::float8 / greatest(p.tickets, 1)
                                      else 0 end),
           lane = i.lane,
           lane_due_at = case i.lane
             when 'confirmation' then i.confirm_at
             when 'retry' then clock_timestamp() + make_interval(secs => ${RETRY_AFTER_SECONDS})
           end
      from (select d.fare_id, d.asked_at, d.confirm_at, ${maxDelayOf(sql`old.payer`, sql`${minRecheckSeconds}::int`)} as max_delay_seconds, ${requestsPerSecond}::float8 as budget,
                   greatest(${minRecheckSeconds}::int, coalesce(f.min_interval_seconds, 0),
                            case when d.next = 'hourly' then 3600 end) as seconds,
                   case when d.next = 'confirm' then 'confirmation'
                        when d.next = 'retry' and old.lane is distinct from 'retry' then 'retry'
                   end as lane, r.*
              from unnest(${checks.map((c) => c.fareId)}::bigint[],
                           ${checks.map(({ next }) => (typeof next === 'string' ? next : 'confirm'))}::text[],
                           ${checks.map(({ next }) => (typeof next === 'string' ? null : next.confirmAt))}::timestamptz[],
                           ${checks.map((c) => c.askedAt)}::timestamptz[]) d (fare_id, next, confirm_at, asked_at)
              join tracked_fare f on f.id = d.fare_id
              join fare_schedule old on old.tracked_fare_id = d.fare_id
              left join jsonb_to_recordset(${JSON.stringify(rated)}::jsonb)
                as r ("fareId" bigint, ticket float8, "changesPerDay" float8, route text, surprise float8, "ratedState" text, "ratedAt" float8, "changedAt" float8,
                      "availableChanges" float8, "availableExposure" float8, "availableValue" float8,
                      "unavailableChanges" float8, "unavailableExposure" float8, "unavailableValue" float8)
                on r."fareId" = d.fare_id) i
     cross join recheck_payer p
     where s.tracked_fare_id = i.fare_id and p.reseller_id = s.payer
  `.execute(tx)
  if (rates) await pullSurprised(tx, toRate, rates)
}

/** Pulls the other fares of routes forward whose changes surprise. */
async function pullSurprised(
  tx: Tx,
  checks: readonly CheckToRate[],
  { read, pulls }: RateStore,
): Promise<void> {
  addCredit(pulls, checks.length)
  const changed = checks.filter(({ rating }) => rating.changed && rating.route !== null)
  if (changed.length === 0) return
  const at = Math.max(...changed.map(({ askedAt }) => askedAt.getTime())) / 1_000
  const routes = changed.flatMap(({ rating }) => rating.route ?? [])
  const moving = movingRoutes(await read(tx), routes, at)
  const except = checks.map(({ fareId }) => fareId)
  await pullRoutes(tx, { routes: moving, except }, pulls)
}

/**
 * Releases the claim on fares that were not checked: their slot had passed, the circuit breaker was open, or the upstream
 * answered 429. They are due at once. What their resellers paid is not given back: this happens to all alike.
 */
export async function releaseClaims(
  tx: Tx,
  claimId: string,
  fareIds: readonly number[],
): Promise<void> {
  if (fareIds.length === 0) return
  await sql`
    update fare_schedule
       set claim_id = null, slot_at = null, leased_until = '-infinity'
     where claim_id = ${claimId} and tracked_fare_id = any(${fareIds}::bigint[])
  `.execute(tx)
}
