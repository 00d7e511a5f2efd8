import { randomUUID } from 'node:crypto'
import type { Db, Tx } from '../db/database.ts'
import { withSessionLock } from '../db/session-lock.ts'
import { inTransaction } from '../db/transaction.ts'
import type { QueueSystem } from '../queue/queue-system.ts'
import type { CircuitBreaker } from '../upstream/breaker/circuit-breaker.ts'
import { reserveSlots } from '../upstream/budget/reserve-slots.ts'
import { chargeClaims, nextChecks } from './charge-claims.ts'
import {
  type ClaimedCheck,
  type DueFare,
  findLaneFares,
  horizonCalls,
  isCountedNow,
  lockClock,
  saveClaims,
} from './claim-fares.ts'
import { moveSharedFares } from './move-shared-fares.ts'
import { capOverdue, countQueues } from './payers.ts'
import { CLAIM_FARES, CLAIM_SECONDS } from './recheck-rules.ts'
import { releaseClaims } from './reschedule.ts'

export const VERIFY_QUEUE = 'verify'

export interface DispatchDeps {
  readonly db: Db
  readonly queue: Pick<QueueSystem, 'enqueue'>
  /** The rate for checks now: the budget, or less of it while the upstream is in trouble. */
  readonly requestsPerSecond: number
  /** The whole budget, from which the expected interval of a fare follows. If unset, it is `requestsPerSecond`. */
  readonly budgetPerSecond?: number
  /** The shortest interval between two checks of a fare. If unset, a minute. */
  readonly minRecheckSeconds?: number
  /** How many fares are claimed at most. If unset, as many as slots can be reserved for. */
  readonly atMost?: number
  /** The circuit breaker of the checks. If unset, there is none. */
  readonly breaker?: Pick<CircuitBreaker, 'admission'>
}

/** A late check is worth nothing: when its job fails, the claim's lease ends and the fare is due again. */
const JOB_ATTEMPTS = 1
const MIN_RECHECK_SECONDS = 60

/**
 * Claims the due fares for the next seconds of the budget, and enqueues a job for about each second.
 *
 * Safe to run twice, late, or not at all for a while: what it does not claim stays due. The claims are committed before
 * their jobs are enqueued, so that no job runs before its claim; a crash in between costs a lease, not a check. While the
 * circuit breaker is open nothing is claimed, and one fare when it probes.
 */
export async function dispatchChecks(deps: DispatchDeps): Promise<ClaimedCheck[]> {
  const { requestsPerSecond } = deps
  const admission = await deps.breaker?.admission('verify')
  if (admission?.kind === 'refused') return []
  const { atMost: given = Number.POSITIVE_INFINITY } = deps
  const atMost = admission?.kind === 'probe' ? 1 : Math.min(given, horizonCalls(requestsPerSecond))
  const rates = { requestsPerSecond, atMost }
  const { checks, isCounted } = await inTransaction(deps.db, (tx) => claimChecks(tx, rates))
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
      for (const [claimId, fares] of claims) await releaseClaims(tx, claimId, idsOf(fares))
    })
    throw err
  }
  if (!isCounted) await refreshQueues(deps)
  return checks
}

function idsOf(fares: readonly DueFare[]): number[] {
  return fares.map(({ fareId }) => fareId)
}

/**
 * After the claims are committed: the count and the moves read the whole schedule, and another process may claim meanwhile. Only one
 * process counts at a time: a count that began before a move would overwrite its sums.
 */
async function refreshQueues({
  db,
  requestsPerSecond,
  budgetPerSecond = requestsPerSecond,
  minRecheckSeconds = MIN_RECHECK_SECONDS,
}: DispatchDeps): Promise<void> {
  const rules = { requestsPerSecond: budgetPerSecond, minRecheckSeconds }
  await withSessionLock(db, 'count-queues', async (session) => {
    // Another process may have counted since the claim.
    if (await isCountedNow(session)) return
    await inTransaction(session, (tx) => countQueues(tx, rules))
    await inTransaction(session, capOverdue)
    await inTransaction(session, (tx) => moveSharedFares(tx, rules))
  })
}

interface Rates {
  readonly requestsPerSecond: number
  readonly atMost: number
}

async function claimChecks(
  tx: Tx,
  { requestsPerSecond, atMost }: Rates,
): Promise<{ checks: ClaimedCheck[]; isCounted: boolean }> {
  // Its row is locked before that of the budget in every transaction: two that meet do not deadlock.
  const { pass, isCounted } = await lockClock(tx)
  const early = (await findLaneFares(tx, requestsPerSecond)).slice(0, atMost)
  const inLanes = await reserveFor(tx, early, { requestsPerSecond, lane: true })
  const limit = atMost - inLanes.length
  const { due, accounts } = await nextChecks(tx, { inLanes, limit, presentPass: pass })
  const scheduled = await reserveFor(tx, due, { requestsPerSecond, lane: false })

  // The lanes reserved first, so their slots come first.
  const checks = splitIntoClaims([...inLanes, ...scheduled])
  await saveClaims(tx, checks)
  await chargeClaims(tx, { inLanes, scheduled, accounts, presentPass: pass })
  return { checks, isCounted }
}

type ReservedCheck = Omit<ClaimedCheck, 'claimId'>

/** Reserves a slot for each fare, as far as the budget goes. */
async function reserveFor(
  tx: Tx,
  fares: readonly DueFare[],
  { requestsPerSecond, lane }: { requestsPerSecond: number; lane: boolean },
): Promise<ReservedCheck[]> {
  if (fares.length === 0) return []
  const { slots } = await reserveSlots(tx, { requestsPerSecond, wanted: fares.length, lane })
  return fares
    .slice(0, slots.length)
    .flatMap((fare, i) => slots.slice(i, i + 1).map((slotAt) => ({ ...fare, slotAt })))
}

/**
 * Splits the checks, which are in the order of their slots, into claims of even size that each last about a second. If they
 * were split at whole seconds of the clock, most ticks would make one more claim, for the few slots after the last second.
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
