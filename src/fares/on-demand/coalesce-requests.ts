import { verifyPath } from '../../upstream/flights/verify-fares.ts'
import type { Question } from '../../upstream/observation.ts'
import type { VerifyDeps } from '../verify-fares-job.ts'
import { type CallerKey, createSlotQueue, NoSlotError } from './slot-queue.ts'
import { verifyOnDemand } from './verify-on-demand.ts'
import { unknownResult, type VerifyResult } from './verify-result.ts'

/** Verifies fares for callers that wait for the answer. */
export interface OnDemand {
  /**
   * The call continues when its caller disconnects: other callers may share it, and a tracked fare records it. Callers take
   * turns for the slots of the budget; equal keys are one caller.
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
