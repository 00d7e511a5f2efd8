import { AppError } from '../base/errors.ts'

/** What an error says of the call it is about. Never a URL: that is where the credential stands. */
export interface CallFacts {
  readonly endpoint: string
  readonly status?: number | undefined
  /** The beginning of the body as `snippetOf` made it: scrubbed, cleaned, short. */
  readonly snippet?: string | undefined
}

export type TimeoutPhase = 'connection' | 'headers' | 'body'

/** The answer was not whole at the deadline; `phase` is what was still awaited. */
export class UpstreamTimeoutError extends AppError {
  override readonly name = 'UpstreamTimeoutError'
  override readonly code = 'upstream.timeout'
  override readonly retryable = true
  readonly endpoint: string
  readonly phase: TimeoutPhase

  constructor({ endpoint, phase, afterMs }: CallFacts & { phase: TimeoutPhase; afterMs: number }) {
    super(`${endpoint}: no whole answer within ${afterMs} ms, still awaiting ${phase}`)
    this.endpoint = endpoint
    this.phase = phase
  }
}

/** The connection could not be made, or broke. `reason` is the system's code, such as ECONNRESET. */
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

/** A 4xx or 5xx that has no class of its own. Server errors pass by themselves, client errors do not. */
export class UpstreamStatusError extends AppError {
  override readonly name = 'UpstreamStatusError'
  override readonly code: 'upstream.http_4xx' | 'upstream.http_5xx'
  override readonly retryable: boolean
  readonly endpoint: string
  readonly status: number

  constructor(facts: CallFacts & { status: number }) {
    super(told(facts, `answered ${facts.status}`))
    this.code = facts.status < 500 ? 'upstream.http_4xx' : 'upstream.http_5xx'
    this.retryable = facts.status >= 500
    this.endpoint = facts.endpoint
    this.status = facts.status
  }
}

/**
 * 401 or 403, or a login page in place of an answer: our credential is refused, and asking again with the same one
 * only makes it worse.
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
    super(told(facts, refusal))
    this.endpoint = facts.endpoint
    this.status = facts.status
  }
}

/** 429. `retryAfterMs` is the upstream's own figure, capped by the client; undefined when it named none. */
export class UpstreamRateLimitedError extends AppError {
  override readonly name = 'UpstreamRateLimitedError'
  override readonly code = 'upstream.rate_limited'
  override readonly retryable = true
  readonly endpoint: string
  readonly status: number
  readonly retryAfterMs: number | undefined

  constructor(facts: CallFacts & { status: number; retryAfterMs: number | undefined }) {
    const wait = facts.retryAfterMs === undefined ? '' : ` for ${facts.retryAfterMs} ms`
    super(told(facts, `asked us to wait${wait}`))
    this.endpoint = facts.endpoint
    this.status = facts.status
    this.retryAfterMs = facts.retryAfterMs
  }
}

/**
 * We did not ask: the upstream has told us to pause, or fails so often, or refuses our credential, that a breaker
 * is open. `until` is when it is tried next, as far as that is known.
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
    until,
  }: CallFacts & { by: 'pause' | 'auth' | 'errors'; until: Date }) {
    const what = by === 'pause' ? 'the upstream asked us to pause' : `the breaker "${by}" is open`
    super(`${endpoint}: not asked, for ${what}; tried next at ${until.toISOString()}`)
    this.endpoint = endpoint
    this.by = by
    this.until = until
  }
}

/** We did not ask: what had to be known before took longer than the slot of the budget keeps. */
export class UpstreamSlotMissedError extends AppError {
  override readonly name = 'UpstreamSlotMissedError'
  override readonly code = 'upstream.slot_missed'
  override readonly retryable = true
  readonly endpoint: string

  constructor({ endpoint }: CallFacts) {
    super(`${endpoint}: not asked, for its slot of the budget has passed`)
    this.endpoint = endpoint
  }
}

/** A 3xx. Never followed: the credential must not reach another address. Its target is not kept either. */
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

/** An answer over one of our caps; `what` names the cap. */
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
 * An answer that is not what the interface promises; `where` says where and what, such as
 * `element 17: departure.id is missing`.
 *
 * Not retryable: asking at once would fetch the same answer. The next scheduled call asks anyway.
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
    super(told(facts, `broke its contract: ${facts.where}${status}`))
    this.endpoint = facts.endpoint
    this.status = facts.status
    this.where = facts.where
  }
}

function told({ endpoint, snippet }: CallFacts, what: string): string {
  return snippet ? `${endpoint}: ${what}, with the body: ${snippet}` : `${endpoint}: ${what}`
}
