import { type BackoffPolicy, backoffMs } from '../base/backoff.ts'
import { AppError } from '../base/errors.ts'

/**
 * A handler throws it to run its job again after `waitMs` without using up an attempt.
 *
 * When the job may not be snoozed any more (`JobContext.canSnooze` is false), the attempt fails with `reason`.
 */
export class SnoozeError extends AppError {
  override readonly name = 'SnoozeError'
  override readonly code = 'queue.snoozed'
  override readonly retryable = true
  readonly waitMs: number
  readonly reason: AppError

  constructor(waitMs: number, reason: AppError) {
    super(`snoozed for ${waitMs} ms: ${reason.message}`, { cause: reason })
    this.waitMs = waitMs
    this.reason = reason
  }
}

/** The shortest snooze. A `Retry-After: 0` of the upstream does not permit calls without a pause. */
const MIN_WAIT_MS = 1_000

export interface SnoozeLimits {
  /** How long after its first due time a job may be snoozed. */
  readonly snoozeForMs: number
  /** How often a job may be started in all. Snoozes, stalls and failures count. */
  readonly maxStartedAttempts: number
  readonly retryBackoff: BackoffPolicy
}

export interface RunningJob {
  /** The time since its first due time. */
  readonly ageMs: number
  readonly attempts: { readonly allowed: number; readonly made: number; readonly started: number }
}

/**
 * Whether a job may be snoozed once more. The time is limited, and each attempt that is left must keep a start. A job
 * that is always snoozed therefore fails in the end and becomes visible as dead.
 */
export function canSnooze({ ageMs, attempts }: RunningJob, limits: SnoozeLimits): boolean {
  const attemptsLeft = attempts.allowed - attempts.made
  const startsLeft = limits.maxStartedAttempts - attempts.started
  return ageMs < limits.snoozeForMs && startsLeft >= attemptsLeft
}

/**
 * How long a job is snoozed: the first time as long as the handler requested, later at least its backoff, and at most
 * the time that is left for it. The backoff keeps a handler that always requests one second from running every second.
 * @example snoozeMs(job, { waitMs: 30_000, limits, random }) // 30_000
 */
export function snoozeMs(
  { ageMs, attempts }: RunningJob,
  { waitMs, limits, random }: { waitMs: number; limits: SnoozeLimits; random: () => number },
): number {
  const earlier = attempts.started - attempts.made - 1
  const paceMs = earlier > 0 ? backoffMs(limits.retryBackoff, earlier - 1, random) : 0
  const leftMs = limits.snoozeForMs - ageMs
  return Math.round(Math.max(MIN_WAIT_MS, Math.min(leftMs, Math.max(waitMs, paceMs))))
}
