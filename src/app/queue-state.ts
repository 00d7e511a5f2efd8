import type { Clock } from '../platform/base/clock.ts'
import { messageOf } from '../platform/base/errors.ts'
import type { Db } from '../platform/db/database.ts'
import type { Metrics } from '../platform/metrics/metrics.ts'
import type { QueueSystem } from '../platform/queue/queue-system.ts'
import { listLastTicks } from '../platform/ticks/ticks.ts'
import { SYNC_QUEUE } from '../routes/sync-list-job.ts'
import { VERIFY_QUEUE } from '../schedule/claim.ts'
import type { QueueState } from '../views/status-shapes.ts'

/** Every queue. */
export const QUEUES = [SYNC_QUEUE, VERIFY_QUEUE] as const

const DEPTH_STATES = ['waiting', 'active', 'delayed', 'dead'] as const

/** Jobs of a queue by state. */
export type QueueDepth = { readonly queue: string } & {
  readonly [State in (typeof DEPTH_STATES)[number]]: number
}

/** Throws QueueUnavailableError. */
export async function readDepth(
  queue: Pick<QueueSystem, 'counts'>,
  name: string,
): Promise<QueueDepth> {
  const { waiting, active, delayed, failed } = await queue.counts(name)
  return { queue: name, waiting, active, delayed, dead: failed }
}

/** Sets the depths of the queues and the memory of Redis. While the store is unavailable there are none. */
export async function setQueueGauges(
  queue: Pick<QueueSystem, 'counts' | 'facts'>,
  metrics: Metrics,
): Promise<void> {
  const { redis } = await queue.facts().catch(() => ({ redis: undefined }))
  metrics.redisMemoryUsed.remove()
  metrics.redisMemoryMax.remove()
  if (redis !== undefined) {
    metrics.redisMemoryUsed.set(redis.usedBytes)
    metrics.redisMemoryMax.set(redis.maxBytes)
  }
  const depths = await Promise.all(QUEUES.map((name) => readDepth(queue, name))).catch(() => [])
  metrics.queueDepth.reset()
  for (const depth of depths) {
    for (const state of DEPTH_STATES) {
      metrics.queueDepth.set({ queue: depth.queue, state }, depth[state])
    }
  }
}

/** Reads the state of all queues. Rejects if the database is down. */
export async function readQueueState(
  db: Db,
  queue: Pick<QueueSystem, 'kind' | 'counts'>,
): Promise<QueueState> {
  const { kind } = queue
  const [lastTick = null] = await listLastTicks(db)
  try {
    const queues = await Promise.all(QUEUES.map((name) => readDepth(queue, name)))
    return { kind, fault: null, lastTick, queues }
  } catch (err) {
    return { kind, fault: messageOf(err), lastTick, queues: [] }
  }
}

interface DeadJobsDeps {
  readonly queue: Pick<QueueSystem, 'jobs' | 'retryDead' | 'dropDead'>
  readonly clock: Clock
  readonly signal: AbortSignal
  /** Called with the number of changed jobs. */
  readonly onProgress: (changed: number) => void
}

interface DeadJobsChange {
  /** The name of the queue. */
  readonly name: string
  readonly ids: readonly string[] | 'all'
  readonly verb: 'retry' | 'drop'
}

const PAGE = 200

/**
 * Retries dead jobs with all their attempts, or deletes them; our tables still hold the work that is due. Returns the
 * number of changed jobs and the given ids of which no dead job exists.
 *
 * Safe to run twice: a job that waits or runs is not dead.
 */
export async function changeDeadJobs(
  { queue, clock, signal, onProgress }: DeadJobsDeps,
  { name, ids, verb }: DeadJobsChange,
): Promise<{ readonly changed: number; readonly missing: readonly string[] }> {
  const changeOne = verb === 'retry' ? queue.retryDead : queue.dropDead
  const missing: string[] = []
  let changed = 0
  const changeEach = async (wanted: readonly string[]) => {
    for (const id of wanted) {
      signal.throwIfAborted()
      if (await changeOne(name, id)) changed += 1
      else missing.push(id)
      onProgress(changed)
    }
  }
  if (ids !== 'all') {
    await changeEach(ids)
    return { changed, missing }
  }
  // A job that dies again after its retry must not be retried without end.
  const until = clock.now()
  for (;;) {
    const before = changed
    const jobs = await queue.jobs(name, 'dead', PAGE)
    const older = jobs.filter(({ endedAt }) => endedAt !== null && endedAt <= until)
    await changeEach(older.map(({ id }) => id))
    // With "all", a job that another caller changed in the meantime does not count as missing.
    if (changed === before) return { changed, missing: [] }
  }
}
