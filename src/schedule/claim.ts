import { randomUUID } from 'node:crypto'
import { type CheckLane, FAST_LANES, type JobQueue } from '../platform/base/kinds.ts'
import { span } from '../platform/base/tracing.ts'
import { type Db, PREPARED, sql, type Tx } from '../platform/db/database.ts'
import { notify } from '../platform/db/listener.ts'
import { afterPause } from '../platform/db/pauses.ts'
import { inTransaction, selectOne } from '../platform/db/transaction.ts'
import type { QueueSystem } from '../platform/queue/queue-system.ts'
import type { CircuitBreaker } from '../upstream/breaker/circuit-breaker.ts'
import { reserveSlots } from '../upstream/budget/reserve-slots.ts'
import {
  CLAIM_FARES,
  CLAIM_SECONDS,
  HORIZON_SECONDS,
  horizonCalls,
  LEASE_SECONDS,
  NEW_WATCH_SHARE,
  RETRY_SHARE,
} from './due.ts'
import {
  MOST_SAVED_TURNS,
  OWN_SECONDS,
  QUEUES,
  shareTurns,
  type Taker,
  withoutSavings,
} from './queues.ts'

/** A reseller that pays a part of a check, in proportion to the parts of all who pay. */
interface Payer {
  readonly resellerId: number
  readonly part: number
}

/** What a check costs. */
interface PaidCheck {
  readonly payers: readonly Payer[]
  /** Its virtual due time in the queue of the reseller whose turn it is; null in a lane. */
  readonly vdue: number | null
}

