import type { DeadJobsChange } from '../health/queue-operations.ts'
import type { QueueState } from '../health/status-shapes.ts'
import type { Clock } from '../platform/base/clock.ts'
import { messageOf } from '../platform/base/errors.ts'
import { JOB_QUEUES } from '../platform/base/kinds.ts'
import type { Metrics } from '../platform/metrics/metrics.ts'
import type {
  JobState,
  QueuedJob,
  QueueSystem,
  SavedScheduler,
} from '../platform/queue/queue-system.ts'
import { listAllSchedulers, PERIODIC_QUEUE } from './periodic.ts'

/** Every queue. */
export const QUEUES = JOB_QUEUES

const DEPTH_STATES = ['waiting', 'active', 'delayed', 'dead'] as const

/** Jobs of a queue by state. */
type QueueDepth = { readonly queue: string } & {
  readonly [State in (typeof DEPTH_STATES)[number]]: number
}

/**
 * Jobs of periodic work are never dead: the next run repeats one that failed. Throws QueueUnavailableError.
 */
export async function readDepth(
  queue: Pick<QueueSystem, 'counts'>,
  name: string,
): Promise<QueueDepth> {
  const { waiting, active, delayed, failed } = await queue.counts(name)
  const dead = name === PERIODIC_QUEUE ? 0 : failed
  return { queue: name, waiting, active, delayed, dead }
}

/** Sets the depths of the queues and the memory of Redis. While the store is unavailable there are none. */
export async function setQueueGauges(
  queue: Pick<QueueSystem, 'counts' | 'facts' | 'schedulers'>,
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
  const schedulers = await listAllSchedulers(queue).catch(() => [])
  metrics.scheduleDue.reset()
  for (const { name, nextDueAt } of schedulers) {
    metrics.scheduleDue.set({ schedule: name }, nextDueAt.getTime() / 1000)
  }
  metrics.queueDepth.reset()
  for (const depth of depths) {
    for (const state of DEPTH_STATES) {
      metrics.queueDepth.set({ queue: depth.queue, state }, depth[state])
    }
  }
}

/** Reads the state of all queues. An unavailable store is part of the state. */
export async function readQueueState(
  queue: QueueSystem,
): Promise<{ readonly state: QueueState; readonly schedulers: readonly SavedScheduler[] }> {
  const { kind } = queue
  try {
    const [queues, [lastTick = null], schedulers] = await Promise.all([
      Promise.all(QUEUES.map((name) => readDepth(queue, name))),
      listLastRuns(queue, 1),
      listAllSchedulers(queue),
    ])
    return { state: { kind, fault: null, lastTick, queues }, schedulers }
  } catch (err) {
    const state = { kind, fault: messageOf(err), lastTick: null, queues: [] }
    return { state, schedulers: [] }
  }
}

/** A run of periodic work that ended. */
export interface LastRun {
  readonly name: string
  readonly at: Date
  /** Null if it succeeded. */
  readonly failure: string | null
}

const ENDED: readonly JobState[] = ['done', 'dead']

/** The last runs of periodic work, the latest first. Throws QueueUnavailableError. */
export async function listLastRuns(queue: QueueSystem, limit: number): Promise<LastRun[]> {
  const jobs = await Promise.all(ENDED.map((state) => queue.jobs(PERIODIC_QUEUE, state, limit)))
  const runs = jobs.flat().flatMap(({ name, endedAt: at, failure }: QueuedJob) => {
    return at === null ? [] : [{ name, at, failure }]
  })
  return runs.toSorted((a, b) => b.at.getTime() - a.at.getTime())
}

interface DeadJobsDeps {
  readonly queue: QueueSystem
  readonly clock: Clock
}

const PAGE = 200

/**
 * Retries dead jobs with all their attempts, or deletes them; our tables still hold the work that is due. Returns the
 * number of changed jobs and the given ids of which no dead job exists.
 *
 * Safe to run twice: a job that waits or runs is not dead.
 */
export async function changeDeadJobs(
  { queue, clock }: DeadJobsDeps,
  { name, ids, verb }: DeadJobsChange,
): Promise<{ readonly changed: number; readonly missing: readonly string[] }> {
  const changeOne = verb === 'retry' ? queue.retryDead : queue.dropDead
  const missing: string[] = []
  let changed = 0
  const changeEach = async (wanted: readonly string[]) => {
    for (const id of wanted) {
      if (await changeOne(name, id)) changed += 1
      else missing.push(id)
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
