import { PostgresQueueBackend } from 'bullmq'
import type { JobState } from '../base/kinds.ts'
import { cleanText } from '../base/text.ts'
import { dueAtOf } from './job-processor.ts'
import type { JsonObject } from './queue-connection.ts'
import { isRefusal } from './queue-errors.ts'
import type { StoreQueue } from './store-client.ts'

const STORE_STATES = {
  dead: 'failed',
  active: 'active',
  waiting: 'waiting',
  delayed: 'delayed',
  done: 'completed',
} as const satisfies Record<JobState, string>

export interface QueuedJob {
  readonly id: string
  /** The name of its scheduler; of any other job the name of its queue. */
  readonly name: string
  /** Ids only. */
  readonly payload: JsonObject
  readonly attempts: number
  readonly enqueuedAt: Date
  readonly dueAt: Date
  /** When its last attempt began; null before the first. */
  readonly startedAt: Date | null
  /** When it ended finally; null before. */
  readonly endedAt: Date | null
  /** One line that begins with the code or name of the error; null unless an attempt failed. */
  readonly failure: string | null
}

/** Lists jobs of a state: ended jobs newest first, all others oldest first. */
export async function listJobs(
  queue: StoreQueue,
  state: JobState,
  limit: number,
): Promise<QueuedJob[]> {
  const atMost = Math.max(1, limit)
  const ended = state === 'dead' || state === 'done'
  const from = ended ? 0 : await startOfOldest(queue, state, atMost)
  const found = await queue.getJobs([STORE_STATES[state]], from, from + atMost - 1, !ended)
  const sorted = ended
    ? found.toSorted((a, b) => (b.finishedOn ?? 0) - (a.finishedOn ?? 0))
    : found.toSorted((a, b) => a.timestamp - b.timestamp)
  return sorted.map(jobOf)
}

/**
 * The offset of the oldest jobs. On Postgres BullMQ counts waiting and active jobs from the newest, in either order: it
 * reverses the page, not the list.
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

type StoredJob = Awaited<ReturnType<StoreQueue['getJobs']>>[number]

function jobOf(job: StoredJob): QueuedJob {
  return {
    id: job.id ?? '',
    name: job.name,
    payload: (job.data ?? {}) as JsonObject,
    attempts: job.attemptsMade,
    enqueuedAt: new Date(job.timestamp),
    dueAt: dueAtOf(job),
    startedAt: instantOf(job.processedOn),
    endedAt: instantOf(job.finishedOn),
    failure: job.failedReason ?? null,
  }
}

function instantOf(ms: number | undefined): Date | null {
  return ms === undefined ? null : new Date(ms)
}

/** Queues a dead job again with all its attempts. Returns false if no dead job has this id. */
export function retryJob(queue: StoreQueue, jobId: string): Promise<boolean> {
  const all = { resetAttemptsMade: true, resetAttemptsStarted: true }
  return changeDead(queue, jobId, (job) => job.retry('failed', all))
}

/** Deletes a dead job. Returns false if no dead job has this id. */
export function dropJob(queue: StoreQueue, jobId: string): Promise<boolean> {
  return changeDead(queue, jobId, (job) => job.remove())
}

async function changeDead(
  queue: StoreQueue,
  jobId: string,
  change: (job: StoredJob) => Promise<unknown>,
): Promise<boolean> {
  const id = cleanText(jobId)
  // The state is checked first: on Redis a queue has other keys than jobs.
  if (!(await queue.getBackend().isJobInState('failed', id))) return false
  const job = await queue.getJob(id)
  if (job === undefined) return false
  try {
    await change(job)
    return true
  } catch (err) {
    // Another caller has changed it in the meantime.
    if (isRefusal(err)) return false
    throw err
  }
}
