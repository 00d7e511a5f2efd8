import { AppError } from '../platform/base/errors.ts'

/** The name of the verify call, next to those of the lists. */
export const VERIFY_ENDPOINT = 'verify'

/** Facts about the failed call. Never a URL, because the credential is part of it. */
interface CallFacts {
  readonly endpoint: string
  readonly status?: number | undefined
  /** The beginning of the body as returned by `snippetOf`: scrubbed, cleaned, short. */
  readonly snippet?: string | undefined
}

export type TimeoutPhase = 'connection' | 'headers' | 'body'

/** The answer was not complete at the deadline. `phase` is what the call was still waiting for. */
export class UpstreamTimeoutError extends AppError {
  override readonly name = 'UpstreamTimeoutError'
  override readonly code = 'upstream.timeout'
  override readonly retryable = true
  readonly phase: TimeoutPhase

  constructor({ endpoint, phase, afterMs }: CallFacts & { phase: TimeoutPhase; afterMs: number }) {
    super(`${endpoint}: no complete answer within ${afterMs} ms, still waiting for the ${phase}`)
    this.phase = phase
  }
}

/** The `reason` of an UpstreamNetworkError for our own cap on connections. It is no failure of the upstream. */
export const NO_FREE_CONNECTION = 'NO_FREE_CONNECTION'

/** The connection could not be made, or it broke. `reason` is the system's code, such as ECONNRESET. */
export class UpstreamNetworkError extends AppError {
  override readonly name = 'UpstreamNetworkError'
  override readonly code = 'upstream.network'
  override readonly retryable = true
  readonly reason: string

  constructor({ endpoint, reason }: CallFacts & { reason: string }) {
    super(`${endpoint}: the connection failed (${reason})`)
    this.reason = reason
  }
}

/** A 4xx or 5xx without a class of its own. Server errors are often temporary, client errors are not. */
export class UpstreamStatusError extends AppError {
  override readonly name = 'UpstreamStatusError'
  override readonly code: 'upstream.http_4xx' | 'upstream.http_5xx'
  override readonly retryable: boolean

  constructor(facts: CallFacts & { status: number }) {
    super(withSnippet(facts, `answered ${facts.status}`))
    this.code = facts.status < 500 ? 'upstream.http_4xx' : 'upstream.http_5xx'
    this.retryable = facts.status >= 500
  }
}

/**
 * 401, 403, or a login page instead of an answer: our credential is refused. Further calls with the same credential
 * could get it blocked.
 */
export class UpstreamAuthError extends AppError {
  override readonly name = 'UpstreamAuthError'
  override readonly code = 'upstream.auth'

  constructor(facts: CallFacts & { status: number }) {
    const { status } = facts
    const refusal =
      status < 400
        ? `sent a login page (status ${status})`
        : `refused our credential with ${status}`
    super(withSnippet(facts, refusal))
  }
}

/** 429. `retryAfterMs` is the wait that the upstream asked for, capped by the client. Undefined if it named none. */
export class UpstreamRateLimitedError extends AppError {
  override readonly name = 'UpstreamRateLimitedError'
  override readonly code = 'upstream.rate_limited'
  override readonly retryable = true
  readonly retryAfterMs: number | undefined

  constructor(facts: CallFacts & { status: number; retryAfterMs: number | undefined }) {
    const wait = facts.retryAfterMs === undefined ? '' : ` for ${facts.retryAfterMs} ms`
    super(withSnippet(facts, `asked us to wait${wait}`))
    this.retryAfterMs = facts.retryAfterMs
  }
}

/**
 * The call was not made: the upstream has asked us to pause, or a breaker is open because the upstream fails or refuses
 * our credential. `until` is the next attempt, as far as known.
 */
export class UpstreamCircuitOpenError extends AppError {
  override readonly name = 'UpstreamCircuitOpenError'
  override readonly code = 'upstream.circuit_open'
  override readonly retryable = true
  readonly by: 'pause' | 'auth' | 'errors'
  readonly until: Date

