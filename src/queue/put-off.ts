import { type BackoffPolicy, backoffMs } from '../base/backoff.ts'

/** `Retry-After: 0` is no permission to ask all the time. */
const MIN_WAIT_MS = 1_000

export interface PutOffLimits {
  /** How long after it was to run first a job may be put off. */
  readonly putOffForMs: number
  /** How often it may be begun in all, whatever ended it. */
  readonly maxStartedAttempts: number
  readonly retryBackoff: BackoffPolicy
}

/** What is known of a job that runs. */
export interface RunningJob {
  /** From the moment at which it was to run first until now. */
  readonly ageMs: number
  readonly attempts: { readonly allowed: number; readonly made: number; readonly started: number }
}

/**
 * Whether a job may be put off once more: not for ever, and never so often that its attempts have no start left.
 * Both keep a job that is always put off from going round unseen: it fails in the end, and is then dead.
 */
export function canBePutOff({ ageMs, attempts }: RunningJob, limits: PutOffLimits): boolean {
  const attemptsLeft = attempts.allowed - attempts.made
  const startsLeft = limits.maxStartedAttempts - attempts.started
  return ageMs < limits.putOffForMs && startsLeft >= attemptsLeft
}

/**
 * How long a job waits that is put off: the first time as long as it was asked to, then at least its backoff, so that
 * one who always says "in a second" is not asked every second. At most what is left of its time.
 * @example putOffMs(job, { waitMs: 30_000, limits, random }) // 30_000
 */
export function putOffMs(
  { ageMs, attempts }: RunningJob,
  { waitMs, limits, random }: { waitMs: number; limits: PutOffLimits; random: () => number },
): number {
  const earlier = attempts.started - attempts.made - 1
  const paceMs = earlier > 0 ? backoffMs(limits.retryBackoff, earlier - 1, random) : 0
  const leftMs = limits.putOffForMs - ageMs
  return Math.round(Math.max(MIN_WAIT_MS, Math.min(leftMs, Math.max(waitMs, paceMs))))
}
