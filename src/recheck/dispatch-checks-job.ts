import { randomUUID } from 'node:crypto'
import type { Db, Tx } from '../db/database.ts'
import { inTransaction } from '../db/transaction.ts'
import type { QueueSystem } from '../queue/queue-system.ts'
import type { CircuitBreaker } from '../upstream/breaker/circuit-breaker.ts'
import { reserveSlots } from '../upstream/budget/reserve-slots.ts'
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
import { CLAIM_FARES, CLAIM_SECONDS } from './recheck-rules.ts'
import { noteRested, wakeRested } from './wake-rested.ts'

export const VERIFY_QUEUE = 'verify'

export interface DispatchDeps {
  readonly db: Db
  readonly queue: Pick<QueueSystem, 'enqueue'>
  /** The rate that may be spent now: the budget, or less of it while the upstream is in trouble. */
  readonly requestsPerSecond: number
  /** The whole budget, by which is told how long a turn of everybody takes; absent: what may be spent now. */
  readonly budgetPerSecond?: number
  /** What the checks will have to pass; absent where there is nothing. */
  readonly breaker?: Pick<CircuitBreaker, 'admission'>
}

/** A check is worth nothing late: its claim comes back by itself when its job fails. */
const JOB_ATTEMPTS = 1

/**
 * Gives the next seconds of the budget to the fares whose turn it is, and enqueues a job for about each second.
 *
 * Safe to run twice, or late, or never for a while: what it does not give stays due. The claims are committed
 * before their jobs are enqueued, so that a job never comes before its claim; a crash in between costs a lease,
 * not a check. While the upstream is to be left alone nothing is given, and one turn where it is to be probed.
 */
export async function dispatchChecks(deps: DispatchDeps): Promise<Turn[]> {
  const { requestsPerSecond } = deps
  const admission = await deps.breaker?.admission('verify')
  if (admission?.kind === 'refused') return []
  const atMost = admission?.kind === 'probe' ? 1 : horizonCalls(requestsPerSecond)
  const { budgetPerSecond = requestsPerSecond } = deps
  const rates = { requestsPerSecond, budgetPerSecond, atMost }
  const turns = await inTransaction(deps.db, (tx) => claimTurns(tx, rates))
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

interface Rates {
  readonly requestsPerSecond: number
  readonly budgetPerSecond: number
  readonly atMost: number
}

async function claimTurns(
  tx: Tx,
  { requestsPerSecond, budgetPerSecond, atMost }: Rates,
): Promise<Turn[]> {
  const allWoken = await wakeRested(tx)
  const early = (await findLaneCandidates(tx, requestsPerSecond)).slice(0, atMost)
  const inLanes = await giveSlots(tx, early, { requestsPerSecond, lane: true })
  const due = await findTurns(tx, {
    limit: atMost - inLanes.length,
    without: inLanes.map((turn) => turn.fareId),
  })
  const byTurn = await giveSlots(tx, due, { requestsPerSecond, lane: false })

  // The lanes reserved first: their slots lie before those of the turns.
  const turns = shareClaims([...inLanes, ...byTurn])
  await saveClaims(tx, turns.slice(0, inLanes.length), { spendTurn: false })
  await saveClaims(tx, turns.slice(inLanes.length), { spendTurn: true })
  const last = byTurn.at(-1)
  if (last !== undefined) await advanceClock(tx, last.vdue)
  // After the budget, as the line before: two processes that meet take their locks in one order.
  await refreshTickets(tx, budgetPerSecond)
  if (allWoken) await noteRested(tx)
  return turns
}

type GivenSlot = Omit<Turn, 'claimId'>

/** Pairs candidates with slots, as far as the budget goes. */
async function giveSlots(
  tx: Tx,
  candidates: readonly Candidate[],
  { requestsPerSecond, lane }: { requestsPerSecond: number; lane: boolean },
): Promise<GivenSlot[]> {
  if (candidates.length === 0) return []
  const { slots } = await reserveSlots(tx, { requestsPerSecond, wanted: candidates.length, lane })
  return candidates
    .slice(0, slots.length)
    .flatMap((candidate, i) => slots.slice(i, i + 1).map((slotAt) => ({ ...candidate, slotAt })))
}

/**
 * Parts the turns, which lie in the order of their slots, into claims of even size that each last about a second:
 * by the clock's seconds every tick would leave a second claim with the few slots that stick out.
 */
function shareClaims(turns: readonly GivenSlot[]): Turn[] {
  const lastsMs = (turns.at(-1)?.slotAt.getTime() ?? 0) - (turns[0]?.slotAt.getTime() ?? 0)
  const claims = Math.max(
    1,
    Math.round(lastsMs / 1000 / CLAIM_SECONDS),
    Math.ceil(turns.length / CLAIM_FARES),
  )
  const size = Math.ceil(turns.length / claims)
  const ids = Array.from({ length: claims }, () => randomUUID())
  return turns.flatMap((turn, i) => {
    const claimId = ids[Math.floor(i / size)]
    return claimId === undefined ? [] : [{ ...turn, claimId }]
  })
}
