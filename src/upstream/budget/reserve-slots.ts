import type { Clock } from '../../base/clock.ts'
import { type Db, type RawBuilder, sql, type Tx } from '../../db/database.ts'
import { inTransaction, selectOne } from '../../db/transaction.ts'
import {
  HORIZON_MS,
  type Skew,
  skewOf,
  type TakenSlot,
  type WaitOptions,
  waitForSlot,
} from './take-slot.ts'
import { MAX_PAUSE_MS, RECOVERY_PER_SECOND } from './throttle.ts'

/** The part of the budget that all lanes together may take. */
const LANE_SHARE = 0.4

const DAY_US = 86_400_000_000
/** How soon one who was given nothing asks again: at the pace of the slots, within these. */
const RETRY_MS = { min: 50, max: 1_000 }

export interface SlotRequest {
  /** The rate that may be spent now; 0 gives nothing. */
  readonly requestsPerSecond: number
  readonly wanted: number
  /** Whether the slots are for a lane: a confirmation, a first look, a retry, an on-demand check. */
  readonly lane: boolean
  /** Slots further ahead than this are left to others; absent: as far as slots are given at all. */
  readonly withinMs?: number
}

export interface Reservation {
  /** The instants at which to call, in order, by the database's clock; as many as could be had, maybe none. */
  readonly slots: Date[]
  /** The database's clock when they were given: beside the caller's own it shows the skew. */
  readonly now: Date
}

/**
 * Reserves up to `wanted` slots of the budget, which all processes share.
 *
 * GCRA with a burst of one: slots lie at least 1/B apart, whoever takes them, and none lies further than five
 * seconds ahead. Lanes have a second clock beside it that moves on 2.5/B a slot and may be ahead by the same five
 * seconds: they take 40 % in the long run, without leaving holes between their slots that nobody can fill.
 *
 * Nothing is given while the upstream has paused us, and less than B after it: the same row holds until when, and
 * what part of B may be spent, which grows back by 1 % of B a second. `shareAt` says the same of that part.
 *
 * Holds the one row that all share until the transaction ends: reserve late in it. A transaction that is rolled
 * back gives its slots back.
 */
export async function reserveSlots(
  tx: Tx,
  { requestsPerSecond, wanted, lane, withinMs = HORIZON_MS }: SlotRequest,
): Promise<Reservation> {
  const pace = {
    spacingUs: spacingOf(requestsPerSecond),
    laneSpacingUs: spacingOf(requestsPerSecond * LANE_SHARE),
    wanted: requestsPerSecond > 0 ? wanted : 0,
    lane,
    withinMs,
  }
  const { firstUs, spacingUs, given, nowUs } = await selectOne(advanceBudget(pace), tx)
  const slots = Array.from({ length: given }, (_, at) => fromMicros(firstUs + at * spacingUs))
  return { slots, now: fromMicros(nowUs) }
}

interface Pace {
  readonly spacingUs: number
  readonly laneSpacingUs: number
  readonly wanted: number
  readonly lane: boolean
  readonly withinMs: number
}

/**
 * The row is locked first and the clock read behind the lock: read before a long wait for it, it would give slots
 * that have passed. No clock of the budget stands further ahead than a reservation can have put it: where one
 * does, the database's clock was set back, and waiting for the old time would stop everything.
 */
