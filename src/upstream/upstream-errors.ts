import { AppError } from '../platform/base/errors.ts'

/** Facts about the failed call. Never a URL, because the credential is part of it. */
export interface CallFacts {
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
  readonly endpoint: string
  readonly phase: TimeoutPhase

  constructor({ endpoint, phase, afterMs }: CallFacts & { phase: TimeoutPhase; afterMs: number }) {
    super(`${endpoint}: no complete answer within ${afterMs} ms, still waiting for the ${phase}`)
    this.endpoint = endpoint
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
  readonly endpoint: string
  readonly reason: string

  constructor({ endpoint, reason }: CallFacts & { reason: string }) {
    super(`${endpoint}: the connection failed (${reason})`)
    this.endpoint = endpoint
    this.reason = reason
  }
}

/** A 4xx or 5xx without a class of its own. Server errors are often temporary, client errors are not. */
export class UpstreamStatusError extends AppError {
  override readonly name = 'UpstreamStatusError'
  override readonly code: 'upstream.http_4xx' | 'upstream.http_5xx'
  override readonly retryable: boolean
  readonly endpoint: string
  readonly status: number

  constructor(facts: CallFacts & { status: number }) {
    super(withSnippet(facts, `answered ${facts.status}`))
    this.code = facts.status < 500 ? 'upstream.http_4xx' : 'upstream.http_5xx'
    this.retryable = facts.status >= 500
    this.endpoint = facts.endpoint
    this.status = facts.status
  }
}

/**
 * 401, 403, or a login page instead of an answer: our credential is refused. Further calls with the same credential
 * could get it blocked.
 */
export class UpstreamAuthError extends AppError {
  override readonly name = 'UpstreamAuthError'
  override readonly code = 'upstream.auth'
  override readonly retryable = false
  readonly endpoint: string
  readonly status: number

  constructor(facts: CallFacts & { status: number }) {
    const { status } = facts
    const refusal =
      status < 400
        ? `sent a login page (status ${status})`
        : `refused our credential with ${status}`
    super(withSnippet(facts, refusal))
    this.endpoint = facts.endpoint
    this.status = facts.status
  }
}

/** 429. `retryAfterMs` is the wait that the upstream asked for, capped by the client. Undefined if it named none. */
export class UpstreamRateLimitedError extends AppError {
  override readonly name = 'UpstreamRateLimitedError'
  override readonly code = 'upstream.rate_limited'
  override readonly retryable = true
  readonly endpoint: string
  readonly status: number
  readonly retryAfterMs: number | undefined

  constructor(facts: CallFacts & { status: number; retryAfterMs: number | undefined }) {
    const wait = facts.retryAfterMs === undefined ? '' : ` for ${facts.retryAfterMs} ms`
    super(withSnippet(facts, `asked us to wait${wait}`))
    this.endpoint = facts.endpoint
    this.status = facts.status
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
  readonly endpoint: string
  readonly by: 'pause' | 'auth' | 'errors'
  readonly until: Date

  constructor({
    endpoint,
    by,
    cause,
    until,
  }: CallFacts & {
    by: 'pause' | 'auth' | 'errors'
    cause?: string | null | undefined
    until: Date
  }) {
    const why = cause ? ` (${cause})` : ''
    const what =
      by === 'pause' ? 'the upstream asked us to pause' : `the breaker "${by}" is open${why}`
    super(`${endpoint}: not called, because ${what}; next attempt at ${until.toISOString()}`)
    this.endpoint = endpoint
    this.by = by
    this.until = until
  }
}

/** The call was not made: the checks before it took longer than its slot of the budget is valid. */
export class UpstreamSlotMissedError extends AppError {
  override readonly name = 'UpstreamSlotMissedError'
  override readonly code = 'upstream.slot_missed'
  override readonly retryable = true
  readonly endpoint: string

  constructor({ endpoint }: CallFacts) {
    super(`${endpoint}: not called, because its slot of the budget has passed`)
    this.endpoint = endpoint
  }
}

/** A 3xx. Redirects are never followed, because the credential must not reach another address. The target is not kept. */
export class UpstreamRedirectError extends AppError {
  override readonly name = 'UpstreamRedirectError'
  override readonly code = 'upstream.redirect'
  override readonly retryable = false
  readonly endpoint: string
  readonly status: number

  constructor(facts: CallFacts & { status: number }) {
    super(`${facts.endpoint}: answered ${facts.status}, a redirect, which we never follow`)
    this.endpoint = facts.endpoint
    this.status = facts.status
  }
}

/** An answer exceeds one of our caps. `what` names the cap. */
export class UpstreamTooLargeError extends AppError {
  override readonly name = 'UpstreamTooLargeError'
  override readonly code = 'upstream.too_large'
  override readonly retryable = false
  readonly endpoint: string

  constructor({ endpoint, what }: CallFacts & { what: string }) {
    super(`${endpoint}: ${what}`)
    this.endpoint = endpoint
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
  override readonly retryable = false
  readonly endpoint: string
  readonly status: number | undefined
  readonly where: string

  constructor(facts: CallFacts & { where: string }) {
    const status = facts.status === undefined ? '' : ` (status ${facts.status})`
    super(withSnippet(facts, `violated its contract: ${facts.where}${status}`))
    this.endpoint = facts.endpoint
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