  constructor(
    facts: CallFacts &
      Pick<UpstreamCircuitOpenError, 'by' | 'until'> & { cause?: string | undefined },
  ) {
    const { endpoint, by, cause, until } = facts
    const why = cause ? ` (${cause})` : ''
    const what =
      by === 'pause' ? 'the upstream asked us to pause' : `the breaker "${by}" is open${why}`
    super(`${endpoint}: not called, because ${what}; next attempt at ${until.toISOString()}`)
    this.by = by
    this.until = until
  }
}

/** The call was not made: the checks before it took longer than its slot of the budget is valid. */
export class UpstreamSlotMissedError extends AppError {
  override readonly name = 'UpstreamSlotMissedError'
  override readonly code = 'upstream.slot_missed'
  override readonly retryable = true

  constructor({ endpoint }: CallFacts) {
    super(`${endpoint}: not called, because its slot of the budget has passed`)
  }
}

/**
 * A 3xx. Redirects are never followed, because the credential must not reach another address. The target is not
 * kept.
 */
export class UpstreamRedirectError extends AppError {
  override readonly name = 'UpstreamRedirectError'
  override readonly code = 'upstream.redirect'

  constructor(facts: CallFacts & { status: number }) {
    super(`${facts.endpoint}: answered ${facts.status}, a redirect, which we never follow`)
  }
}

/** An answer exceeds one of our caps. `what` names the cap. */
export class UpstreamTooLargeError extends AppError {
  override readonly name = 'UpstreamTooLargeError'
  override readonly code = 'upstream.too_large'

  constructor({ endpoint, what }: CallFacts & { what: string }) {
    super(`${endpoint}: ${what}`)
  }
}

/**
 * An answer violates the interface. `where` names the place and the violation, such as
 * `element 17: departure.id is missing`.
 *
 * Not retryable: an immediate second call would get the same answer. The next scheduled call is made anyway.
 */
export class UpstreamContractError extends AppError {
  override readonly name = 'UpstreamContractError'
  override readonly code = 'upstream.contract_violation'
  readonly status: number | undefined
  readonly where: string

  constructor(facts: CallFacts & { where: string }) {
    const status = facts.status === undefined ? '' : ` (status ${facts.status})`
    super(withSnippet(facts, `violated its contract: ${facts.where}${status}`))
    this.status = facts.status
    this.where = facts.where
  }
}

function withSnippet({ endpoint, snippet }: CallFacts, what: string): string {
  return snippet ? `${endpoint}: ${what}, with the body: ${snippet}` : `${endpoint}: ${what}`
}

/** How long to leave the upstream alone: a duration, or an instant by the database's clock. */
export type UpstreamWait = { readonly ms: number } | { readonly until: Date }

/** A refused credential is tried again after this time, unless its circuit breaker has opened. */
const REFUSED_WAIT_MS = 5_000

/**
 * The wait after a 429, a refused credential, or a refusal by the circuit breaker. Undefined for other errors, which
 * are failures.
 *
 * The wait is 0 for a 429 that named none: the pause that it began delays the next call.
 */
export function waitOf(err: unknown): UpstreamWait | undefined {
  if (err instanceof UpstreamAuthError) return { ms: REFUSED_WAIT_MS }
  if (err instanceof UpstreamCircuitOpenError) return { until: err.until }
  if (err instanceof UpstreamRateLimitedError) return { ms: err.retryAfterMs ?? 0 }
  return undefined
}

/** The wait in milliseconds from now. 0 if it is over. */
export function waitMsOf(wait: UpstreamWait, now: Date): number {
  return 'ms' in wait ? wait.ms : Math.max(0, wait.until.getTime() - now.getTime())
}

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
  'upstream.other_flight': 'anomalous',
  'upstream.other_passengers': 'anomalous',
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
