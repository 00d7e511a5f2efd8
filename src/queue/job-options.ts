import type { DefaultJobOptions, JobsOptions } from 'bullmq'
import type { BackoffPolicy } from '../base/backoff.ts'

const DAY_SECONDS = 24 * 60 * 60

/** The name under which jobs ask their worker for our jittered backoff. */
const BACKOFF_TYPE = 'jittered'

/** The pause before another attempt, unless the worker says otherwise. */
export const DEFAULT_RETRY_BACKOFF: BackoffPolicy = { baseMs: 2_000, maxMs: 60_000 }

/** BullMQ's own defaults keep finished jobs for ever and never try twice. */
export const DEFAULT_JOB_OPTIONS: DefaultJobOptions = {
  attempts: 5,
  backoff: { type: BACKOFF_TYPE },
  removeOnComplete: { count: 1_000, age: DAY_SECONDS },
  removeOnFail: { count: 10_000, age: 30 * DAY_SECONDS },
  stackTraceLimit: 3,
}

/**
 * A tick is not retried: the next one comes. Few finished ones are kept: their ids hold the scheduler's slots. Of
 * failed ones no more: an outage makes one a second, which nobody has to make up for.
 */
export const TICK_OPTIONS: Omit<JobsOptions, 'jobId' | 'repeat' | 'delay'> = {
  attempts: 1,
  removeOnComplete: { count: 50, age: 60 * 60 },
  removeOnFail: { count: 50, age: 60 * 60 },
}
