import { AppError } from '../../platform/base/errors.ts'
import type { Db } from '../../platform/db/database.ts'
import { pausedForMs } from '../../platform/ticks/pauses.ts'
import { type TakenSlot, takeSlot } from '../../upstream/budget/take-slot.ts'
import { judgedBy, readHabits } from '../../upstream/flights/answer-habits.ts'
import { circuitOpenObservation, verifyPath } from '../../upstream/flights/verify-fares.ts'
import type { Observation, Question } from '../../upstream/observation.ts'
import { assertQuestion, assertTwoFlights } from '../../upstream/passenger-rules.ts'
import {
  UpstreamCircuitOpenError,
  UpstreamSlotMissedError,
} from '../../upstream/upstream-errors.ts'
import { isRateLimited } from '../check/check-fares.ts'
import { recordBatch, type VerifyDeps } from '../verify-fares-job.ts'
import { type CallerKey, createSlotQueue, NoSlotError } from './slot-queue.ts'
import {
  parseVerifyResult,
  publishResult,
  unknownResult,
  type VerifyResult,
} from './verify-result.ts'

interface OnDemandAnswer {
  readonly observation: Observation
  /** The observation as the answer to a caller. */
  readonly result: VerifyResult
  /** The tracked fare that recorded the check; null if no watch asks the question. */
  readonly fareId: number | null
}

interface OnDemandCheckDeps extends VerifyDeps {
  /** Waits for a slot of the budget, and throws if it gets none. If unset, the check waits without a time limit. */
  readonly takeSlot?: (signal: AbortSignal) => Promise<TakenSlot>
}

/**
 * Checks one question now, in a slot that the budget reserves for lanes.
 *
 * A known answer is kept for callers that accept an older one, and a tracked fare records the check by the same rules
 * as a scheduled one. While the circuit breaker is open or the upstream has asked for a pause, no call is made and no
 * slot is taken: the answer is unknown, `circuit_open`, and nothing is recorded.
 *
 * Throws ChecksPausedError while operators have paused the checks. Throws PassengerRuleError, QuestionError or SameFlightError, before it takes a slot, for a question that must not
 * be sent.
 */
export async function verifyOnDemand(
  deps: OnDemandCheckDeps,
  question: Question,
  signal: AbortSignal,
): Promise<OnDemandAnswer> {
  const { db } = deps
  assertQuestion(question)
  assertTwoFlights(question)
  const pausedMs = await pausedForMs(db, 'checks')
  if (pausedMs !== undefined) throw new ChecksPausedError(pausedMs)
  const { observation: read, askedAt } = await callUpstream(deps, question, signal)
  const observation = judgedBy(await readHabits(db, [read]), read)
  const result = parseVerifyResult(question, observation)
  const fareId = await findTrackedFare(db, question)
  if (askedAt !== null) {
    if (fareId !== null && !isRateLimited(observation)) {
      const check = { fareId, askedAt, why: 'on_demand', observation } as const
      await recordBatch(deps, { checks: [check], late: [], blocked: [] }, null)
    }
    if (result.kind === 'known') await publishResult(db, question, { askedAt, body: result.body })
  }
  return { observation, result, fareId }
}

/** A pause without an end, or with a late one, may be resumed at any time. */
const MOST_RETRY_AFTER_MS = 60_000

/** Operators have paused the checks. */
class ChecksPausedError extends AppError {
  override readonly name = 'ChecksPausedError'
  override readonly code = 'verify.paused'
  override readonly retryable = true
  readonly retryAfterMs: number

  constructor(pausedMs: number) {
    super('operators have paused the checks, so the upstream is not asked')
    this.retryAfterMs = Math.min(MOST_RETRY_AFTER_MS, pausedMs)
  }
}

interface Call {
  readonly observation: Observation
  /** When the request began, by the database's clock; null if no request was made. */
  readonly askedAt: Date | null
}

/** If the slot passes before the call can start, takes another slot. */
async function callUpstream(
  deps: OnDemandCheckDeps,
  question: Question,
  signal: AbortSignal,
): Promise<Call> {
  for (;;) {
    try {
      return await callAtSlot(deps, question, signal)
    } catch (err) {
      if (!(err instanceof UpstreamSlotMissedError)) throw err
    }
  }
}

