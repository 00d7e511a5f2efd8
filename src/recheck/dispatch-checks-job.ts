import { randomUUID } from 'node:crypto'
import type { Db, Tx } from '../db/database.ts'
import { inTransaction } from '../db/transaction.ts'
import type { QueueSystem } from '../queue/queue-system.ts'
import { reserveSlots } from '../upstream/budget.ts'
import {
  advanceClock,
  type Candidate,
  findLaneCandidates,
  findTurns,
  horizonCalls,
  refreshTickets,
  saveClaims,
  type Turn,
} from './claim-fares.ts'

export const VERIFY_QUEUE = 'verify'

export interface DispatchDeps {
  readonly db: Db
  readonly queue: Pick<QueueSystem, 'enqueue'>
  /** The rate that may be spent now: the budget, or less of it while the upstream is in trouble. */
  readonly requestsPerSecond: number
}

/** A check is worth nothing late: its claim comes back by itself when its job fails. */
const JOB_ATTEMPTS = 1

/**
 * Gives the next seconds of the budget to the fares whose turn it is, and enqueues a job for about each second.
 *
 * Safe to run twice, or late, or never for a while: what it does not give stays due. The claims are committed
 * before their jobs are enqueued, so that a job never comes before its claim; a crash in between costs a lease,
 * not a check.
 */
export async function dispatchChecks(deps: DispatchDeps): Promise<Turn[]> {
  const turns = await inTransaction(deps.db, (tx) => claimTurns(tx, deps.requestsPerSecond))
  const claims = new Set(turns.map((turn) => turn.claimId))
  for (const claimId of claims) {
    await deps.queue.enqueue(VERIFY_QUEUE, {
      payload: { claimId },
      id: claimId,
      attempts: JOB_ATTEMPTS,
    })
  }
  return turns
}

async function claimTurns(tx: Tx, requestsPerSecond: number): Promise<Turn[]> {
  await refreshTickets(tx, requestsPerSecond)
  const early = await findLaneCandidates(tx, requestsPerSecond)
  const inLanes = await giveSlots(tx, early, { requestsPerSecond, lane: true })
  await saveClaims(tx, inLanes, { spendTurn: false })

  const due = await findTurns(tx, {
    limit: horizonCalls(requestsPerSecond),
    without: inLanes.map((turn) => turn.fareId),
  })
  const byTurn = await giveSlots(tx, due, { requestsPerSecond, lane: false })
  await saveClaims(tx, byTurn, { spendTurn: true })
  const last = byTurn.at(-1)
  if (last !== undefined) await advanceClock(tx, last.vdue)
  return [...inLanes, ...byTurn]
}

/** Pairs candidates with slots, as far as the budget goes; those within one second share a claim. */
async function giveSlots(
  tx: Tx,
  candidates: readonly Candidate[],
  { requestsPerSecond, lane }: { requestsPerSecond: number; lane: boolean },
): Promise<Turn[]> {
  if (candidates.length === 0) return []
  const { slots } = await reserveSlots(tx, { requestsPerSecond, wanted: candidates.length, lane })
  const claims = new Map<number, string>()
  return slots.flatMap((slotAt, i) => {
    const candidate = candidates[i]
    if (candidate === undefined) return []
    const second = Math.floor(slotAt.getTime() / 1000)
    const claimId = claims.get(second) ?? randomUUID()
    claims.set(second, claimId)
    return [{ ...candidate, claimId, slotAt }]
  })
}
