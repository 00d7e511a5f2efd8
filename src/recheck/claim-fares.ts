import { sql, type Tx } from '../db/database.ts'
import { HORIZON_SECONDS, LEASE_SECONDS, NEW_WATCH_SHARE, RETRY_SHARE } from './recheck-rules.ts'

/** By what a fare is asked: its turn, or one of the lanes before it. */
export type TurnLane = 'turn' | 'confirmation' | 'new_watch' | 'retry'

/** A fare whose turn it is, locked until the transaction ends. */
export interface Candidate {
  readonly fareId: number
  readonly vdue: number
  readonly lane: TurnLane
}

/** A fare with the slot at which it is to be asked. */
export interface Turn extends Candidate {
  readonly claimId: string
  readonly slotAt: Date
}

/** How many calls the budget can give at most at one moment. */
export function horizonCalls(requestsPerSecond: number): number {
  return Math.floor(requestsPerSecond * HORIZON_SECONDS) + 1
}

/**
 * The fares that wait in the lanes, what confirms a loss first. A lane's share of the budget bounds how many of it
 * come at once, so that a flood of new watches or dead ids holds up nobody's confirmation.
 */
export async function findLaneCandidates(tx: Tx, requestsPerSecond: number): Promise<Candidate[]> {
  const share = (of: number) => Math.ceil(of * requestsPerSecond * HORIZON_SECONDS)
  const lane = (name: string, limit: number) => sql`
    (select tracked_fare_id, vdue
       from fare_schedule
      where lane = ${name} and lane_due_at <= now()
      order by lane_due_at
      limit ${limit}
        for update skip locked)
  `
  const { rows } = await sql<Candidate>`
    with confirmation as ${lane('confirmation', horizonCalls(requestsPerSecond))},
         new_watch as ${lane('new_watch', share(NEW_WATCH_SHARE))},
         retry as ${lane('retry', share(RETRY_SHARE))}
    select tracked_fare_id as "fareId", vdue, 'confirmation' as lane from confirmation
    union all select tracked_fare_id, vdue, 'new_watch' from new_watch
    union all select tracked_fare_id, vdue, 'retry' from retry
  `.execute(tx)
  return rows
}

/** The fares with the smallest virtual due time, leaving out those inside their minimum interval and those given. */
export async function findTurns(
  tx: Tx,
  { limit, without }: { limit: number; without: readonly number[] },
): Promise<Candidate[]> {
  const { rows } = await sql<Candidate>`
    select tracked_fare_id as "fareId", vdue, 'turn' as lane
      from fare_schedule
     where not_before <= now() and tracked_fare_id <> all(${without}::bigint[])
     order by vdue
     limit ${limit}
       for update skip locked
  `.execute(tx)
  return rows
}

/**
 * Gives the turns to their claims. Until the lease is over nobody else takes these fares; after it they are due
 * again by themselves, in the lane that they were in, so that a process that dies loses nothing.
 */
export async function saveClaims(
  tx: Tx,
  turns: readonly Turn[],
  { spendTurn }: { spendTurn: boolean },
): Promise<void> {
  await sql`
    update fare_schedule s
       set claim_id = t.claim_id,
           slot_at = t.slot_at,
           not_before = t.slot_at + make_interval(secs => ${LEASE_SECONDS}),
           lane_due_at = case when s.lane is not null then t.slot_at + make_interval(secs => ${LEASE_SECONDS}) end,
           vdue = case when ${spendTurn} or s.lane = 'new_watch' then s.vdue + 1 / s.ticket else s.vdue end
      from unnest(${turns.map((t) => t.fareId)}::bigint[], ${turns.map((t) => t.claimId)}::uuid[],
                  ${turns.map((t) => t.slotAt)}::timestamptz[]) t (fare_id, claim_id, slot_at)
     where s.tracked_fare_id = t.fare_id
  `.execute(tx)
}

/** Moves the clock of the queue on to the largest virtual due time that was taken. */
export async function advanceClock(tx: Tx, vdue: number): Promise<void> {
  await sql`update recheck_clock set v = ${vdue} where v < ${vdue}`.execute(tx)
}

/**
 * Counts the tickets anew, once a minute: nobody needs the sum, and how long a turn of everybody takes, to be
 * younger than that.
 */
export async function refreshTickets(tx: Tx, requestsPerSecond: number): Promise<void> {
  await sql`
    update recheck_clock
       set tickets = q.tickets, turn = make_interval(secs => q.tickets / ${requestsPerSecond}::float8), counted_at = now()
      from (select coalesce(sum(ticket), 0) as tickets from fare_schedule) q
     where counted_at < now() - interval '1 minute'
  `.execute(tx)
}
