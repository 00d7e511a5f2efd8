import type { CheckLane } from '../platform/base/kinds.ts'
import { PREPARED, sql, type Tx } from '../platform/db/database.ts'
import { MOST_CREDIT } from './follow.ts'
import { PULL_SHARE } from './policy/factors.ts'
import {
  HORIZON_SECONDS,
  horizonCalls,
  LEASE_SECONDS,
  NEW_WATCH_SHARE,
  RETRY_SHARE,
} from './schedule-rules.ts'

/** Checks in lanes are charged over this time. */
const CHARGED_SECONDS = 300
/** In that time a reseller may use this part of its part of the budget in lanes, while others wait. */
const MOST_IN_LANES = 0.5

/** The checks a second that lanes made for the reseller of row `p` lately. */
export const IN_LANES = sql`
  (p.in_lanes * exp(-least(700, greatest(0, extract(epoch from now() - p.in_lanes_at) / ${CHARGED_SECONDS}::float8))))::float8
`

/**
 * The checks that lanes may still make for the reseller of row `p` while others wait. A part of one is a whole one,
 * so that the first fare of a small reseller is checked at once; it is charged for all of it.
 */
const LEFT_IN_LANES = sql`
  ceil(greatest(0, (${MOST_IN_LANES}::float8 * p.part - ${IN_LANES}) * ${CHARGED_SECONDS}::float8))
`

/** A check in a lane, and who is charged for it. */
interface LaneCheck {
  /** The reseller that caused it; null: all of its resellers, by what they spend on the fare. */
  readonly laneReseller: number | null
  readonly resellers: readonly number[]
  /** What each of them spends on it; empty where its watches have changed: then equal parts. */
  readonly rates: readonly number[]
}

/** The checks that each reseller is charged for. Those of fares without a reseller are charged to number 0. */
export function chargesOf(checks: readonly LaneCheck[]): ReadonlyMap<number, number> {
  const charges = new Map<number, number>()
  const add = (reseller: number, checks: number) =>
    charges.set(reseller, (charges.get(reseller) ?? 0) + checks)
  for (const { laneReseller, resellers, rates } of checks) {
    const charged = laneReseller !== null ? [laneReseller] : resellers.length > 0 ? resellers : [0]
    const parts =
      charged === resellers && rates.length === charged.length ? rates : charged.map(() => 1)
    const sum = parts.reduce((a, b) => a + b, 0)
    for (const [i, reseller] of charged.entries()) add(reseller, (parts[i] ?? 0) / sum)
  }
  return charges
}

/** Charges checks in lanes: they are taken from what the reseller's schedule may spend. */
export async function chargeLanes(tx: Tx, charges: ReadonlyMap<number, number>): Promise<void> {
  if (charges.size === 0) return
  const sorted = [...charges].toSorted(([a], [b]) => a - b)
  await sql`${PREPARED}
    insert into fare_schedule_reseller as p (reseller_id, in_lanes, in_lanes_at)
    select id, checks / ${CHARGED_SECONDS}::float8, now()
      from unnest(${sorted.map(([id]) => id)}::bigint[], ${sorted.map(([, checks]) => checks)}::float8[]) c (id, checks)
        on conflict (reseller_id) do update
       set in_lanes = ${IN_LANES} + excluded.in_lanes, in_lanes_at = now()
  `.execute(tx)
}

/**
 * Whether a question of a reseller on demand may use a lane now: it has not used what it may, or no fare waits. A
 * reseller without watches has no part that this could be taken from.
 */
export async function mayUseLanes(tx: Tx, resellerId: number): Promise<boolean> {
  const { rows } = await sql<{ may: boolean }>`${PREPARED}
    select coalesce((select ${LEFT_IN_LANES} >= 1 from fare_schedule_reseller p
                      where p.reseller_id = ${resellerId} and p.part > 0), true)
           or not exists (select from fare_schedule
                           where vdue < 'infinity' and not_before <= now() and leased_until <= now()) as may
  `.execute(tx)
  return rows[0]?.may ?? true
}

/** A fare that is due, with what its check is made for: the schedule (`scheduled`), or a lane that goes before it. */
export interface DueCheck {
  readonly fareId: number
  readonly lane: CheckLane
  readonly vdue: number
}

interface DueInLane extends DueCheck, LaneCheck {
  /** Whether its reseller has used what it may in lanes while others wait. */
  readonly isOver: boolean
}

/** A fare with the claim that holds it and the slot of its check. */
export interface ClaimedCheck extends DueCheck {
  readonly claimId: string
  readonly slotAt: Date
}

/**
 * Whether the fare of schedule `q` has not departed; if it has, its end follows within seconds. A scalar subquery,
 * because the planner could turn an anti join into a scan of all states.
 */
const NOT_DEPARTED = sql`
  coalesce((select s.departs_at from fare_state s where s.tracked_fare_id = q.tracked_fare_id) > clock_timestamp(), true)
`

/**
 * The fares that are due in the lanes, confirmations first, locked until the transaction ends. Each lane has a
 * share of the budget, so that many new watches or ids that never answer delay no confirmation. First checks are
 * taken of all resellers in turn, by their shares, so that an import delays no other reseller.
 */
