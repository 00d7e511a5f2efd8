import type { CheckLane } from '../base/kinds.ts'
import { type Db, PREPARED, sql, type Tx } from '../db/database.ts'
import { selectOne } from '../db/transaction.ts'
import { SHARE_WITHOUT_RESELLER } from './payers.ts'
import type { PayerQueue, QueuedFare } from './policy/stride.ts'
import { HORIZON_SECONDS, LEASE_SECONDS, NEW_WATCH_SHARE, RETRY_SHARE } from './recheck-rules.ts'

/** A fare that is due, with what its check is made for: the schedule (`scheduled`), or a lane that goes before it. */
export interface DueFare extends QueuedFare {
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

const IS_COUNTED = sql<boolean>`counted_at > now() - interval '1 minute'`

/** Whether the queues were counted in the last minute. */
export async function isCountedNow(db: Db): Promise<boolean> {
  const { isCounted } = await selectOne(
    sql<{ isCounted: boolean }>`select ${IS_COUNTED} as "isCounted" from recheck_clock`,
    db,
  )
  return isCounted
}

/** The clock of the schedule. Its lock makes claims wait for each other, so that each counts what the last one charged. */
export async function lockClock(tx: Tx): Promise<{ pass: number; isCounted: boolean }> {
  return selectOne(
    sql<{ pass: number; isCounted: boolean }>`${PREPARED}
      update recheck_clock set dispatched_at = now()
      returning pass, ${IS_COUNTED} as "isCounted"
    `,
    tx,
  )
}

export async function savePass(tx: Tx, pass: number): Promise<void> {
  await sql`${PREPARED} update recheck_clock set pass = ${pass} where pass < ${pass}`.execute(tx)
}

/**
 * The fares that are due in the lanes, confirmations first, locked until the transaction ends. Each lane has a share of the
 * budget, so that many new watches or ids that never answer delay no confirmation.
 */
export async function findLaneFares(tx: Tx, requestsPerSecond: number): Promise<DueFare[]> {
  const share = (of: number) => Math.ceil(of * requestsPerSecond * HORIZON_SECONDS)
  const lane = (name: string, limit: number) => sql`
    (select tracked_fare_id, payer, vdue, lane
       from fare_schedule q
      where lane = ${name} and lane_due_at <= now() and leased_until <= now() and ${NOT_DEPARTED}
      order by lane_due_at
      limit ${limit}
        for update skip locked)
  `
  const { rows } = await sql<DueFare>`${PREPARED}
    with confirmation as ${lane('confirmation', horizonCalls(requestsPerSecond))},
         new_watch as ${lane('new_watch', share(NEW_WATCH_SHARE))},
         retry as ${lane('retry', share(RETRY_SHARE))}
    select d.tracked_fare_id as "fareId", d.payer, d.vdue, d.lane
      from (select 1 as place, * from confirmation
            union all select 2, * from new_watch
            union all select 3, * from retry) d
     order by d.place
  `.execute(tx)
  return rows
}

export interface DueQueue extends PayerQueue<DueFare> {
  readonly share: number
  readonly pass: number
}

/** Payers with less pass come first; so many are enough for a claim. */
const MOST_PAYERS = 100
/** How many more fares of a payer are read than its share of the claim. */
const SPARE = 1.5

export interface DueArgs {
  readonly limit: number
  readonly presentPass: number
  /** Fares that are claimed already. */
  readonly without: readonly number[]
  /** If set, the queues of these payers alone, each with up to `limit` fares. */
  readonly payers?: readonly number[]
}

/**
 * The end of the minimum interval as no index has it. The statistics of that column are old after every bulk change, and by them
 * the planner may read all due fares of a payer and sort them.
 */
const NOT_BEFORE = sql`q.not_before + interval '0'`

/**
 * The heads of the queues of the payers with the least pass: their due fares with the smallest virtual due time. Fares are
 * not due inside their minimum interval or while they are claimed.
 *
 * Where few fares of a payer are due, they are read by the end of their minimum interval, so that a payer with many fares
 * inside it is not read whole. Where many are due, they are at the head of its queue. Of equal due times that of the older fare is
 * first.
 */
export async function findDueQueues(tx: Tx, args: DueArgs): Promise<DueQueue[]> {
  const { limit, presentPass, without, payers } = args
  const { rows } = await sql<Omit<DueQueue, 'hasMore'> & { most: number }>`${PREPARED}
    with ordered as materialized (
      select p.reseller_id as payer, coalesce(r.share, ${SHARE_WITHOUT_RESELLER}::float8) as share, p.pass
        from recheck_payer p
        left join reseller r on r.id = p.reseller_id
       where ${payers === undefined} or p.reseller_id = any(${payers ?? []}::bigint[])
       order by greatest(p.pass, ${presentPass}::float8), p.reseller_id
    ), paying as materialized (
      -- In this order, and no further than the limit.
      select o.*
        from ordered o
       cross join lateral (
         select from fare_schedule q
          where q.payer = o.payer and q.not_before <= now()
          order by q.not_before
          limit 1) due
       limit ${MOST_PAYERS}
    ), wanted as materialized (
      select *, case when ${payers === undefined}
                     then least(${limit}::int, ceil(${SPARE * limit}::float8 * share / sum(share) over ()) + 1)
                     else ${limit}::int end::int as most
        from paying
    )
    select w.payer, w.share, w.pass, w.most, coalesce(d.fares, '[]') as fares
      from wanted w
     cross join lateral (
       with ended as materialized (
         select tracked_fare_id, vdue, leased_until
           from fare_schedule
          where payer = w.payer and not_before <= now()
          order by not_before
          limit 2 * w.most + 1
       ), few as (select count(*) <= 2 * w.most as "are" from ended)
       select jsonb_agg(jsonb_build_object('fareId', h.tracked_fare_id, 'payer', w.payer, 'vdue', h.vdue,
                                           'lane', 'scheduled')
                          order by h.vdue, h.tracked_fare_id) as fares
         from (select tracked_fare_id, vdue
                 from (select tracked_fare_id, vdue
                         from ended q
                        where (select "are" from few) and leased_until <= now()
                          and tracked_fare_id <> all(${without}::bigint[]) and ${NOT_DEPARTED}
                        union all
                       (select tracked_fare_id, vdue
                          from fare_schedule q
                         where not (select "are" from few) and payer = w.payer and ${NOT_BEFORE} <= now()
                           and leased_until <= now() and tracked_fare_id <> all(${without}::bigint[]) and ${NOT_DEPARTED}
                         order by vdue, tracked_fare_id
                         limit w.most)) q
                order by vdue, tracked_fare_id
                limit w.most) h) d
  `.execute(tx)
  return rows.map(({ most, ...queue }) => ({ ...queue, hasMore: queue.fares.length === most }))
}

/** Locks those of the fares that no other transaction holds, and returns them in the order given. */
export async function lockDue(tx: Tx, fares: readonly DueFare[]): Promise<DueFare[]> {
  const { rows } = await sql<{ id: number }>`${PREPARED}
    select tracked_fare_id as id
      from fare_schedule
     where tracked_fare_id = any(${fares.map(({ fareId }) => fareId)}::bigint[]) and leased_until <= now()
       for update skip locked
  `.execute(tx)
  const locked = new Set(rows.map(({ id }) => id))
  return fares.filter(({ fareId }) => locked.has(fareId))
}

/**
 * Writes the claims. Until the lease ends no other process claims these fares. After it they are due again, in the lane
 * that they were in: a process that dies loses nothing. The virtual due time stays until the check is recorded: no index
 * has a column that is written here, so that the row is updated in its page.
 */
export async function saveClaims(tx: Tx, checks: readonly ClaimedCheck[]): Promise<void> {
  await sql`${PREPARED}
    update fare_schedule s
       set claim_id = c.claim_id,
           slot_at = c.slot_at,
           leased_until = c.slot_at + make_interval(secs => ${LEASE_SECONDS})
      from unnest(${checks.map((c) => c.fareId)}::bigint[], ${checks.map((c) => c.claimId)}::uuid[],
                  ${checks.map((c) => c.slotAt)}::timestamptz[]) c (fare_id, claim_id, slot_at)
     where s.tracked_fare_id = c.fare_id
  `.execute(tx)
}
