import { type Db, PREPARED, type RawBuilder, sql, type Tx } from '../../platform/db/database.ts'
import { selectOne } from '../../platform/db/transaction.ts'
import { limitSpacingUs } from './budget-limit.ts'
import { isPaused, lockThrottle, shareAt } from './throttle.ts'

/** No slot is reserved further ahead, because a reservation cannot react to what is learned after it. */
export const HORIZON_MS = 5_000
/** The part of the budget that all lanes together may take. */
export const LANE_SHARE = 0.4

const DAY_US = 86_400_000_000

export interface SlotRequest {
  /** The rate that may be spent now. At 0 no slot is granted. */
  readonly requestsPerSecond: number
  readonly wanted: number
  /** Whether the slots are for a lane: a confirmation, a first check, a retry, an on-demand check. */
  readonly lane: boolean
  /** Slots further ahead than this are not taken. Default: the horizon. */
  readonly withinMs?: number
}

interface Reservation {
  /** The instants at which to call, in order, by the database's clock. There may be fewer than wanted, or none. */
  readonly slots: Date[]
  /** The database's clock at the reservation. Compared with the caller's own clock it shows the skew. */
  readonly now: Date
}

/**
 * Reserves up to `wanted` slots of the budget, which all processes share.
 *
 * GCRA with a burst of one: slots of all processes are at least 1/B apart, and at most five seconds ahead. Lanes have
 * a second clock that advances by 2.5/B a slot and may also be five seconds ahead. In the long run lanes take 40 %,
 * and leave no unusable gaps between their slots.
 *
 * No slot is granted while the upstream has paused us, and fewer than B a second afterwards: the same row stores the
 * end of the pause and the part of B that may be spent, which grows afterwards (see `shareAt`). A limit by operators,
 * in the same row, widens the spacing alike.
 *
 * Locks the one shared row until the transaction ends, so reserve late in the transaction. A rollback returns the
 * slots.
 */
export async function reserveSlots(
  tx: Tx,
  { withinMs = HORIZON_MS, ...request }: SlotRequest,
): Promise<Reservation> {
  const { throttle, nowMs } = await lockThrottle(tx)
  const wanted = isPaused(throttle, nowMs) ? 0 : request.wanted
  const open = shareAt(throttle, nowMs)
  const advanced = await selectOne(advanceBudget({ ...request, wanted, withinMs, open }), tx)
  const { firstUs, spacingUs, granted, nowUs } = advanced
  const slots = Array.from({ length: granted }, (_, at) => fromMicros(firstUs + at * spacingUs))
  return { slots, now: fromMicros(nowUs) }
}

interface Advance extends Required<SlotRequest> {
  /** The part of the budget that may be spent now. */
  readonly open: number
}

/**
 * The clock is read after the row is locked. A clock that was read before a long wait for the lock would grant slots
 * in the past. If the budget's clocks are further ahead than any reservation can move them, the database's clock was
 * set back: they are moved back too, because otherwise no slot would be granted until the old time.
 */
function advanceBudget(request: Advance) {
  const { requestsPerSecond, wanted, lane, withinMs } = request
  const most = sql`${requestsPerSecond > 0 ? wanted : 0}::int`
  const horizon = micros(HORIZON_MS * 1000)
  const countTo = (from: RawBuilder<unknown>, step: RawBuilder<unknown>) => sql`
    floor(extract(epoch from now + ${micros(withinMs * 1000)} - ${from}) / extract(epoch from ${step})) + 1
  `
  const laneCount = lane ? countTo(sql`lane_at`, sql`lane_spacing`) : most
  const slotCount = sql`least(${most}, ${countTo(sql`slot_at`, sql`spacing`)}, ${laneCount})`
  return sql<{ firstUs: number; spacingUs: number; granted: number; nowUs: number }>`${PREPARED}
    with timed as materialized (
      select *, clock_timestamp() as now from upstream_budget
    ), paced as materialized (
      select *, ${slowed(request, 1)} as spacing, ${slowed(request, LANE_SHARE)} as lane_spacing
        from timed
    ), opened as (
      select now, spacing, lane_spacing,
             greatest(now, least(next_slot_at, now + ${horizon} + spacing)) as slot_at,
             greatest(now, least(next_lane_at, now + ${horizon} + lane_spacing)) as lane_at
        from paced
    ), counted as materialized (
      select *, greatest(0, ${slotCount})::int as granted
        from opened
    )
    update upstream_budget
       set next_slot_at = slot_at + granted * spacing,
           next_lane_at = lane_at + case when ${lane} then granted else 0 end * lane_spacing
      from counted
    returning ${epochMicros('slot_at')} as "firstUs", (extract(epoch from spacing) * 1000000)::bigint as "spacingUs",
              granted, ${epochMicros('now')} as "nowUs"
  `
}

/** The spacing of a share of the slots, widened to the part of the budget that may be spent now, and to the limit. */
function slowed({ requestsPerSecond, open }: Advance, share: number): RawBuilder<unknown> {
  const spacingUs = Math.ceil(spacingOf(requestsPerSecond * share) / open)
  const us = sql`greatest(${spacingUs}::float8, ${limitSpacingUs(share)})`
  return sql`least(${DAY_US}::float8, ${us}) * interval '1 microsecond'`
}

/** Rounded up to whole microseconds, which Postgres stores, so that rounding never exceeds the rate. */
function spacingOf(requestsPerSecond: number): number {
  return requestsPerSecond > 0 ? Math.min(DAY_US, Math.ceil(1e6 / requestsPerSecond)) : DAY_US
}

function micros(us: number): RawBuilder<unknown> {
  return sql`${`${us} microseconds`}::interval`
}

/** As a whole number, because a Date keeps only milliseconds. */
function epochMicros(column: string): RawBuilder<unknown> {
  return sql`(extract(epoch from ${sql.ref(column)}) * 1000000)::bigint`
}

/** Rounded up to the next millisecond: a call must not go out before its slot. */
function fromMicros(us: number): Date {
  return new Date(Math.ceil(us / 1000))
}

/** How far ahead slots are reserved, in seconds: 0 if the next slot is free now, about 5 if all slots are reserved. */
export async function readBudgetAhead(db: Db): Promise<number> {
  const { seconds } = await selectOne(
    sql<{ seconds: number }>`
      select greatest(0, extract(epoch from next_slot_at - clock_timestamp()))::float8 as seconds
        from upstream_budget
    `,
    db,
  )
  return seconds
}
