import { NO_FREE_CONNECTION } from '../upstream-errors.ts'
import type { BreakerName, BreakerSignal, Outcomes, TimedCount } from './breaker-state.ts'

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
 * a server error. `unauthorized`: our credential is refused (401). `forbidden`: our credential may be refused (403, a
 * login page). `rate_limited`: a requested wait. `not_made`: nothing, because the upstream was not called.
 */
export type OutcomeClass =
  | 'good'
  | 'anomalous'
  | 'failed'
  | 'unauthorized'
  | 'forbidden'
  | 'rate_limited'
  | 'not_made'

/** All outcomes of calls. The breakers, the alert UpstreamErrors and the panel "Good answers" share this table. */
const CLASS_BY_OUTCOME: Readonly<Record<string, OutcomeClass>> = {
  ok: 'good',
  'upstream.not_modified': 'good',
  // The upstream understood the question and refused it, so it works.
  'upstream.http_4xx': 'good',
  'upstream.id_missing': 'good',
  'upstream.timeout': 'failed',
  'upstream.http_5xx': 'failed',
  // Except for our own cap on connections: see classifyOutcome.
  'upstream.network': 'failed',
  'upstream.rate_limited': 'rate_limited',
  // With status 401 it is `unauthorized`: see classifyOutcome.
  'upstream.auth': 'forbidden',
  'upstream.redirect': 'anomalous',
  'upstream.too_large': 'anomalous',
  'upstream.contract_violation': 'anomalous',
  'upstream.malformed': 'anomalous',
  aborted: 'not_made',
  internal: 'not_made',
}

export const CALL_OUTCOMES: readonly string[] = Object.keys(CLASS_BY_OUTCOME)
export const GOOD_OUTCOMES = CALL_OUTCOMES.filter((outcome) => CLASS_BY_OUTCOME[outcome] === 'good')

export function classifyOutcome({ outcome, status, reason }: CallEnd): OutcomeClass {
  if (outcome === 'upstream.auth' && status === 401) return 'unauthorized'
  if (outcome === 'upstream.network' && reason === NO_FREE_CONNECTION) return 'not_made'
  return CLASS_BY_OUTCOME[outcome] ?? 'anomalous'
}

/** A server that refuses our credential is up. A server that is down says nothing about our credential. */
export function breakerSignal(breaker: BreakerName, outcome: OutcomeClass): BreakerSignal {
  if (outcome === 'not_made') return 'not_made'
  if (breaker === 'errors') return outcome === 'failed' ? 'failure' : 'success'
  if (outcome === 'unauthorized') return 'fatal'
  if (outcome === 'forbidden') return 'failure'
  return outcome === 'good' ? 'success' : 'neutral'
}

/** Instants are milliseconds by the database's clock. */
export interface TalliedCall {
  readonly signal: BreakerSignal
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

const NONE: Outcomes = { counts: [], goodAtMs: null, failuresInARow: 0, fatal: false, probe: null }

export function createTally(): SignalTally {
  let counts = new Map<number, MutableCount>()
  let outcomes = NONE
  return {
    add({ signal, madeAtMs, nowMs, probe }) {
      const failed = signal === 'failure' || signal === 'fatal'
      const good = signal === 'success'
      if (failed || good) count(counts, { madeAtMs, nowMs, failed })
      outcomes = {
        ...outcomes,
        goodAtMs: good ? nowMs : outcomes.goodAtMs,
        failuresInARow: good ? 0 : outcomes.failuresInARow + (failed ? 1 : 0),
        fatal: outcomes.fatal || signal === 'fatal',
        probe: probe === null ? outcomes.probe : { id: probe, signal },
      }
    },
    get urgent() {
      const { fatal, failuresInARow, probe } = outcomes
      return fatal || failuresInARow > 0 || probe !== null || hasFailed(counts)
    },
    get empty() {
      return counts.size === 0 && outcomes.probe === null
    },
    take() {
      const taken = { ...outcomes, counts: [...counts.values()] }
      counts = new Map()
      outcomes = NONE
      return taken
    },
  }
}

type MutableCount = { -readonly [field in keyof TimedCount]: TimedCount[field] }

/** No rule counts calls that are older. */
const KEPT_SECONDS = 10
/** A call that took longer counts as made this long ago. No call's deadline is as long. */
const LONGEST_SECONDS = 255

function count(
  counts: Map<number, MutableCount>,
  { madeAtMs, nowMs, failed }: { madeAtMs: number; nowMs: number; failed: boolean },
): void {
  const second = Math.floor(nowMs / 1000)
  const took = Math.min(LONGEST_SECONDS, Math.max(0, second - Math.floor(madeAtMs / 1000)))
  const key = second * (LONGEST_SECONDS + 1) + took
  const sum = counts.get(key)
  if (sum !== undefined) {
    sum.calls += 1
    if (failed) sum.failed += 1
    return
  }
  counts.set(key, { second, madeSecond: second - took, calls: 1, failed: failed ? 1 : 0 })
  for (const [old, { second: at }] of counts) if (at <= second - KEPT_SECONDS) counts.delete(old)
}

function hasFailed(counts: ReadonlyMap<number, { failed: number }>): boolean {
  return counts.values().some(({ failed }) => failed > 0)
}
