import type { CheckLane } from '../platform/base/kinds.ts'
import { PREPARED, sql, type Tx } from '../platform/db/database.ts'
import { MOST_SAVED_TURNS, shareTurns, type Taker, withoutSavings } from './pass.ts'
import { OWN_SECONDS, QUEUES } from './queues.ts'
import {
  HORIZON_SECONDS,
  horizonCalls,
  LEASE_SECONDS,
  NEW_WATCH_SHARE,
  RETRY_SHARE,
} from './schedule-rules.ts'

/** A reseller that pays a part of a check, in proportion to the parts of all who pay. */
export interface Payer {
  readonly resellerId: number
  readonly part: number
}

/** A fare that is due, and why: in its turn (`scheduled`), or in a lane because it is urgent. */
export interface DueCheck {
  readonly fareId: number
  readonly lane: CheckLane
  readonly payers: readonly Payer[]
  /** Its virtual due time in the queue of the reseller whose turn it is; null in a lane. */
  readonly vdue: number | null
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
 * Who pays for the fares that are due, as JSON: for a first check the reseller that added the fare, for a longest delay those
 * that ask for one, else all. Each by how often it would have the fare checked alone: none pays more than alone.
 */
const PAYERS = sql`
  select d.id, jsonb_agg(jsonb_build_object('resellerId', t.reseller_id, 'part', 1 / ${OWN_SECONDS})) as payers
    from due d
    join fare_schedule q on q.tracked_fare_id = d.id
    join turn t using (tracked_fare_id)
    join (${QUEUES}) p using (reseller_id)
   where case q.lane when 'new_watch' then t.reseller_id = q.lane_reseller
                     when 'max_delay' then t.max_seconds is not null
                     else true end
   group by d.id
`

/**
 * The urgent fares that are due, in their order, locked until the transaction ends: longest delays, confirmations, first
 * checks, retries. The last two have a share of the budget each, so that many new watches or ids that never answer delay
 * no confirmation. First checks are taken of all resellers in turn, by their shares.
 */
export async function findUrgent(tx: Tx, requestsPerSecond: number): Promise<DueCheck[]> {
  const share = (of: number) => Math.ceil(of * requestsPerSecond * HORIZON_SECONDS)
  const isDue = sql`q.lane_due_at <= now() and q.leased_until <= now() and ${NOT_DEPARTED}`
  const lane = (name: string, place: number, limit: number) => sql`
    (select tracked_fare_id as id, ${place}::int as place, row_number() over (order by lane_due_at)::float8 as rank
       from fare_schedule q
      where lane = ${name} and ${isDue}
      order by lane_due_at
      limit ${limit})
  `
  const { rows } = await sql<DueCheck>`${PREPARED}
    with due as materialized (
      select * from ${lane('max_delay', 1, horizonCalls(requestsPerSecond))} m
      union all
      select * from ${lane('confirmation', 2, horizonCalls(requestsPerSecond))} c
      union all
      (select q.tracked_fare_id, 3, q.rank / coalesce(r.share, 1) as rank
         from reseller_queue p
         left join reseller r on r.id = p.reseller_id
        cross join lateral (
          select tracked_fare_id, row_number() over (order by lane_due_at)::float8 as rank
            from fare_schedule q
           where lane = 'new_watch' and lane_reseller = p.reseller_id and ${isDue}
           order by lane_due_at
           limit ${share(NEW_WATCH_SHARE)}) q
        order by rank
        limit ${share(NEW_WATCH_SHARE)})
      union all
      select * from ${lane('retry', 4, share(RETRY_SHARE))} t
    ), payer as materialized (${PAYERS})
    select q.tracked_fare_id as "fareId", q.lane, coalesce(p.payers, '[]') as payers, null as vdue
      from due d
      left join payer p using (id)
      join fare_schedule q on q.tracked_fare_id = d.id
     -- Again, of the row as it is locked: the fare may have been claimed, or checked on demand, since it was found.
     where q.leased_until <= now() and q.lane_due_at + interval '0' <= now()
     order by d.place, d.rank
       for update of q skip locked
  `.execute(tx)
  return rows
}

/**
 * The queues with turns. None comes with savings: what a reseller did not take while it had nothing to check is gone, but
 * for two turns.
 */
async function readTakers(tx: Tx): Promise<Taker[]> {
  const { rows } = await sql<Taker & { least: number }>`${PREPARED}
    select p.reseller_id as "resellerId", r.share, p.pass, a.pass as least
      from reseller_queue p
      join reseller r on r.id = p.reseller_id
     cross join schedule_facts a
     where p.fares > 0 and r.share > 0
     order by p.pass, p.reseller_id
  `.execute(tx)
  return withoutSavings(rows, rows[0]?.least ?? 0)
}

/**
 * The next turns, locked until the transaction ends: of the reseller with the smallest pass the fare with the smallest
 * virtual due time that is outside its shortest interval and its leases. A reseller without such a fare is left out, and
 * the others take its turns.
 */
export async function findTurns(
  tx: Tx,
  { limit, without }: { readonly limit: number; readonly without: readonly number[] },
): Promise<DueCheck[]> {
  const due: DueCheck[] = []
  let takers: readonly Taker[] = limit < 1 ? [] : await readTakers(tx)
  while (due.length < limit && takers.length > 0) {
    const counts = shareTurns(takers, limit - due.length)
    const found = await lockNext(tx, counts, [...without, ...due.map(({ fareId }) => fareId)])
    const ofReseller = Map.groupBy(found, ({ resellerId }) => resellerId)
    const taken = takenOnce(found, takers)
    due.push(...taken.map(dueInTurn))
    takers = takers
      .filter(({ resellerId }) => ofReseller.get(resellerId)?.length === counts.get(resellerId))
      .map((taker) => afterTurns(taker, taken))
  }
  return due
}

interface FoundTurn {
  readonly fareId: number
  readonly resellerId: number
  readonly vdue: number
}

/** A fare that several resellers take is a turn of the first of them: the others take another one. */
function takenOnce(found: readonly FoundTurn[], takers: readonly Taker[]): FoundTurn[] {
  const order = takers.map(({ resellerId }) => resellerId)
  const rankOf = ({ resellerId }: FoundTurn) => order.indexOf(resellerId)
  return [...Map.groupBy(found, ({ fareId }) => fareId).values()].map((turns) =>
    turns.reduce((first, one) => (rankOf(one) < rankOf(first) ? one : first)),
  )
}

function dueInTurn({ fareId, resellerId, vdue }: FoundTurn): DueCheck {
  return { fareId, lane: 'scheduled', payers: [{ resellerId, part: 1 }], vdue }
}

function afterTurns(taker: Taker, taken: readonly FoundTurn[]): Taker {
  const turns = taken.filter(({ resellerId }) => resellerId === taker.resellerId).length
  return { ...taker, pass: taker.pass + turns / taker.share }
}

/**
 * The next fares of each reseller, as many as it takes. One that two of them take comes twice.
 *
 * Where few fares are due, they are read by the end of their shortest interval, so that those inside it are not read.
 * Where many are, they are at the heads of the queues.
 */
async function lockNext(
  tx: Tx,
  counts: ReadonlyMap<number, number>,
  without: readonly number[],
): Promise<FoundTurn[]> {
  const few = 2 * [...counts.values()].reduce((a, b) => a + b, 0) + without.length
  const isFree = sql`
    q.leased_until <= now() and ${NOT_DEPARTED} and q.tracked_fare_id <> all(${without}::bigint[])
  `
  const { rows } = await sql<FoundTurn>`${PREPARED}
    with taker as (
      select * from unnest(${[...counts.keys()]}::bigint[], ${[...counts.values()]}::int[]) t (id, turns)
    ), ended as materialized (
      select tracked_fare_id
        from fare_schedule
       where not_before <= now() and leased_until <= now()
       order by not_before
       limit ${few} + 1
    ), found as materialized (
      select count(*) <= ${few} as few from ended
    ), next as materialized (
      (select e.id, e.reseller_id, e.vdue
         from taker
         join (select t.tracked_fare_id as id, t.reseller_id, t.vdue,
                      row_number() over (partition by t.reseller_id order by t.vdue) as rank
                 from ended
                 join fare_schedule q using (tracked_fare_id)
                 join turn t using (tracked_fare_id)
                where (select few from found) and ${isFree}) e on e.reseller_id = taker.id and e.rank <= taker.turns)
       union all
      select n.*
        from taker
       cross join lateral (
             select t.tracked_fare_id as id, t.reseller_id, t.vdue
               from turn t
              -- The limit keeps the order of the index: the planner would join all turns, and sort them.
              cross join lateral (
                    select from fare_schedule q
                     where q.tracked_fare_id = t.tracked_fare_id and q.not_before <= now() and ${isFree}
                     limit 1) free
              where not (select few from found) and t.reseller_id = taker.id
              order by t.vdue
              limit taker.turns) n
    )
    select q.tracked_fare_id as "fareId", n.reseller_id as "resellerId", n.vdue
      from next n
      join fare_schedule q on q.tracked_fare_id = n.id
     -- As an array: of how many come next the planner knows nothing, and would read all fares.
     where q.tracked_fare_id = any(array(select id from next)) and q.not_before <= now() and q.leased_until <= now()
     order by n.vdue
       for update of q skip locked
  `.execute(tx)
  return rows
}

const LEASE = sql`make_interval(secs => ${LEASE_SECONDS})`
/** The mean of how fast a queue moves is that of about so long. */
const SPEED_SECONDS = 60
/** The part of a reseller's turns that fares of moving routes may take, and how many of them at one moment. */
const [NEIGHBOUR_SHARE, MOST_NEIGHBOURS] = [0.4, 500]

export interface ClaimRules {
  /** In requests a second. */
  readonly budget: number
  readonly minRecheckSeconds: number
}

/**
 * Writes the claims, and what they cost. Until the lease ends no other process claims these fares. After it they are due
 * again, in the lane that they were in: a process that dies loses nothing. The virtual due time stays until the check is
 * recorded: no index has a column of the schedule that is written here, so that the row is updated in its page. A fare that
 * has its turn while it waits in a lane is due in the lane at the end of the lease.
 */
export async function saveClaims(
  tx: Tx,
  checks: readonly ClaimedCheck[],
  rules: ClaimRules,
): Promise<void> {
  if (checks.length > 0) {
    await sql`${PREPARED}
      update fare_schedule s
         set claim_id = c.claim_id,
             slot_at = c.slot_at,
             leased_until = c.slot_at + ${LEASE},
             lane_due_at = case when c.lane = 'scheduled' and s.lane_due_at <= c.slot_at then c.slot_at + ${LEASE}
                                else s.lane_due_at end
        from unnest(${checks.map((c) => c.fareId)}::bigint[], ${checks.map((c) => c.claimId)}::uuid[],
                    ${checks.map((c) => c.slotAt)}::timestamptz[], ${checks.map((c) => c.lane)}::text[])
               c (fare_id, claim_id, slot_at, lane)
       where s.tracked_fare_id = c.fare_id
    `.execute(tx)
  }
  await saveRules(tx, await pay(tx, checks), rules)
}

/** What a reseller pays for. */
interface Cost {
  readonly checks: number
  /** Its turns, and the last of their virtual due times. */
  readonly turns: number
  readonly vdue: number
}

const NO_COST: Cost = { checks: 0, turns: 0, vdue: 0 }

/** What checks cost the resellers that pay for them, by their numbers. */
export function costsOf(
  checks: readonly Pick<DueCheck, 'payers' | 'vdue'>[],
): ReadonlyMap<number, Cost> {
  const costs = new Map<number, Cost>()
  for (const { payers, vdue } of checks) {
    const parts = payers.reduce((sum, { part }) => sum + part, 0)
    for (const { resellerId, part } of payers) {
      const { checks, turns, vdue: last } = costs.get(resellerId) ?? NO_COST
      costs.set(resellerId, {
        checks: checks + part / parts,
        turns: turns + (vdue === null ? 0 : 1),
        vdue: Math.max(last, vdue ?? 0),
      })
    }
  }
  return costs
}

/**
 * Moves the passes of resellers that pay for checks, and the virtual times of those whose turns these are. Returns the
 * smallest pass at which one of them took its last turn; null if none took one. It is no later than those of the others.
 */
export async function pay(
  tx: Tx,
  checks: readonly Pick<DueCheck, 'payers' | 'vdue'>[],
): Promise<number | null> {
  const costs = [...costsOf(checks)].map(([id, cost]) => ({ id, ...cost }))
  if (costs.length === 0) return null
  const { rows } = await sql<{ began: number | null }>`${PREPARED}
    with locked as materialized (
      select p.reseller_id, c.*, greatest(0, extract(epoch from now() - p.moved_at)::float8) as seconds, r.share, a.pass as least
        from jsonb_to_recordset(${JSON.stringify(costs)}::jsonb) as c (id bigint, checks float8, turns int, vdue float8)
        join reseller_queue p on p.reseller_id = c.id
        join reseller r on r.id = c.id
       cross join schedule_facts a
       order by p.reseller_id
         for update of p
    )
    update reseller_queue p
       set pass = greatest(p.pass, l.least - ${MOST_SAVED_TURNS}::float8 / l.share) + l.checks / l.share,
           v = greatest(p.v, l.vdue),
           speed = case when l.turns = 0 or l.seconds = 0 then p.speed
                        else p.speed + (greatest(0, l.vdue - p.v) / l.seconds - p.speed) * (1 - exp(-l.seconds / ${SPEED_SECONDS}::float8)) end,
           moved_at = case when l.turns = 0 or l.seconds = 0 and p.moved_at <= now() then p.moved_at else now() end,
           credit = least(${MOST_NEIGHBOURS}::float8, p.credit + ${NEIGHBOUR_SHARE}::float8 * l.turns)
      from locked l
     where p.reseller_id = l.reseller_id
    returning case when l.turns > 0 then p.pass - (l.checks - l.turns + 1) / l.share end as began
  `.execute(tx)
  const began = rows.flatMap((row) => row.began ?? [])
  return began.length === 0 ? null : Math.min(...began)
}

/** Keeps what the workers have set, and the pass of the last turns: the others come with no savings. */
async function saveRules(
  tx: Tx,
  pass: number | null,
  { budget, minRecheckSeconds }: ClaimRules,
): Promise<void> {
  await sql`${PREPARED}
    update schedule_facts
       set requests_per_second = ${budget}::float8, min_recheck_seconds = ${minRecheckSeconds}::int,
           -- Stays if it lies ahead: set-back.ts corrects that.
           claimed_at = greatest(claimed_at, clock_timestamp()),
           pass = greatest(pass, ${pass}::float8)
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
