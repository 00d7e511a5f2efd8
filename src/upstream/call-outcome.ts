import { NO_FREE_CONNECTION } from './upstream-errors.ts'

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

/**
 * How a failed call ended, for people.
 * @example causeOf({ outcome: 'upstream.network', status: undefined, reason: 'ECONNREFUSED' }) // 'ECONNREFUSED'
 */
export function causeOf({ outcome, status, reason }: CallEnd): string {
  if (outcome === 'upstream.auth' && (status ?? 0) < 400) return 'login page'
  return reason ?? status?.toString() ?? outcome.replace('upstream.', '')
}
