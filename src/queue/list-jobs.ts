import { PostgresQueueBackend } from 'bullmq'
import type { JsonObject } from './job-payload.ts'
import type { StoreQueue } from './store-client.ts'

/** `dead`: it ran out of attempts, or may not be tried again, and waits for an operator. */
export const JOB_STATES = ['dead', 'active', 'waiting', 'delayed', 'done'] as const
export type JobState = (typeof JOB_STATES)[number]

export interface QueuedJob {
  readonly id: string
  /** A tick's own name, else that of its queue. */
  readonly name: string
  /** Ids only. */
  readonly payload: JsonObject
  readonly attempts: number
  readonly enqueuedAt: Date
  /** When its last attempt began; null before the first. */
  readonly startedAt: Date | null
  /** When it ended for good; null before. */
  readonly endedAt: Date | null
  /** One clean line that begins with the error's code or name; null unless an attempt failed. */
  readonly failure: string | null
}

const STORE_STATES = {
  dead: 'failed',
  active: 'active',
  waiting: 'waiting',
  delayed: 'delayed',
  done: 'completed',
} as const

/** Jobs of a state: those that ended, the newest first; the others, the oldest first. */
export async function listJobs(
  queue: StoreQueue,
  state: JobState,
  limit: number,
): Promise<QueuedJob[]> {
  const atMost = Math.max(1, limit)
  const ended = state === 'dead' || state === 'done'
  const from = ended ? 0 : await startOfOldest(queue, state, atMost)
  const found = await queue.getJobs([STORE_STATES[state]], from, from + atMost - 1, !ended)
  const jobs = found.map(jobOf)
  return ended
    ? jobs.toSorted((a, b) => millis(b.endedAt) - millis(a.endedAt))
    : jobs.toSorted((a, b) => millis(a.enqueuedAt) - millis(b.enqueuedAt))
}

/**
 * Where the window of the oldest jobs begins. On Postgres what waits or runs is counted from the newest, whichever
 * order is asked for: BullMQ turns round the window, not the list.
 */
async function startOfOldest(
  queue: StoreQueue,
  state: 'active' | 'waiting' | 'delayed',
  limit: number,
): Promise<number> {
  if (state === 'delayed' || !(queue.getBackend() instanceof PostgresQueueBackend)) return 0
  const { [state]: total = 0 } = await queue.getJobCounts(state)
  return Math.max(0, total - limit)
}

function jobOf(job: Awaited<ReturnType<StoreQueue['getJobs']>>[number]): QueuedJob {
  return {
    id: job.id ?? '',
    name: job.name,
    payload: (job.data ?? {}) as JsonObject,
    attempts: job.attemptsMade,
    enqueuedAt: new Date(job.timestamp),
    startedAt: instantOf(job.processedOn),
    endedAt: instantOf(job.finishedOn),
    failure: job.failedReason ?? null,
  }
}

function instantOf(ms: number | undefined): Date | null {
  return ms === undefined ? null : new Date(ms)
}

function millis(instant: Date | null): number {
  return instant?.getTime() ?? 0
}
