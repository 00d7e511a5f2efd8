import type { CheckLane } from '../base/kinds.ts'
import { sql, type Tx } from '../db/database.ts'
import { selectOne } from '../db/transaction.ts'
import { HORIZON_SECONDS, LEASE_SECONDS, NEW_WATCH_SHARE, RETRY_SHARE } from './recheck-rules.ts'

/** What a check is made for: the schedule (`scheduled`), or one of the lanes that go before it. */

/** A fare that is due, locked until the transaction ends. */
export interface DueFare {
  readonly fareId: number
  readonly vdue: number
  readonly lane: CheckLane
}

/** A fare with the claim that holds it and the slot of its check. */
export interface ClaimedCheck extends DueFare {
  readonly claimId: string
  readonly slotAt: Date
}

/**
 * Whether the fare of schedule `q` has not departed; if it has, its end follows within seconds. An ended fare that is scheduled
 * is asked again. A scalar subquery, because the planner could turn an anti join into a scan of all states.
 */
const NOT_DEPARTED = sql`
  coalesce((select s.departs_at from fare_state s where s.tracked_fare_id = q.tracked_fare_id and s.expired_at is null)
             > clock_timestamp(), true)
`

/** How many slots of the budget can be reserved at one moment. */
export function horizonCalls(requestsPerSecond: number): number {
  return Math.floor(requestsPerSecond * HORIZON_SECONDS) + 1
}

/**
 * The fares that are due in the lanes, confirmations first. Each lane has a share of the budget, so that many new watches
 * or ids that never answer delay no confirmation.
 */
export async function findLaneFares(tx: Tx, requestsPerSecond: number): Promise<DueFare[]> {
  const share = (of: number) => Math.ceil(of * requestsPerSecond * HORIZON_SECONDS)
  const lane = (name: string, limit: number) => sql`
    (select tracked_fare_id, vdue
       from fare_schedule q
      where lane = ${name} and lane_due_at <= now() and ${NOT_DEPARTED}
      order by lane_due_at
      limit ${limit}
        for update skip locked)
  `
  const { rows } = await sql<DueFare>`
    with confirmation as ${lane('confirmation', horizonCalls(requestsPerSecond))},
         new_watch as ${lane('new_watch', share(NEW_WATCH_SHARE))},
         retry as ${lane('retry', share(RETRY_SHARE))}
    select tracked_fare_id as "fareId", vdue, 'confirmation' as lane from confirmation
    union all select tracked_fare_id, vdue, 'new_watch' from new_watch
    union all select tracked_fare_id, vdue, 'retry' from retry
  `.execute(tx)
  return rows
}

/** The fares with the smallest virtual due time, except those inside their minimum interval and those in `without`. */
export async function findDueFares(
  tx: Tx,
  { limit, without }: { limit: number; without: readonly number[] },
): Promise<DueFare[]> {
  const { rows } = await sql<DueFare>`
    select tracked_fare_id as "fareId", vdue, 'scheduled' as lane
      from fare_schedule q
     where not_before <= now() and tracked_fare_id <> all(${without}::bigint[]) and ${NOT_DEPARTED}
     order by vdue, tracked_fare_id
     limit ${limit}
       for update skip locked
  `.execute(tx)
  return rows
}

/**
 * Writes the claims. Until the lease ends no other process claims these fares. After it they are due again, in the lane
 * that they were in: a process that dies loses nothing.
 * @param advance whether the virtual due time of every fare moves forward by the price of a check; that of a new watch
 * always does.
 */
export async function saveClaims(
  tx: Tx,
  checks: readonly ClaimedCheck[],
  { advance }: { advance: boolean },
): Promise<void> {
  await sql`
    update fare_schedule s
       set claim_id = c.claim_id,
           slot_at = c.slot_at,
           not_before = c.slot_at + make_interval(secs => ${LEASE_SECONDS}),
           lane_due_at = case when s.lane is not null then c.slot_at + make_interval(secs => ${LEASE_SECONDS}) end,
           vdue = case when ${advance} or s.lane = 'new_watch' then s.vdue + 1 / s.ticket else s.vdue end
      from unnest(${checks.map((c) => c.fareId)}::bigint[], ${checks.map((c) => c.claimId)}::uuid[],
                  ${checks.map((c) => c.slotAt)}::timestamptz[]) c (fare_id, claim_id, slot_at)
     where s.tracked_fare_id = c.fare_id
  `.execute(tx)
}

/** Moves the virtual clock forward to the largest virtual due time that was claimed. */
export async function advanceClock(tx: Tx, vdue: number): Promise<void> {
  await sql`update recheck_clock set v = ${vdue} where v < ${vdue}`.execute(tx)
}

/**
 * Counts the fares and their tickets, and how long it takes at the budget to check every fare once. Once a minute is often
 * enough.
 */
export async function refreshTickets(tx: Tx, requestsPerSecond: number): Promise<void> {
  await sql`
    update recheck_clock
       set tickets = q.tickets,
           fares = q.fares,
           expected_interval = make_interval(secs => q.fares / ${requestsPerSecond}::float8),
           counted_at = now()
      from (select coalesce(sum(ticket), 0) as tickets, count(*) as fares from fare_schedule) q
     where counted_at < now() - interval '1 minute'
  `.execute(tx)
}

/**
 * Caps the virtual due time of fares whose minimum interval has ended since the last call, at one check of each fare
 * from now. Returns whether it reached all of them: those that another transaction holds are capped by the next call.
 *
 * `reschedule` puts the virtual due time at the end of the minimum interval, by the tickets of that moment. When many
 * fares are added meanwhile, the virtual clock slows down, and what was meant as an hour would take weeks.
 */
export async function capOverdue(tx: Tx): Promise<boolean> {
  const { all } = await selectOne(
    sql<{ all: boolean }>`
      with overdue as materialized (
        select s.tracked_fare_id as id
          from fare_schedule s, recheck_clock c
         where s.not_before > c.capped_to and s.not_before <= now() and s.vdue > c.v + 1 / s.ticket
      ), free as materialized (
        select tracked_fare_id as id
          from fare_schedule
         where tracked_fare_id in (select id from overdue)
           for update skip locked
      ), capped as (
        update fare_schedule s
           set vdue = c.v + 1 / s.ticket
          from recheck_clock c, free
         where s.tracked_fare_id = free.id
      )
      select (select count(*) from overdue) = (select count(*) from free) as all
    `,
    tx,
  )
  return all
}

/** Records that the minimum intervals that have ended by now are capped. */
export async function recordCapped(tx: Tx): Promise<void> {
  await sql`update recheck_clock set capped_to = now() where capped_to < now()`.execute(tx)
}