function advanceBudget({ spacingUs, laneSpacingUs, wanted, lane, withinMs }: Pace) {
  const horizon = micros(HORIZON_MS * 1000)
  const countTo = (from: RawBuilder<unknown>, step: RawBuilder<unknown>) => sql`
    floor(extract(epoch from now + ${micros(withinMs * 1000)} - ${from}) / extract(epoch from ${step})) + 1
  `
  const laneCount = lane ? countTo(sql`lane_at`, sql`lane_spacing`) : sql`${wanted}::int`
  const slotCount = sql`least(${wanted}::int, ${countTo(sql`slot_at`, sql`spacing`)}, ${laneCount})`
  return sql<{ firstUs: number; spacingUs: number; given: number; nowUs: number }>`
    with locked as materialized (
      select * from upstream_budget for update
    ), timed as materialized (
      select *, clock_timestamp() as now from locked
    ), paced as materialized (
      select *, now < paused_until and paused_until <= now + ${micros(MAX_PAUSE_MS * 1000)} as paused,
             ${slowed(spacingUs)} as spacing, ${slowed(laneSpacingUs)} as lane_spacing
        from timed
    ), opened as (
      select now, paused, spacing, lane_spacing,
             greatest(now, least(next_slot_at, now + ${horizon} + spacing)) as slot_at,
             greatest(now, least(next_lane_at, now + ${horizon} + lane_spacing)) as lane_at
        from paced
    ), granted as materialized (
      select *, case when paused then 0 else greatest(0, ${slotCount}) end::int as given
        from opened
    )
    update upstream_budget
       set next_slot_at = slot_at + given * spacing,
           next_lane_at = lane_at + case when ${lane} then given else 0 end * lane_spacing
      from granted
    returning ${epochMicros('slot_at')} as "firstUs", (extract(epoch from spacing) * 1000000)::bigint as "spacingUs",
              given, ${epochMicros('now')} as "nowUs"
  `
}

/** The part of the budget that may be spent at `now`, from the locked row: `shareAt` in SQL. */
export function shareInSql(): RawBuilder<number> {
  return sql`least(1, share + ${RECOVERY_PER_SECOND}::float8
                            * greatest(0, extract(epoch from now - recovers_from)::float8))`
}

/** The distance of slots of the whole budget, widened to the part of it that may be spent. */
function slowed(spacingUs: number): RawBuilder<unknown> {
  return sql`least(${DAY_US}::float8, ceil(${spacingUs}::float8 / ${shareInSql()})) * interval '1 microsecond'`
}

type CallOptions = Pick<WaitOptions, 'clock' | 'signal'>

/**
 * Waits for a slot for one call outside of any batch, however long it takes. Rejects when the signal aborts.
 */
export async function takeSlot(
  db: Db,
  { clock, signal, ...request }: Omit<SlotRequest, 'wanted'> & CallOptions,
): Promise<TakenSlot> {
  const pauseMs = 1000 / request.requestsPerSecond
  for (;;) {
    signal.throwIfAborted()
    const { slot, ...skew } = await reserveOne(db, clock, request)
    if (slot === undefined) {
      await clock.sleep(Math.min(RETRY_MS.max, Math.max(RETRY_MS.min, pauseMs)), signal)
      continue
    }
    const taken = await waitForSlot(slot, { ...skew, clock, signal })
    if (taken !== undefined) return taken
  }
}

/**
 * Waits for a slot that lies within `withinMs`, for one call outside of any batch; undefined where there is none, or
 * it could not be used. Rejects when the signal aborts.
 */
export async function tryTakeSlot(
  db: Db,
  { clock, signal, ...request }: Required<Omit<SlotRequest, 'wanted'>> & CallOptions,
): Promise<TakenSlot | undefined> {
  const { slot, ...skew } = await reserveOne(db, clock, request)
  return slot && waitForSlot(slot, { ...skew, clock, signal })
}

/** One slot, where there is one, and what its reservation told of the database's clock. */
export async function reserveOne(
  db: Db,
  clock: Clock,
  request: Omit<SlotRequest, 'wanted'>,
): Promise<Skew & { readonly slot: Date | undefined }> {
  return inTransaction(db, async (tx) => {
    const askedMs = clock.now().getTime()
    const { slots, now } = await reserveSlots(tx, { ...request, wanted: 1 })
    return { slot: slots[0], ...skewOf(now, { clock, askedMs }) }
  })
}

/** Rounded up to what Postgres can hold, so that no sum of roundings exceeds the rate. */
function spacingOf(requestsPerSecond: number): number {
  return requestsPerSecond > 0 ? Math.min(DAY_US, Math.ceil(1e6 / requestsPerSecond)) : DAY_US
}

function micros(us: number): RawBuilder<unknown> {
  return sql`${`${us} microseconds`}::interval`
}

/** As a whole number, for a Date keeps no more than milliseconds. */
function epochMicros(column: string): RawBuilder<unknown> {
  return sql`(extract(epoch from ${sql.ref(column)}) * 1000000)::bigint`
}

/** To the millisecond after: never before the slot. */
function fromMicros(us: number): Date {
  return new Date(Math.ceil(us / 1000))
}
