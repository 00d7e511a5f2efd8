import { cleanText } from '../base/text.ts'
import type { StoreQueue } from './store-client.ts'

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
