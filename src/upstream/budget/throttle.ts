/** Cap on every pause. An instant further ahead means that the database's clock was set back. */
export const MAX_PAUSE_MS = 900_000
/** `Retry-After: 0` with a refusal does not permit the next call at once. */
const MIN_PAUSE_MS = 1_000
/** The pause after a 429 without Retry-After. It doubles with each pause that follows within half a minute. */
const DEFAULT_PAUSE_MS = { base: 4_000, max: 120_000 }
const FOLLOWS_WITHIN_MS = 30_000

const LOWER_BY = 0.7
const LOWER_EVERY_MS = 1_000
/** Too little to burden the upstream, and enough to notice its recovery. */
const MIN_SHARE = 0.01
/** The part of the full budget that returns each second. */
export const RECOVERY_PER_SECOND = 0.01

/** What the upstream's own limits leave of our budget. Instants are milliseconds by the database's clock. */
export interface Throttle {
  readonly pausedUntilMs: number
  readonly pausesInRow: number
  /** The part of the budget that may be spent at `recoversFromMs`, which is the end of the pause. */
  readonly share: number
  readonly recoversFromMs: number
  readonly loweredAtMs: number
}

/** An answer that asked us to wait. */
export interface PauseRequest {
  /** Undefined if the answer named no time. */
  readonly retryAfterMs: number | undefined
  /** A 429 means that our rate is too high. A 503 means only that the service is unavailable. */
  readonly lowersBudget: boolean
}

/**
 * The part of the budget that may be spent now. Each second after the pause, 1 % of the full budget returns.
 *
 * `shareInSql` computes the same in SQL.
 * @example shareAt({ share: 0.7, recoversFromMs: 0 }, 10_000) // 0.8
 */
export function shareAt(
  { share, recoversFromMs }: Pick<Throttle, 'share' | 'recoversFromMs'>,
  nowMs: number,
): number {
  const recoveredSeconds = Math.max(0, nowMs - recoversFromMs) / 1000
  return Math.min(1, share + RECOVERY_PER_SECOND * recoveredSeconds)
}

/** Whether calls are paused. A pause that is too far ahead was written before the clock was set back. */
export function isPaused({ pausedUntilMs }: Pick<Throttle, 'pausedUntilMs'>, nowMs: number) {
  return nowMs < pausedUntilMs && pausedUntilMs <= nowMs + MAX_PAUSE_MS
}

/**
 * The throttle after an answer that asked us to wait.
 *
 * A running pause is never shortened. Answers during a pause belong to calls from before it and repeat the same
 * refusal: they may lengthen the pause, but do not count as another one.
 */
export function throttled(before: Throttle, request: PauseRequest, nowMs: number): Throttle {
  const running = isPaused(before, nowMs)
  const pausesInRow = running ? before.pausesInRow : recentPauses(before, nowMs) + 1
  const until = nowMs + pauseMs(request, pausesInRow)
  const pausedUntilMs = running ? Math.max(before.pausedUntilMs, until) : until
  const share = shareAt(before, nowMs)
  const lowers = request.lowersBudget && Math.abs(nowMs - before.loweredAtMs) >= LOWER_EVERY_MS
  return {
    pausedUntilMs,
    pausesInRow,
    share: lowers ? Math.max(MIN_SHARE, share * LOWER_BY) : share,
    recoversFromMs: pausedUntilMs,
    loweredAtMs: lowers ? nowMs : before.loweredAtMs,
  }
}

function recentPauses({ pausedUntilMs, pausesInRow }: Throttle, nowMs: number): number {
  return Math.abs(nowMs - pausedUntilMs) < FOLLOWS_WITHIN_MS ? pausesInRow : 0
}

function pauseMs({ retryAfterMs }: PauseRequest, pausesInRow: number): number {
  const { base, max } = DEFAULT_PAUSE_MS
  const requestedMs = retryAfterMs ?? Math.min(max, base * 2 ** (pausesInRow - 1))
  return Math.min(MAX_PAUSE_MS, Math.max(MIN_PAUSE_MS, requestedMs))
}
