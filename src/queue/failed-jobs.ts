import { cleanText } from '../base/text.ts'
import type { StoreQueue } from './store-client.ts'

/** A job that ran out of attempts, or may not be tried again. */
export interface FailedJob {
  readonly id: string
  readonly name: string
  /** One clean line; begins with the error's code or name. */
  readonly failedReason: string
  readonly attempts: number
  readonly failedAt: Date
}

/** The newest first. */
export async function listFailed(queue: StoreQueue, limit: number): Promise<FailedJob[]> {
  const jobs = await queue.getFailed(0, Math.max(1, Math.floor(limit)) - 1)
  return jobs.map((job) => ({
    id: job.id ?? '',
    name: job.name,
    failedReason: job.failedReason,
    attempts: job.attemptsMade,
    failedAt: new Date(job.finishedOn ?? 0),
  }))
}

/** Queues it again with its attempts anew. False where no failed job has this id. */
export async function retryJob(queue: StoreQueue, jobId: string): Promise<boolean> {
  const job = await failedJob(queue, jobId)
  if (job === undefined) return false
  return unlessMoved(() =>
    job.retry('failed', { resetAttemptsMade: true, resetAttemptsStarted: true }),
  )
}

/** False where no failed job has this id. */
export async function dropJob(queue: StoreQueue, jobId: string): Promise<boolean> {
  const job = await failedJob(queue, jobId)
  if (job === undefined) return false
  return unlessMoved(() => job.remove())
}

async function failedJob(queue: StoreQueue, jobId: string) {
  const id = cleanText(jobId)
  // The state first: on Redis other things than jobs have names in a queue.
  if (!(await queue.getBackend().isJobInState('failed', id))) return undefined
  return queue.getJob(id)
}

/** BullMQ's refusals have numbers: somebody else was faster. */
async function unlessMoved(change: () => Promise<unknown>): Promise<boolean> {
  try {
    await change()
    return true
  } catch (err) {
    if (typeof (err as { code?: unknown }).code === 'number') return false
    throw err
  }
}
