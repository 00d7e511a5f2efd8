import { isAhead } from '../../base/clock.ts'
import { NO_FREE_CONNECTION } from '../upstream-errors.ts'
import {
  type BreakerName,
  type BreakerSignal,
  type CallCount,
  type Outcomes,
  SPANS_MS,
} from './breaker-state.ts'

/** How a call ended, as far as the breakers and the pause need it. */
export interface CallEnd {
  readonly outcome: string
  readonly status: number | undefined
  /** The system's code of a failed connection. */
  readonly reason?: string
  /** The wait that a 429 or a 503 asked for, capped. */
  readonly retryAfterMs?: number
}

/**
 * What the end of a call says about the upstream. `anomalous`: an answer outside the contract. `failed`: no answer, or
 * a server error. `refused`: our credential is refused (401, 403, a login page). `rate_limited`: a requested wait.
 * `not_made`: nothing, because the upstream was not called.
 */
export type OutcomeClass = 'good' | 'anomalous' | 'failed' | 'refused' | 'rate_limited' | 'not_made'

/** All outcomes of calls. The breakers, the alert UpstreamErrors and the panel "Good answers" share this table. */
const CLASS_BY_OUTCOME: Readonly<Record<string, OutcomeClass>> = {
  ok: 'good',
  'upstream.not_modified': 'good',
  // The upstream understood the question and refused it, so it works.
  'upstream.http_4xx': 'good',
  'upstream.id_missing': 'good',
  'upstream.timeout': 'failed',
  'upstream.http_5xx': 'failed',
  // If our own limit of connections caused it, classifyOutcome returns `not_made`.
  'upstream.network': 'failed',
  'upstream.rate_limited': 'rate_limited',
  'upstream.auth': 'refused',
  'upstream.redirect': 'anomalous',
  'upstream.too_large': 'anomalous',
  'upstream.contract_violation': 'anomalous',
  'upstream.malformed': 'anomalous',
  aborted: 'not_made',
  internal: 'not_made',
}

export const CALL_OUTCOMES: readonly string[] = Object.keys(CLASS_BY_OUTCOME)
export const GOOD_OUTCOMES = CALL_OUTCOMES.filter((outcome) => CLASS_BY_OUTCOME[outcome] === 'good')

export function classifyOutcome({ outcome, reason }: CallEnd): OutcomeClass {
  if (outcome === 'upstream.network' && reason === NO_FREE_CONNECTION) return 'not_made'
  return CLASS_BY_OUTCOME[outcome] ?? 'anomalous'
}

/** A server that refuses our credential is up. A server that is down says nothing about our credential. */
export function breakerSignal(breaker: BreakerName, outcome: OutcomeClass): BreakerSignal {
  if (outcome === 'not_made') return 'not_made'
  if (breaker === 'errors') return outcome === 'failed' ? 'failure' : 'success'
  if (outcome === 'refused') return 'failure'
  return outcome === 'good' ? 'success' : 'neutral'
}

/**
 * How a failed call ended, for people.
 * @example causeOf({ outcome: 'upstream.network', status: undefined, reason: 'ECONNREFUSED' }) // 'ECONNREFUSED'
 */
export function causeOf({ outcome, status, reason }: CallEnd): string {
  if (outcome === 'upstream.auth' && (status ?? 0) < 400) return 'login page'
  return reason ?? status?.toString() ?? outcome.replace('upstream.', '')
}

/** Instants are milliseconds by the database's clock. */
export interface TalliedCall {
  readonly signal: BreakerSignal
  readonly cause: string
  readonly madeAtMs: number
  readonly nowMs: number
  readonly probe: string | null
}

/** Counts the signals of this process for one breaker until they are reported. */
export interface SignalTally {
  add(call: TalliedCall): void
  /** Whether any counted call failed or was a probe. */
  readonly urgent: boolean
  readonly empty: boolean
  /** Returns the counts since the last call of this function. */
  take(): Outcomes
}

/** No rule needs to know of more failures in a row. */
const KEPT_FAILURES = 20

export function createTally(): SignalTally {
  let counts = new Map<number, MutableCount>()
  let failedMs: number[] = []
  let goodAtMs: number | null = null
  let cause: string | null = null
  let probe: Outcomes['probe'] = null
  return {
    add(call) {
      const { signal, madeAtMs, nowMs } = call
      if (isAhead(goodAtMs, nowMs)) goodAtMs = null
      const failed = signal === 'failure'
      if (failed || signal === 'success') count(counts, { madeAtMs, nowMs, failed })
      if (signal === 'success') {
        const latestMs = Math.max(goodAtMs ?? 0, madeAtMs)
        failedMs = failedMs.filter((ms) => ms > latestMs)
        goodAtMs = latestMs
      }
      if (failed) {
        if (madeAtMs >= (goodAtMs ?? 0)) failedMs = [...failedMs, madeAtMs].slice(-KEPT_FAILURES)
        cause = call.cause
      }
      if (call.probe !== null) probe = { id: call.probe, signal }
    },
    get urgent() {
      return probe !== null || counts.values().some(({ failed }) => failed > 0)
    },
    get empty() {
      return counts.size === 0 && probe === null
    },
    take() {
      const failuresInARow = failedMs.length
      const failedAtMs = failuresInARow === 0 ? null : Math.max(...failedMs)
      const inARow = { goodAtMs, failuresInARow, failedAtMs }
      const taken = { ...inARow, counts: [...counts.values()], cause, probe }
      counts = new Map()
      failedMs = []
      cause = null
      probe = null
      return taken
    },
  }
}

type MutableCount = { -readonly [field in keyof CallCount]: CallCount[field] }

function count(
  counts: Map<number, MutableCount>,
  { madeAtMs, nowMs, failed }: { madeAtMs: number; nowMs: number; failed: boolean },
): void {
  const second = Math.floor(madeAtMs / 1000)
  const sum = counts.get(second) ?? { second, calls: 0, failed: 0 }
  counts.set(second, sum)
  sum.calls += 1
  if (failed) sum.failed += 1
  for (const old of counts.keys()) {
    if (old * 1000 <= nowMs - SPANS_MS.longest) counts.delete(old)
  }
}
