/** No pause is longer, whoever asks for it: also how far ahead a pause can lie unless a clock was set back. */
export const MAX_PAUSE_MS = 900_000
/** `Retry-After: 0` beside a refusal is no permission to go on as before. */
const MIN_PAUSE_MS = 1_000
/** The pause of a 429 that names none: doubled for each that follows within half a minute of the last. */
const UNNAMED_PAUSE_MS = { base: 4_000, max: 120_000 }
const FOLLOWS_WITHIN_MS = 30_000

const LOWER_BY = 0.7
const LOWER_EVERY_MS = 1_000
/** So little that nobody notices, and enough to find out. */
const MIN_SHARE = 0.01
/** What comes back of the full budget a second. */
export const RECOVERY_PER_SECOND = 0.01

/** What the upstream's own limits leave of our budget. Instants are milliseconds by the database's clock. */
export interface Throttle {
  readonly pausedUntilMs: number
  readonly pausesInRow: number
  /** The part of the budget that may be spent at `recoversFromMs`, which lies behind the pause. */
  readonly share: number
  readonly recoversFromMs: number
  readonly loweredAtMs: number
}

/** What an answer said about waiting. */
export interface PauseHint {
  /** Undefined where it named no time. */
  readonly retryAfterMs: number | undefined
  /** A 429 says that we ask too much; a 503 only that nobody is there to answer. */
  readonly lowers: boolean
}

/**
 * The part of the budget that may be spent now: 1 % of the whole comes back each second after the pause.
 *
 * `reserveSlots` computes the same in SQL.
 * @example shareAt({ share: 0.7, recoversFromMs: 0 }, 10_000) // 0.8
 */
export function shareAt(
  { share, recoversFromMs }: Pick<Throttle, 'share' | 'recoversFromMs'>,
  nowMs: number,
): number {
  const recoveredSeconds = Math.max(0, nowMs - recoversFromMs) / 1000
  return Math.min(1, share + RECOVERY_PER_SECOND * recoveredSeconds)
}

/** Whether nothing may be asked now. A pause that lies too far ahead was written before the clock was set back. */
export function isPaused({ pausedUntilMs }: Pick<Throttle, 'pausedUntilMs'>, nowMs: number) {
  return nowMs < pausedUntilMs && pausedUntilMs <= nowMs + MAX_PAUSE_MS
}

/**
 * The throttle after an answer that asked us to wait.
 *
 * A pause that runs is never shortened. Answers that come in while it runs, to calls that went out before it, are
 * the same refusal said again: they may lengthen it, but count as no further pause.
 */
export function throttled(before: Throttle, hint: PauseHint, nowMs: number): Throttle {
  const running = isPaused(before, nowMs)
  const pausesInRow = running ? before.pausesInRow : followingPauses(before, nowMs) + 1
  const until = nowMs + pauseMs(hint, pausesInRow)
  const pausedUntilMs = running ? Math.max(before.pausedUntilMs, until) : until
  const share = shareAt(before, nowMs)
  const lowers = hint.lowers && Math.abs(nowMs - before.loweredAtMs) >= LOWER_EVERY_MS
  return {
    pausedUntilMs,
    pausesInRow,
    share: lowers ? Math.max(MIN_SHARE, share * LOWER_BY) : share,
    recoversFromMs: pausedUntilMs,
    loweredAtMs: lowers ? nowMs : before.loweredAtMs,
  }
}

function followingPauses({ pausedUntilMs, pausesInRow }: Throttle, nowMs: number): number {
  return Math.abs(nowMs - pausedUntilMs) < FOLLOWS_WITHIN_MS ? pausesInRow : 0
}

function pauseMs({ retryAfterMs }: PauseHint, pausesInRow: number): number {
  const { base, max } = UNNAMED_PAUSE_MS
  const askedMs = retryAfterMs ?? Math.min(max, base * 2 ** (pausesInRow - 1))
  return Math.min(MAX_PAUSE_MS, Math.max(MIN_PAUSE_MS, askedMs))
}