async function callAtSlot(
  deps: OnDemandCheckDeps,
  question: Question,
  signal: AbortSignal,
): Promise<Call> {
  const { clock, upstream, breaker, metrics, countCall, takeSlot = slotTaker(deps) } = deps
  try {
    const admission = await breaker?.admission('verify')
    if (admission?.kind === 'refused') {
      const until = new Date(admission.untilMs)
      throw new UpstreamCircuitOpenError({ endpoint: 'verify', by: admission.by, until })
    }
    const slot = await takeSlot(signal)
    metrics.budgetSlots.inc({ lane: 'on_demand' })
    countCall?.('on_demand')
    const askedAt = slot.now()
    return { observation: await upstream.verifyFares(question, { signal, slot }), askedAt }
  } catch (err) {
    if (!(err instanceof UpstreamCircuitOpenError)) throw err
    return { observation: circuitOpenObservation(question, err, clock.now()), askedAt: null }
  }
}

function slotTaker({ db, clock, rules: { requestsPerSecond } }: VerifyDeps) {
  return (signal: AbortSignal) => takeSlot(db, { requestsPerSecond, lane: true, clock, signal })
}

async function findTrackedFare(db: Db, question: Question): Promise<number | null> {
  const { flightId, returnFlightId, passengers } = question
  const { residents, nonResidents } = passengers
  const fare = await db
    .selectFrom('tracked_fare')
    .select('id')
    .where('flight_id', '=', flightId)
    .where('return_flight_id', 'is not distinct from', returnFlightId)
    .where('residents_adults', '=', residents.adults)
    .where('residents_children', '=', residents.children)
    .where('residents_infants', '=', residents.infants)
    .where('non_residents_adults', '=', nonResidents.adults)
    .where('non_residents_children', '=', nonResidents.children)
    .where('non_residents_infants', '=', nonResidents.infants)
    .where('ended_at', 'is', null)
    .executeTakeFirst()
  return fare?.id ?? null
}

/** Verifies fares for callers that wait for the answer. */
export interface OnDemand {
  /**
   * The call continues when its caller disconnects: other callers may share it, and a tracked fare records it.
   * Callers take turns for the slots of the budget; equal keys are one caller.
   */
  verify(question: Question, caller: CallerKey): Promise<VerifyResult>
  /** Aborts the calls in flight, whose results are then `stopping`, and resolves when none is left. */
  close(): Promise<void>
}

export interface OnDemandDeps extends VerifyDeps {
  /** How long a request may wait until the budget grants it a slot. A granted slot lies at most five seconds ahead. */
  readonly slotTimeoutMs?: number
}

/** Clients give up after about 30 s. A slot lies up to 5 s ahead, and the upstream may take 10 s to answer. */
const SLOT_TIMEOUT_MS = 10_000

/** A call in progress, and the callers that wait for it. */
interface SharedCall {
  readonly callers: Set<CallerKey>
  readonly result: Promise<VerifyResult>
}

/** Equal questions that overlap in this process share one call and its result. */
export function createOnDemand(options: OnDemandDeps): OnDemand {
  const { slotTimeoutMs: timeoutMs = SLOT_TIMEOUT_MS, ...deps } = options
  const { db, clock, rules } = deps
  const { requestsPerSecond } = rules
  const queue = createSlotQueue({ db, clock, requestsPerSecond, timeoutMs })
  const ending = new AbortController()
  const { signal } = ending
  const inFlight = new Map<string, SharedCall>()

  async function call(question: Question, callers: ReadonlySet<CallerKey>): Promise<VerifyResult> {
    const takeSlot = (ending: AbortSignal) => queue(callers, ending)
    try {
      const { result } = await verifyOnDemand({ ...deps, takeSlot }, question, signal)
      return result
    } catch (err) {
      if (err instanceof ChecksPausedError) return unknownResult('paused', err.retryAfterMs)
      if (err instanceof NoSlotError) return unknownResult('no_slot', err.retryAfterMs)
      if (signal.aborted) return unknownResult('stopping')
      throw err
    }
  }

  return {
    verify: (question, caller) => {
      const key = verifyPath(question)
      const running = inFlight.get(key)
      if (running !== undefined) {
        running.callers.add(caller)
        return running.result
      }
      const callers = new Set<CallerKey>([caller])
      const result = call(question, callers).finally(() => inFlight.delete(key))
      inFlight.set(key, { callers, result })
      return result
    },
    close: async () => {
      ending.abort()
      await Promise.allSettled([...inFlight.values()].map(({ result }) => result))
    },
  }
}
