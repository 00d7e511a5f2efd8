import type { Logger } from '../../platform/base/logger.ts'
import { type Db, PREPARED, type RawBuilder, sql, type Tx } from '../../platform/db/database.ts'
import { notify } from '../../platform/db/listener.ts'
import { inTransaction, selectOne } from '../../platform/db/transaction.ts'
import { type CallEnd, classifyOutcome } from '../upstream-errors.ts'

/** Cap on every pause. An instant further ahead means that the database's clock was set back. */
export const MAX_PAUSE_MS = 900_000
/** `Retry-After: 0` with a refusal does not permit the next call at once. */
const MIN_PAUSE_MS = 1_000
/** The pause after a 429 without Retry-After. It doubles with each pause that follows within a few seconds. */
const DEFAULT_PAUSE_MS = { base: 2_000, max: 16_000 }
const FOLLOWS_WITHIN_MS = 5_000

/** A 429 leaves this part of the rate. */
export const LOWER_TO = 0.7
/**
 * The climb from a rate near 0 to the whole budget lasts a few seconds longer. `npm run bench:throttle` compares
 * values.
 */
const CLIMB_SECONDS = 25
/** Too little to burden the upstream, and enough to notice its recovery. */
const MIN_SHARE = 0.01

/** What the upstream's own limits leave of our budget. Instants are milliseconds by the database's clock. */
export interface Throttle {
  readonly pausedUntilMs: number
  readonly pausesInRow: number
  /** The part of the budget that may be spent at `recoversFromMs`, which is the end of the pause. */
  readonly share: number
  readonly recoversFromMs: number
}

/** An answer that asked us to wait. */
export interface PauseRequest {
  /** Undefined if the answer named no time. */
  readonly retryAfterMs: number | undefined
  /** A 429 means that our rate is too high. A 503 means only that the service is unavailable. */
  readonly lowersBudget: boolean
  /** When the call was made. A call from before the last pause ended says nothing about the rate after it. */
  readonly madeAtMs: number
}

/** The pause that the end of a call asks for: a 429, or a 503 with Retry-After. */
export function pauseRequestOf(end: CallEnd, madeAtMs: number): PauseRequest | undefined {
  const { status, retryAfterMs } = end
  if (classifyOutcome(end) === 'rate_limited') return { retryAfterMs, lowersBudget: true, madeAtMs }
  if (status !== 503 || retryAfterMs === undefined) return undefined
  return { retryAfterMs, lowersBudget: false, madeAtMs }
}

/**
 * The part of the budget that may be spent now. After the pause it follows a cubic curve: it returns quickly to just
 * below the rate that was refused, stays there for some seconds, and then climbs ever faster.
 *
 * So a hidden quota is exceeded a few times a minute, and after 429s that had nothing to do with our rate the whole
 * budget is back within half a minute.
 * Source: Ha, Rhee, Xu, "CUBIC: a new TCP-friendly high-speed TCP variant", 2008.
 * @example shareAt({ share: 0.35, recoversFromMs: 0 }, 13_283) // 0.5, the rate that was refused
 */
export function shareAt(
  { share, recoversFromMs }: Pick<Throttle, 'share' | 'recoversFromMs'>,
  nowMs: number,
): number {
  const refused = share / LOWER_TO
  const seconds = Math.max(0, nowMs - recoversFromMs) / 1000
  const climbed = seconds / CLIMB_SECONDS - Math.cbrt(refused - share)
  return Math.min(1, refused + climbed ** 3)
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
  // After the clock was set back the last pause ends in the future.
  const atThisRate = request.madeAtMs >= before.recoversFromMs || before.recoversFromMs > nowMs
  const lowers = request.lowersBudget && !running && atThisRate
  return {
    pausedUntilMs,
    pausesInRow,
    share: lowers ? Math.max(MIN_SHARE, share * LOWER_TO) : share,
    recoversFromMs: pausedUntilMs,
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

/**
 * Pauses all processes as some answers asked. Returns the end of the pause, in milliseconds by the database's
 * clock.
 */
export async function recordPauses(
  { db, log }: { readonly db: Db; readonly log: Logger },
  requests: readonly PauseRequest[],
): Promise<number> {
  const { before, after, nowMs } = await inTransaction(db, async (tx) => {
    const locked = await lockThrottle(tx)
    const pause = (state: Throttle, request: PauseRequest) =>
      throttled(state, request, locked.nowMs)
    const next = requests.reduce(pause, locked.throttle)
    await saveThrottle(tx, next)
    return { before: locked.throttle, after: next, nowMs: locked.nowMs }
  })
  if (!isPaused(before, nowMs)) {
    const until = new Date(after.pausedUntilMs).toISOString()
    log.warn({ until, budgetShare: after.share }, 'the upstream asked us to pause')
  }
  return after.pausedUntilMs
}

/** Locks the row that every reservation locks. The next reservation respects what is changed here. */
export async function lockThrottle(tx: Tx): Promise<{ throttle: Throttle; nowMs: number }> {
  const { nowMs, ...throttle } = await selectOne(
    sql<Throttle & { nowMs: number }>`${PREPARED}
      with locked as materialized (
        select * from upstream_budget for update
      )
      select (extract(epoch from paused_until) * 1000)::float8 as "pausedUntilMs",
             pauses_in_row as "pausesInRow", share,
             (extract(epoch from recovers_from) * 1000)::float8 as "recoversFromMs",
             (extract(epoch from clock_timestamp()) * 1000)::float8 as "nowMs"
        from locked
    `,
    tx,
  )
  return { throttle, nowMs }
}

export async function saveThrottle(tx: Tx, throttle: Throttle): Promise<void> {
  const { pausedUntilMs, pausesInRow, share, recoversFromMs } = throttle
  await sql`
    with changed as materialized (
      update upstream_budget
         set paused_until = ${timestamp(pausedUntilMs)}, pauses_in_row = ${pausesInRow}, share = ${share},
             recovers_from = ${timestamp(recoversFromMs)}
      returning true
    )
    select ${notify('upstream')} from changed
  `.execute(tx)
}

/** Keeps the fractions of a millisecond, which a Date would drop. */
function timestamp(ms: number): RawBuilder<Date> {
  return sql`to_timestamp(${ms}::float8 / 1000)`
}
