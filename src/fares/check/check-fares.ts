import type { Clock } from '../../platform/base/clock.ts'
import type { CheckReason } from '../../platform/base/kinds.ts'
import { type Db, PREPARED, sql } from '../../platform/db/database.ts'
import { type Skew, waitForSlot } from '../../upstream/budget/take-slot.ts'
import type { Observation, Question } from '../../upstream/observation.ts'
import type { UpstreamClient } from '../../upstream/upstream-client.ts'
import {
  UpstreamCircuitOpenError,
  UpstreamSlotMissedError,
} from '../../upstream/upstream-errors.ts'
import { QUESTION_COLUMNS } from '../../watches/sync-tracked-fares.ts'

/** A claim, and the fares that it was made for. It holds those that no later claim has. */
export interface ClaimRef {
  readonly claimId: string
  readonly fareIds: readonly number[]
}

/** A fare of a claim, with its question and the slot of its check. */
export interface ClaimedFare {
  readonly fareId: number
  readonly slotAt: Date
  readonly question: Question
  readonly why: CheckReason
}

const WHY = sql<CheckReason>`
  case when s.lane_due_at <= s.slot_at then s.lane when s.route_moved then 'route_moved' else 'scheduled' end
`

/**
 * The fares of a claim in the order of their slots, and the database's clock at the time of the query. Leaves out
 * fares that will have departed at their slot.
 */
export async function findClaimedFares(
  db: Db,
  { claimId, fareIds }: ClaimRef,
): Promise<{ fares: ClaimedFare[]; now: Date | undefined }> {
  const { rows } = await sql<Question & Omit<ClaimedFare, 'question'> & { now: Date }>`${PREPARED}
    select f.id as "fareId", ${QUESTION_COLUMNS}, s.slot_at as "slotAt", ${WHY} as why, clock_timestamp() as now
      from fare_schedule s
      join tracked_fare f on f.id = s.tracked_fare_id
      left join fare_state b on b.tracked_fare_id = s.tracked_fare_id
     where s.tracked_fare_id = any(${fareIds}::bigint[]) and s.claim_id = ${claimId} and s.slot_at is not null
       and coalesce(b.departs_at > s.slot_at, true)
     order by s.slot_at
  `.execute(db)
  const fares = rows.map(({ fareId, slotAt, why, now: _, ...question }) => {
    return { fareId, slotAt, why, question }
  })
  return { fares, now: rows[0]?.now }
}

/** One observation of a fare, and when its request began by the database's clock. */
export interface Check {
  readonly fareId: number
  readonly askedAt: Date
  readonly why: CheckReason
  readonly observation: Observation
}

/** The results since the last batch. */
export interface CheckBatch {
  readonly checks: readonly Check[]
  /** Fares that were not checked: their slot had passed by more than a second. */
  readonly late: readonly number[]
  /** Fares that were not checked: the circuit breaker was open, or the upstream answered 429. */
  readonly blocked: readonly number[]
}

interface CheckDeps {
  readonly upstream: Pick<UpstreamClient, 'verifyFares'>
  readonly clock: Clock
}

interface CheckOptions extends Skew {
  readonly signal: AbortSignal
}

/** How long finished results wait for the others of their batch. */
const TIMEOUT_MS = 500

/**
 * Checks each fare at its reserved slot, and yields the results in batches: mostly one, with all of them.
 *
 * A call to an upstream that hangs lasts until its timeout, ten times as long as a batch. If the others waited for it,
 * one such call in a hundred would keep most fares from being scheduled again, and the budget from being used.
 */
export async function* checkFares(
  deps: CheckDeps,
  fares: readonly ClaimedFare[],
  options: CheckOptions,
): AsyncGenerator<CheckBatch> {
  const results: Result[] = []
  const ended = new AbortController()
  const all = callInOrder(deps, fares, { ...options, results }).finally(() => ended.abort())
  // It is awaited below; a rejection before that must not count as unhandled.
  all.catch(() => undefined)

  let timeoutMs = untilLastSlotMs(deps, fares, options) + TIMEOUT_MS
  for (let left = fares.length; left > 0; ) {
    await deps.clock.sleep(timeoutMs, ended.signal).catch(() => undefined)
    if (ended.signal.aborted) await all
    const finished = results.splice(0)
    left -= finished.length
    timeoutMs = TIMEOUT_MS
    if (finished.length > 0) yield batchOf(finished)
  }
}

type Result = Check | { readonly late: number } | { readonly blocked: number }

/**
 * Waits for one slot after the other with one timer: hundreds of timers at a time would cost more than the calls.
 * Once the circuit breaker refuses a call, the fares after it are not tried.
 */
async function callInOrder(
  { upstream, clock }: CheckDeps,
  fares: readonly ClaimedFare[],
  { results, ...options }: CheckOptions & { results: Result[] },
): Promise<void> {
  const calls: Promise<void>[] = []
  let isOpen = false
  for (const { fareId, slotAt, question, why } of fares) {
    if (isOpen) {
      results.push({ blocked: fareId })
      continue
    }
    const slot = await waitForSlot(slotAt, { ...options, clock })
    if (slot === undefined) {
      results.push({ late: fareId })
      continue
    }
    const askedAt = slot.now()
    const call = upstream.verifyFares(question, { signal: options.signal, slot }).then(
      (observation) => {
        const check = { fareId, askedAt, why, observation }
        results.push(isRateLimited(observation) ? { blocked: fareId } : check)
      },
      (err: unknown) => {
        if (err instanceof UpstreamSlotMissedError) {
          results.push({ late: fareId })
          return
        }
        if (!(err instanceof UpstreamCircuitOpenError)) throw err
        isOpen = true
        results.push({ blocked: fareId })
      },
    )
    // It is awaited after the last slot; a rejection before that must not count as unhandled.
    call.catch(() => undefined)
    calls.push(call)
  }
  await Promise.all(calls)
}

/** A 429 says nothing of the fare, and is no failure of its check. */
export function isRateLimited({ outbound }: Observation): boolean {
  return outbound.kind === 'unknown' && outbound.reason === 'rate_limited'
}

/** The fares are in the order of their slots. */
function untilLastSlotMs(
  { clock }: CheckDeps,
  fares: readonly ClaimedFare[],
  { skewMs }: CheckOptions,
): number {
  const last = fares.at(-1)?.slotAt.getTime() ?? 0
  return Math.max(0, last - skewMs - clock.now().getTime())
}

function batchOf(results: readonly Result[]): CheckBatch {
  return {
    checks: results.filter((result) => 'observation' in result),
    late: results.flatMap((result) => ('late' in result ? [result.late] : [])),
    blocked: results.flatMap((result) => ('blocked' in result ? [result.blocked] : [])),
  }
}