/** A fare that is due, and why: in its turn (`scheduled`), or in a lane because it is urgent. */
interface DueCheck extends PaidCheck {
  readonly fareId: number
  readonly lane: CheckLane
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
   where case q.lane when 'first_check' then t.reseller_id = q.lane_reseller
                     when 'max_delay' then t.max_seconds is not null
                     else true end
   group by d.id
`

/** The resellers whose first checks wait: one step in the index for each. */
const ADDER = sql`
  select min(lane_reseller) as id from fare_schedule where lane = 'first_check'
   union all
  select (select min(lane_reseller) from fare_schedule where lane = 'first_check' and lane_reseller > a.id)
    from adder a
   where a.id is not null
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
    with recursive adder as (
      ${ADDER}
    ), due as materialized (
      select * from ${lane('max_delay', 1, horizonCalls(requestsPerSecond))} m
      union all
      select * from ${lane('confirmation', 2, horizonCalls(requestsPerSecond))} c
      union all
      (select q.tracked_fare_id, 3, q.rank / coalesce(r.share, 1) as rank
         from adder a
         left join reseller r using (id)
        cross join lateral (
          select tracked_fare_id, row_number() over (order by lane_due_at)::float8 as rank
            from fare_schedule q
           where lane = 'first_check' and lane_reseller = a.id and ${isDue}
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
 * virtual due time that is outside its minimum interval and its leases. A reseller without such a fare is left out, and
 * the others take its turns.
 */
export async function findTurns(
  tx: Tx,
  { limit, without }: { readonly limit: number; readonly without: readonly number[] },
): Promise<DueCheck[]> {
  const due: DueCheck[] = []
  let takers: readonly Taker[] = limit < 1 ? [] : await readTakers(tx)
  // Resellers that watch the same fares find the same heads: each time they look twice as deep.
  for (let depth = 1; due.length < limit && takers.length > 0; depth *= 2) {
    const counts = shareTurns(takers, limit - due.length)
    const asked = new Map([...counts].map(([id, turns]) => [id, turns * depth]))
    const found = await lockNext(tx, asked, [...without, ...due.map(({ fareId }) => fareId)])
    const ofReseller = Map.groupBy(found, ({ resellerId }) => resellerId)
    const taken = takenOnce(takers, counts, ofReseller)
    for (const { fareId, resellerId, vdue } of taken) {
      due.push({ fareId, lane: 'scheduled', payers: [{ resellerId, part: 1 }], vdue })
    }
    takers = takers
      .filter(({ resellerId }) => ofReseller.get(resellerId)?.length === asked.get(resellerId))
      .map((taker) => {
        const turns = taken.filter(({ resellerId }) => resellerId === taker.resellerId).length
        return { ...taker, pass: taker.pass + turns / taker.share }
      })
  }
  return due
}

interface FoundTurn {
  readonly fareId: number
  readonly resellerId: number
  readonly vdue: number
}

/** The turns of each reseller. A fare that several of them found is a turn of the first, and the others take another one. */
function takenOnce(
  takers: readonly Taker[],
  counts: ReadonlyMap<number, number>,
  found: ReadonlyMap<number, readonly FoundTurn[]>,
): FoundTurn[] {
  const taken = new Map<number, FoundTurn>()
  for (const { resellerId } of takers) {
    const free = (found.get(resellerId) ?? []).filter(({ fareId }) => !taken.has(fareId))
    for (const turn of free.slice(0, counts.get(resellerId) ?? 0)) taken.set(turn.fareId, turn)
  }
  return [...taken.values()]
}

/**
 * The next fares of each reseller, as many as it takes. One that two of them take comes twice.
 *
 * Where few fares are due, they are read by the end of their minimum interval, so that those inside it are not read.
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
/** PostgreSQL refuses exp of less than −745 as an underflow: after twelve hours without a turn nothing would be claimed any more. */
const MOST_EXPONENT = 700
/** The part of a reseller's turns that fares of moving routes may take, and how many of them at one moment. */
const [NEIGHBOUR_SHARE, MOST_NEIGHBOURS] = [0.4, 500]

interface ClaimRules {
  /** In requests a second. */
  readonly budget: number
  readonly minRecheckSeconds: number
}

/**
 * Writes the claims, and what they cost. Until the lease ends no other process claims these fares. After it they are due
 * again, in the lane that they were in: a process that dies loses nothing. The virtual due time stays until the check is
 * recorded: of a turn, no index has a column that is written here, so that the row is updated in its page. A fare that
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
function costsOf(checks: readonly PaidCheck[]): ReadonlyMap<number, Cost> {
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
export async function pay(tx: Tx, checks: readonly PaidCheck[]): Promise<number | null> {
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
                        else p.speed + (greatest(0, l.vdue - p.v) / l.seconds - p.speed) * (1 - exp(-least(${MOST_EXPONENT}::float8, l.seconds / ${SPEED_SECONDS}::float8))) end,
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
           -- Stays if it lies ahead: correctSetBack corrects that.
           claimed_at = greatest(claimed_at, clock_timestamp()),
           pass = greatest(pass, ${pass}::float8)
  `.execute(tx)
}

/**
 * Releases the claim on fares that were not checked: their slot had passed, the circuit breaker was open, or the
 * upstream answered 429. They are due at once. A hint wakes the dispatchers, which wait while all due fares are claimed.
 */
export async function release(tx: Tx, claimId: string, fareIds: readonly number[]): Promise<void> {
  if (fareIds.length === 0) return
  await sql`
    update fare_schedule
       set claim_id = null, slot_at = null, leased_until = '-infinity',
           -- One that had its turn while it waited in a lane.
           lane_due_at = case when lane_due_at = leased_until then clock_timestamp() else lane_due_at end
     where claim_id = ${claimId} and tracked_fare_id = any(${fareIds}::bigint[])
  `.execute(tx)
  await sql`select ${notify('due')}`.execute(tx)
}

export const VERIFY_QUEUE = 'verify' satisfies JobQueue

export interface DispatchDeps {
  readonly db: Db
  readonly queue: Pick<QueueSystem, 'enqueue'>
  /** The rate for checks now: the budget, or less of it after an outage of the upstream. */
  readonly requestsPerSecond: number
  /** The budget, where the rate now is less than that. */
  readonly budget?: number
  /** The minimum interval between checks by the setting of this worker. */
  readonly minRecheckSeconds: number
  /** As many checks as this process can carry. If unset, as many as there are slots. */
  readonly atMost?: number
  /** The circuit breaker of the checks. If unset, there is none. */
  readonly breaker?: Pick<CircuitBreaker, 'admission'>
}

/** A late check is worth nothing: when its job fails, the claim's lease ends and the fare is due again. */
const JOB_ATTEMPTS = 1

/**
 * Claims the due fares for the next seconds of the budget, and enqueues a job for about each second.
 *
 * Safe to run twice, late, or not at all for a while: what it does not claim stays due. The claims are committed before
 * their jobs are enqueued, so that no job runs before its claim; a crash in between costs a lease, not a check.
 * While the circuit breaker is open nothing is claimed, and one fare when it probes.
 */
export function dispatchChecks(deps: DispatchDeps): Promise<ClaimedCheck[]> {
  return span('claim', {}, async (annotate) => {
    const checks = await claimAndEnqueue(deps)
    const claimIds = [...new Set(checks.map(({ claimId }) => claimId))]
    annotate({ 'farewatch.fares': checks.length, 'farewatch.claim_ids': claimIds })
    return checks
  })
}

async function claimAndEnqueue(deps: DispatchDeps): Promise<ClaimedCheck[]> {
  const { requestsPerSecond, minRecheckSeconds, budget = requestsPerSecond } = deps
  const admission = await deps.breaker?.admission('verify')
  if (admission?.kind === 'refused') return []
  const most = admission?.kind === 'probe' ? 1 : horizonCalls(requestsPerSecond)
  const atMost = Math.min(most, deps.atMost ?? most)
  const rates = { requestsPerSecond, budget, minRecheckSeconds, atMost }
  const checks = await inTransaction(deps.db, (tx) => claimChecks(tx, rates))
  const claims = Map.groupBy(checks, ({ claimId }) => claimId)
  try {
    for (const [claimId, fares] of claims) {
      await deps.queue.enqueue(VERIFY_QUEUE, {
        payload: { claimId, fareIds: idsOf(fares) },
        id: claimId,
        attempts: JOB_ATTEMPTS,
      })
      claims.delete(claimId)
    }
  } catch (err) {
    // Else they were due only after their lease. A job that arrived after all finds its claim gone and ends.
    await inTransaction(deps.db, async (tx) => {
      for (const [claimId, fares] of claims) await release(tx, claimId, idsOf(fares))
    })
    throw err
  }
  return checks
}

function idsOf(fares: readonly DueCheck[]): number[] {
  return fares.map(({ fareId }) => fareId)
}

interface Rates extends ClaimRules {
  readonly requestsPerSecond: number
  readonly atMost: number
}

/**
 * What is urgent reserves first, then the turns: a fare that no slot is left for keeps its turn. Longest delays are
 * outside of the part of the budget that the other lanes may take.
 */
async function claimChecks(tx: Tx, rates: Rates): Promise<ClaimedCheck[]> {
  const { requestsPerSecond, atMost } = rates
  const reserved: ReservedCheck[] = []
  const reserve = async (fares: readonly DueCheck[], lane: boolean) => {
    const some = fares.slice(0, atMost - reserved.length)
    reserved.push(...(await reserveFor(tx, some, { requestsPerSecond, lane })))
  }
  const urgent = await findUrgent(tx, requestsPerSecond)
  for (const delays of [true, false]) {
    const some = urgent.filter(({ lane }) => (lane === 'max_delay') === delays)
    await reserve(some, !delays)
  }
  const limit = atMost - reserved.length
  await reserve(await findTurns(tx, { limit, without: idsOf(reserved) }), false)
  const checks = splitIntoClaims(reserved)
  await saveClaims(tx, checks, rates)
  return checks
}

type ReservedCheck = DueCheck & { readonly slotAt: Date }

/** Reserves a slot for each fare, as far as the budget goes. */
async function reserveFor(
  tx: Tx,
  fares: readonly DueCheck[],
  { requestsPerSecond, lane }: { requestsPerSecond: number; lane: boolean },
): Promise<ReservedCheck[]> {
  if (fares.length === 0) return []
  const { slots } = await reserveSlots(tx, { requestsPerSecond, wanted: fares.length, lane })
  return fares.flatMap((fare, i) => {
    const slotAt = slots[i]
    return slotAt === undefined ? [] : [{ ...fare, slotAt }]
  })
}

/**
 * Splits the checks, which are in the order of their slots, into claims of even size that each last about a second.
 * If they were split at whole seconds of the clock, most ticks would make one more claim, for the few slots after
 * the last second.
 */
function splitIntoClaims(checks: readonly ReservedCheck[]): ClaimedCheck[] {
  const lastsMs = (checks.at(-1)?.slotAt.getTime() ?? 0) - (checks[0]?.slotAt.getTime() ?? 0)
  const claims = Math.max(
    1,
    Math.round(lastsMs / 1000 / CLAIM_SECONDS),
    Math.ceil(checks.length / CLAIM_FARES),
  )
  const size = Math.ceil(checks.length / claims)
  const ids = Array.from({ length: claims }, () => randomUUID())
  return checks.flatMap((check, i) => {
    const claimId = ids[Math.floor(i / size)]
    return claimId === undefined ? [] : [{ ...check, claimId }]
  })
}

/** Claims are made this long before the reserved slots of the budget end, so that none is left unused. */
const LEAD_MS = 1_500

/**
 * In how many milliseconds fares can be claimed next: when one is due, and slots are free for it. While more fares
 * are due than the budget allows, that is every few seconds. A pause of checks moves it to its end. Undefined if no
 * fare waits. Fares that are claimed do not count: most are recorded, and due again, before their lease ends.
 */
export async function nextDispatchMs(db: Db): Promise<number | undefined> {
  const { dueMs, aheadMs } = await selectOne(
    sql<{ dueMs: number | null; aheadMs: number }>`${PREPARED}
      select (extract(epoch from ${afterPause('checks', sql`least(d.scheduled, d.early)`)} - now) * 1000)::float8 as "dueMs",
             (extract(epoch from b.next_slot_at - now) * 1000)::float8 as "aheadMs"
        from upstream_budget b, clock_timestamp() now,
             (select (select not_before
                        from fare_schedule
                       where leased_until <= now()
                       order by not_before
                       limit 1) as scheduled,
                     (select min(q.lane_due_at)
                        from unnest(${FAST_LANES}::text[]) early (lane)
                       cross join lateral (
                         select lane_due_at from fare_schedule
                          where lane = early.lane and leased_until <= now()
                          order by lane_due_at
                          limit 1) q) as early) d
    `,
    db,
  )
  return dueMs === null ? undefined : Math.max(dueMs, aheadMs - LEAD_MS)
}

/** After the errors breaker has closed the rate climbs from a tenth: full rate at once could overload the upstream again. */
const [LEAST_PART, RAMP_SECONDS] = [0.1, 60]

/**
 * The part of the budget that checks may take now, in requests a second.
 * @param closedSecondsAgo how long ago the errors breaker closed; null: never.
 * @example pacedRate(10, 30) // 5
 */
export function pacedRate(requestsPerSecond: number, closedSecondsAgo: number | null): number {
  // Below zero, the clock was set back since: how long ago it closed is unknown.
  if (closedSecondsAgo === null || closedSecondsAgo < 0) return requestsPerSecond
  return requestsPerSecond * Math.max(LEAST_PART, Math.min(1, closedSecondsAgo / RAMP_SECONDS))
}

/** How many seconds ago the errors breaker of the checks closed, as `pacedRate` takes it. */
export async function readClosedSeconds(db: Db): Promise<number | null> {
  const { ago } = await selectOne(
    sql<{ ago: number | null }>`${PREPARED}
      select extract(epoch from clock_timestamp())::float8 - (breakers #>> '{verify,errors,closedAtMs}')::float8 / 1000 as ago
        from upstream_breaker
    `,
    db,
  )
  return ago
}
