const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

/**
 * The pauses after the first, the second and each later failed attempt. The last one repeats until the delivery dies.
 * Source: the retry schedule that Standard Webhooks recommends.
 */
const PAUSES_MS = [
  5 * SECOND,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  10 * HOUR,
] as const
/** A pause is shortened or lengthened by up to this share, so that retries of many deliveries spread. */
const JITTER = 0.1
const MAX_RETRY_AFTER_MS = 24 * HOUR

interface FailedAttempt {
  /** How many attempts were made, this one included. */
  readonly attempts: number
  /** The pause that the receiver requested. */
  readonly retryAfterMs: number | undefined
}

/**
 * The pause before the next attempt: that of the schedule, or what the receiver requested if that is longer, up to
 * a day.
 * @example retryPauseMs({ attempts: 2, retryAfterMs: undefined }, () => 0.5) // 300_000
 */
export function retryPauseMs(
  { attempts, retryAfterMs = 0 }: FailedAttempt,
  random: () => number,
): number {
  const pauseMs = PAUSES_MS[attempts - 1] ?? 10 * HOUR
  const jittered = pauseMs * (1 - JITTER + 2 * JITTER * random())
  return Math.round(Math.max(jittered, Math.min(retryAfterMs, MAX_RETRY_AFTER_MS)))
}

/** How the last attempts at an endpoint ended. Instants are milliseconds by the database's clock. */
export interface EndpointHealth {
  /** Failures in a row. */
  readonly failures: number
  /** When the first of them ended; null if there is none. */
  readonly failingSinceMs: number | null
  /** Until then the circuit breaker allows no attempt. */
  readonly openUntilMs: number | null
  /** Until then no attempt is made, because the receiver requested it. */
  readonly heldUntilMs: number | null
  readonly lastSuccessAtMs: number | null
}

/** The circuit breaker of an endpoint opens after this number of failures in a row. */
const OPENS_AT = 5
const OPEN_MS = { first: 30 * SECOND, longest: 10 * MINUTE }
/** A success that is this recent is not written again. */
const SUCCESS_EVERY_MS = 10 * SECOND

export interface EndedAttempt {
  readonly succeeded: boolean
  /** The pause that the receiver requested for all its requests. */
  readonly retryAfterMs?: number | undefined
  readonly nowMs: number
}

/**
 * The health of an endpoint after one more attempt. A requested pause holds it, up to a day, also if a request that
 * was in progress succeeds. The circuit breaker opens for 30 s at the fifth failure in a row and twice as long at
 * each further one, up to ten minutes. Then one attempt tests the endpoint. The same object is returned if nothing
 * has to be written.
 */
export function healthAfter(
  health: EndpointHealth,
  { succeeded, retryAfterMs = 0, nowMs }: EndedAttempt,
): EndpointHealth {
  if (succeeded) {
    const { failures, lastSuccessAtMs } = health
    if (failures === 0 && nowMs - (lastSuccessAtMs ?? 0) < SUCCESS_EVERY_MS) return health
    const recovered = { failures: 0, failingSinceMs: null, openUntilMs: null }
    return { ...health, ...recovered, lastSuccessAtMs: nowMs }
  }
  const failures = health.failures + 1
  const openMs = Math.min(OPEN_MS.longest, OPEN_MS.first * 2 ** Math.min(20, failures - OPENS_AT))
  const heldMs = Math.min(retryAfterMs, MAX_RETRY_AFTER_MS)
  return {
    ...health,
    heldUntilMs:
      heldMs > 0 ? Math.max(health.heldUntilMs ?? 0, nowMs + heldMs) : health.heldUntilMs,
    failures,
    failingSinceMs: health.failingSinceMs ?? nowMs,
    openUntilMs: failures < OPENS_AT ? null : nowMs + openMs,
  }
}

/** How long a delivery is tried: until both times are over. */
export const TRIED_FOR = { hoursAfterFirstAttempt: 28, daysAfterRecord: 5 }
/** An endpoint that fails for this long is disabled. */
export const FAILING_DAYS = 5
