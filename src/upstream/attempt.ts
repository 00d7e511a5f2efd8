import type { Clock } from '../platform/base/clock.ts'
import { AppError } from '../platform/base/errors.ts'
import type { Logger } from '../platform/base/logger.ts'
import type { EndpointGroup, Refusal } from './breaker/breaker-state.ts'
import type { CircuitBreaker, Permit } from './breaker/circuit-breaker.ts'
import type { TakenSlot } from './budget/take-slot.ts'
import type { HttpExchange } from './transport/http-exchange.ts'
import {
  type CallEnd,
  classifyOutcome,
  UpstreamCircuitOpenError,
  UpstreamNetworkError,
  UpstreamSlotMissedError,
} from './upstream-errors.ts'

/** What is reported of one call when it has ended. */
export interface UpstreamCall {
  readonly endpoint: string
  /** `ok`, `aborted` by the caller, `internal` for a bug of ours, or a code. upstream-errors.ts lists all of them. */
  readonly outcome: string
  readonly status?: number
  readonly durationMs: number
  /** Decoded bytes of the body that have arrived. */
  readonly bytes: number
}

/** Filled in while a call runs. `outcome` is the one to report if the call does not throw. */
export type CallRecord = { -readonly [Name in keyof CallEnd]: CallEnd[Name] } & { bytes: number }

/** `recovered`: the second call succeeded. `no_slot`: the budget had no near slot, so there was no second call. */
export const QUICK_RETRY_OUTCOMES = ['recovered', 'failed', 'no_slot'] as const

export interface QuickRetry {
  readonly endpoint: string
  readonly outcome: (typeof QUICK_RETRY_OUTCOMES)[number]
}

export interface CallDeps {
  readonly exchange: HttpExchange
  readonly log: Logger
  readonly clock: Clock
  /** Uniform in [0, 1). */
  readonly random: () => number
  /** Without a circuit breaker every call is made. */
  readonly breaker: Breaker | undefined
  /** Called once for every call that has ended, to count it. */
  readonly observe: ((call: UpstreamCall) => void) | undefined
  /** Waits for a near slot. Undefined if none can be had. Without this function nothing is retried. */
  readonly retrySlot: ((signal: AbortSignal) => Promise<TakenSlot | undefined>) | undefined
  /** Called once for every transient failure, to count it. */
  readonly onQuickRetry: ((retry: QuickRetry) => void) | undefined
}

interface PermittedCall extends PermitRequest {
  readonly permit: Permit
}

/** Makes the request of a call through `exchange`, which fills in the record. It may set the record's outcome. */
type RunCall<T> = (exchange: HttpExchange, record: CallRecord) => Promise<T>

/** Makes a permitted call, and makes it a second time if it failed in a way that often passes within a moment. */
export async function callWithRetry<T>(
  deps: CallDeps,
  call: PermittedCall,
  run: RunCall<T>,
): Promise<T> {
  const first = await attempt(deps, call, run)
  const { endpoint } = call
  const permit = await acquireRetryPermit(deps, call, first.record)
  if (permit === 'no_slot') deps.onQuickRetry?.({ endpoint, outcome: 'no_slot' })
  if (typeof permit === 'string') return resultOf(first)
  const second = await attempt(deps, { ...call, permit }, run)
  const recovered = classifyOutcome(second.record) === 'good'
  deps.onQuickRetry?.({ endpoint, outcome: recovered ? 'recovered' : 'failed' })
  return resultOf(second)
}

type Attempt<T> = { readonly record: CallRecord } & (
  | { readonly value: T }
  | { readonly error: unknown }
)

/** Makes one call. Reports it once to the log, to `observe` and to the circuit breaker. Never rejects. */
async function attempt<T>(
  deps: CallDeps,
  { endpoint, group, signal, permit }: PermittedCall,
  run: RunCall<T>,
): Promise<Attempt<T>> {
  const startedMs = performance.now()
  const record: CallRecord = { status: undefined, bytes: 0, outcome: 'ok' }
  try {
    return { record, value: await run(recordingExchange(deps.exchange, record), record) }
  } catch (error) {
    if (error instanceof AppError) record.outcome = error.code
    else record.outcome = signal.aborted ? 'aborted' : 'internal'
    return { record, error }
  } finally {
    report(deps, endpoint, { record, durationMs: performance.now() - startedMs })
    await deps.breaker?.report(group, record, permit)
  }
}

function resultOf<T>(ended: Attempt<T>): T {
  if ('error' in ended) throw ended.error
  return ended.value
}

function report(
  { log, observe }: CallDeps,
  endpoint: string,
  { record, durationMs }: { record: CallRecord; durationMs: number },
): void {
  const { status, bytes, outcome } = record
  const call = { endpoint, outcome, ...(status === undefined ? {} : { status }) }
  log.debug({ ...call, durationMs: Math.round(durationMs), bytes }, 'upstream call ended')
  observe?.({ ...call, durationMs, bytes })
}

