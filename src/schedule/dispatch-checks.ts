import { randomUUID } from 'node:crypto'
import { FAST_LANES } from '../platform/base/kinds.ts'
import { span } from '../platform/base/tracing.ts'
import { type Db, PREPARED, sql, type Tx } from '../platform/db/database.ts'
import { inTransaction, selectOne } from '../platform/db/transaction.ts'
import type { QueueSystem } from '../platform/queue/queue-system.ts'
import { afterPause } from '../platform/ticks/pauses.ts'
import type { CircuitBreaker } from '../upstream/breaker/circuit-breaker.ts'
import { reserveSlots } from '../upstream/budget/reserve-slots.ts'
import {
  type ClaimedCheck,
  type ClaimRules,
  type DueCheck,
  findTurns,
  findUrgent,
  release,
  saveClaims,
} from './claim.ts'
import { CLAIM_FARES, CLAIM_SECONDS, horizonCalls } from './schedule-rules.ts'

export const VERIFY_QUEUE = 'verify'

export interface DispatchDeps {
  readonly db: Db
  readonly queue: Pick<QueueSystem, 'enqueue'>
  /** The rate for checks now: the budget, or less of it after an outage of the upstream. */
  readonly requestsPerSecond: number
  /** The budget, where the rate now is less than that. */
  readonly budget?: number
  /** The shortest interval between checks by the setting of this worker. */
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
  await reserve(
    urgent.filter(({ lane }) => lane === 'max_delay'),
    false,
  )
  await reserve(
    urgent.filter(({ lane }) => lane !== 'max_delay'),
    true,
  )
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
 * are due than the budget allows, that is every few seconds. A pause of checks moves it to its end. Undefined if no fare waits. Fares that are claimed do
 * not count: most are recorded, and due again, before their lease ends.
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