export async function findDueInLanes(tx: Tx, requestsPerSecond: number): Promise<DueInLane[]> {
  const share = (of: number) => Math.ceil(of * requestsPerSecond * HORIZON_SECONDS)
  const isDue = sql`q.lane_due_at <= now() and q.leased_until <= now() and ${NOT_DEPARTED}`
  const lane = (name: string, place: number, limit: number) => sql`
    (select tracked_fare_id as id, ${place}::int as place, row_number() over (order by lane_due_at) as turn, false as "isOver"
       from fare_schedule q
      where lane = ${name} and ${isDue}
      order by lane_due_at
      limit ${limit})
  `
  const { rows } = await sql<DueInLane>`${PREPARED}
    with due as materialized (
      select * from ${lane('confirmation', 1, horizonCalls(requestsPerSecond))} c
      union all
      (select q.tracked_fare_id, 2, q.turn / coalesce(r.share, 1), q.turn > ${LEFT_IN_LANES}
         from fare_schedule_reseller p
         left join reseller r on r.id = p.reseller_id
        cross join lateral (
          select tracked_fare_id, row_number() over (order by lane_due_at) as turn
            from fare_schedule q
           where lane = 'new_watch' and lane_reseller = p.reseller_id and ${isDue}
           order by lane_due_at
           limit ${share(NEW_WATCH_SHARE)}) q
        order by 4, 3
        limit ${share(NEW_WATCH_SHARE)})
      union all
      select * from ${lane('retry', 3, share(RETRY_SHARE))} t
    )
    select q.tracked_fare_id as "fareId", q.lane, q.vdue, q.lane_reseller as "laneReseller", f.resellers, q.rates, d."isOver"
      from due d
      join fare_schedule q on q.tracked_fare_id = d.id
      join tracked_fare f on f.id = d.id
     -- Again, of the row as it is locked: the fare may have been claimed, or checked on demand, since it was found.
     where q.leased_until <= now() and q.lane_due_at + interval '0' <= now()
     order by d.place, d.turn
       for update of q skip locked
  `.execute(tx)
  return rows
}

/**
 * The next checks of the schedule, locked until the transaction ends: of the fares outside their shortest interval
 * and their leases those with the smallest virtual due times.
 *
 * Where few fares are due, they are read by the end of their shortest interval, so that those inside it are not
 * read. Where many are due, they are at the head of the queue.
 */
export async function findDue(
  tx: Tx,
  { limit, without }: { readonly limit: number; readonly without: readonly number[] },
): Promise<DueCheck[]> {
  if (limit < 1) return []
  const isFree = sql`leased_until <= now() and tracked_fare_id <> all(${without}::bigint[]) and vdue < 'infinity'`
  const { rows } = await sql<DueCheck>`${PREPARED}
    with ended as materialized (
      select tracked_fare_id, vdue, leased_until
        from fare_schedule
       where not_before <= now() and vdue < 'infinity'
       order by not_before
       limit 2 * ${limit}::int + 1
    ), few as materialized (
      select count(*) <= 2 * ${limit}::int as "are" from ended
    ), due as materialized (
      select tracked_fare_id as id, vdue
        from ended q
       where (select "are" from few) and ${isFree} and ${NOT_DEPARTED}
       union all
     (select tracked_fare_id, vdue
        from fare_schedule q
       -- As no index has it: by its statistics, which are old after every bulk change, the planner may sort all due fares.
       where not (select "are" from few) and q.not_before + interval '0' <= now() and ${isFree} and ${NOT_DEPARTED}
       order by vdue, tracked_fare_id
       limit ${limit})
       order by 2, 1
       limit ${limit}
    )
    select q.tracked_fare_id as "fareId", q.vdue, 'scheduled' as lane
      from due d
      join fare_schedule q on q.tracked_fare_id = d.id
     where q.leased_until <= now() and q.not_before + interval '0' <= now()
     order by d.vdue, d.id
       for update of q skip locked
  `.execute(tx)
  return rows
}

const LEASE = sql`make_interval(secs => ${LEASE_SECONDS})`

/**
 * Writes the claims, and moves the virtual clock to the last fare of the schedule. Until the lease ends no other
 * process claims these fares. After it they are due again, in the lane that they were in: a process that dies loses
 * nothing. The virtual due time stays until the check is recorded: no index has a column that is written here, so
 * that the row is updated in its page. A fare that has its turn while it waits in a lane is due in the lane at the
 * end of the lease: the check is no check in a lane.
 */
export async function saveClaims(tx: Tx, checks: readonly ClaimedCheck[]): Promise<void> {
  if (checks.length === 0) return
  const scheduled = checks.filter(({ lane }) => lane === 'scheduled').map(({ vdue }) => vdue)
  const v = scheduled.length > 0 ? Math.max(...scheduled) : 0
  await sql`${PREPARED}
    with claimed as (
      update fare_schedule s
         set claim_id = c.claim_id,
             slot_at = c.slot_at,
             leased_until = c.slot_at + ${LEASE},
             lane_due_at = case when c.lane = 'scheduled' and s.lane_due_at <= c.slot_at then c.slot_at + ${LEASE}
                                else s.lane_due_at end
        from unnest(${checks.map((c) => c.fareId)}::bigint[], ${checks.map((c) => c.claimId)}::uuid[],
                    ${checks.map((c) => c.slotAt)}::timestamptz[], ${checks.map((c) => c.lane)}::text[])
               c (fare_id, claim_id, slot_at, lane)
       where s.tracked_fare_id = c.fare_id)
    update fare_schedule_clock
       set v = greatest(v, ${v}::float8),
           pull_credit = least(${MOST_CREDIT}::float8, pull_credit + ${PULL_SHARE * scheduled.length}::float8)
  `.execute(tx)
}

/**
 * Releases the claim on fares that were not checked: their slot had passed, the circuit breaker was open, or the
 * upstream answered 429. They are due at once.
 */
export async function release(tx: Tx, claimId: string, fareIds: readonly number[]): Promise<void> {
  if (fareIds.length === 0) return
  await sql`
    update fare_schedule
       set claim_id = null, slot_at = null, leased_until = '-infinity'
     where claim_id = ${claimId} and tracked_fare_id = any(${fareIds}::bigint[])
  `.execute(tx)
}