/** The exchange for one call. It records the status, the size, the requested wait and how the connection failed. */
function recordingExchange(exchange: HttpExchange, record: CallRecord): HttpExchange {
  return {
    close: exchange.close,
    async get(request) {
      try {
        const answer = await exchange.get({
          ...request,
          wants: (head) => {
            record.status = head.status
            return request.wants(head)
          },
          onChunk: (chunk) => {
            record.bytes += chunk.length
            request.onChunk?.(chunk)
          },
        })
        if (answer.retryAfterMs !== undefined) record.retryAfterMs = answer.retryAfterMs
        return answer
      } catch (err) {
        if (err instanceof UpstreamNetworkError) record.reason = err.reason
        throw err
      }
    },
  }
}

const RETRY_DELAY_MS = { min: 100, max: 300 }

/** Failures that often pass within a moment: a proxy or a server that restarts. */
const TRANSIENT_STATUSES = new Set([502, 503, 504])
/** The connection broke before or during the answer. A connection that could not be made is not retried at once. */
const TRANSIENT_REASONS = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'])

/**
 * Waits a moment, takes a slot for the second call and acquires its permit.
 *
 * Returns `none` if there must be no second call: the failure is not transient, or the circuit breaker refuses calls
 * or admits only a probe. Returns `no_slot` if there is no near slot, or the slot passed while the permit was
 * acquired. Rejects when the signal aborts.
 */
async function acquireRetryPermit(
  { clock, random, breaker, retrySlot }: CallDeps,
  request: PermitRequest,
  record: CallRecord,
): Promise<Permit | 'none' | 'no_slot'> {
  const { group, signal } = request
  if (retrySlot === undefined || !isTransient(record)) return 'none'
  if (breaker !== undefined && (await breaker.admission(group)).kind !== 'allowed') return 'none'
  const { min, max } = RETRY_DELAY_MS
  await clock.sleep(min + Math.floor(random() * (max - min)), signal)
  const slot = await retrySlot(signal).catch(() => {
    signal.throwIfAborted()
    // The database is unavailable. The first failure is the one to report.
    return undefined
  })
  if (slot === undefined) return 'no_slot'
  try {
    return await acquirePermit(breaker, request, slot)
  } catch (err) {
    if (err instanceof UpstreamSlotMissedError) return 'no_slot'
    if (err instanceof UpstreamCircuitOpenError) return 'none'
    throw err
  }
}

/** Whether a second call may succeed at once. A failure with a requested wait begins a pause, and is not retried. */
function isTransient({ outcome, status, reason, retryAfterMs }: CallRecord): boolean {
  if (outcome === 'upstream.network') return TRANSIENT_REASONS.has(reason ?? '')
  if (outcome !== 'upstream.http_5xx' || retryAfterMs !== undefined) return false
  return TRANSIENT_STATUSES.has(status ?? 0)
}

export type Breaker = Pick<CircuitBreaker, 'admission' | 'acquirePermit' | 'report'>

/** The permit of a client without a circuit breaker. */
const UNCONDITIONAL: Permit = { kind: 'permit', probe: null, madeAtMs: 0 }
/** Reported for a permit that was not used. Releases its probe. */
const NOT_MADE = { outcome: 'aborted', status: undefined }

export interface PermitRequest {
  readonly endpoint: string
  readonly group: EndpointGroup
  readonly signal: AbortSignal
}

/**
 * Acquires the permit for a call at a slot, which the caller must make at once. Throws UpstreamCircuitOpenError, or
 * UpstreamSlotMissedError: the permit may need a query, which can take longer than a slot remains valid.
 */
export async function acquirePermit(
  breaker: Breaker | undefined,
  { endpoint, group }: Omit<PermitRequest, 'signal'>,
  slot: TakenSlot | undefined,
): Promise<Permit> {
  const permit = breaker === undefined ? UNCONDITIONAL : await breaker.acquirePermit(group)
  if (permit.kind === 'refused') throw circuitOpenError(endpoint, permit)
  if (slot === undefined || slot.isUsable()) return permit
  await breaker?.report(group, NOT_MADE, permit)
  throw new UpstreamSlotMissedError({ endpoint })
}

/**
 * Takes a slot of the budget, then acquires the permit for a call at it. Takes another slot if the slot passes in
 * between. Throws UpstreamCircuitOpenError.
 *
 * A refusal is thrown before a slot is taken. The budget grants no slots during a pause, so the call would otherwise
 * wait for minutes and appear stalled.
 */
export async function acquirePermitWithSlot(
  breaker: Breaker | undefined,
  request: PermitRequest,
  takeSlot: ((signal: AbortSignal) => Promise<TakenSlot>) | undefined,
): Promise<Permit> {
  for (;;) {
    const admission = await breaker?.admission(request.group)
    if (admission?.kind === 'refused') throw circuitOpenError(request.endpoint, admission)
    const slot = await takeSlot?.(request.signal)
    try {
      return await acquirePermit(breaker, request, slot)
    } catch (err) {
      if (!(err instanceof UpstreamSlotMissedError)) throw err
    }
  }
}

/** Throws UpstreamCircuitOpenError during a pause. Ignores the breakers. */
export async function assertNotPaused(breaker: Breaker, endpoint: string): Promise<void> {
  const admission = await breaker.admission('verify')
  if (admission.kind !== 'refused' || admission.by !== 'pause') return
  throw circuitOpenError(endpoint, admission)
}

function circuitOpenError(endpoint: string, { by, untilMs, cause }: Refusal) {
  return new UpstreamCircuitOpenError({ endpoint, by, cause, until: new Date(untilMs) })
}
