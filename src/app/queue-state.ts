import { messageOf } from '../base/errors.ts'
import type { Metrics } from '../metrics/metrics.ts'
import type { QueueSystem } from '../queue/queue-system.ts'
import { VERIFY_QUEUE } from '../recheck/dispatch-checks-job.ts'
import { SYNC_QUEUE } from '../route-sync/sync-list-job.ts'
import { TICK_QUEUE } from '../schedules/reconciler.ts'

/** Every queue. */
export const QUEUES = [TICK_QUEUE, SYNC_QUEUE, VERIFY_QUEUE] as const

/** Queues whose failed jobs concern an operator. A failed tick does not: the next tick does its work. */
export const JOB_QUEUES = QUEUES.filter((name) => name !== TICK_QUEUE)

/** How often each tick of the queue runs, in any process. */
export const TICK_EVERY_MS = {
  'expire-fares': 60_000,
  'end-watches': 60_000,
  'settle-incidents': 60_000,
  'cancel-analysts': 15_000,
  prune: 3_600_000,
  'roll-up-days': 600_000,
  'end-deliveries': 60_000,
  'prune-deliveries': 3_600_000,
} as const

/** How often each tick that follows its work runs at least, in every worker. */
export const DUE_TICK_AT_MOST_MS = {
  schedules: 5_000,
  'dispatch-checks': 10_000,
  'end-departed': 10_000,
  deliver: 5_000,
} as const

const DEPTH_STATES = ['waiting', 'active', 'delayed', 'dead'] as const

/** Jobs of a queue by state. `dead` is always 0 for ticks. */
export type QueueDepth = { readonly queue: string } & {
  readonly [State in (typeof DEPTH_STATES)[number]]: number
}

/** Throws QueueUnavailableError. */
export async function readDepth(
  queue: Pick<QueueSystem, 'counts'>,
  name: string,
): Promise<QueueDepth> {
  const { waiting, active, delayed, failed } = await queue.counts(name)
  return { queue: name, waiting, active, delayed, dead: name === TICK_QUEUE ? 0 : failed }
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

/** How the latest tick of any process ended. */
export interface LastTick {
  readonly name: string
  readonly at: Date
  /** Null if it succeeded. */
  readonly failure: string | null
}

/** Returns the tick that ended last in any process; undefined if the queue has no record of one. */
export async function lastTickOf(queue: Pick<QueueSystem, 'jobs'>): Promise<LastTick | undefined> {
  return (await endedTicks(queue, 1))[0]
}

/** The queue keeps this number of finished ticks of each outcome for an hour. */
const KEPT_TICKS = 50
/** The longest usual delay of a tick. */
const LATE_MS = 10_000

/**
 * Returns the ticks whose last run failed in any process.
 *
 * The records of successful ticks are soon overwritten by more frequent ticks. A failure therefore counts as the last run
 * only until the next run of that tick is due.
 */
export async function failingTicks(
  queue: Pick<QueueSystem, 'jobs'>,
  now: Date,
): Promise<LastTick[]> {
  const ended = await endedTicks(queue, KEPT_TICKS)
  return Object.entries(TICK_EVERY_MS).flatMap(([name, everyMs]) => {
    const last = ended.find((tick) => tick.name === name)
    if (last === undefined || last.failure === null) return []
    return now.getTime() - last.at.getTime() > everyMs + LATE_MS ? [] : [last]
  })
}

/** Finished ticks, newest first; at most `limit` of each outcome. */
async function endedTicks(queue: Pick<QueueSystem, 'jobs'>, limit: number): Promise<LastTick[]> {
  const [done, dead] = await Promise.all([
    queue.jobs(TICK_QUEUE, 'done', limit),
    queue.jobs(TICK_QUEUE, 'dead', limit),
  ])
  const ended = [...done, ...dead].flatMap(({ name, endedAt, failure }) =>
    endedAt === null ? [] : [{ name, at: endedAt, failure }],
  )
  return ended.toSorted((a, b) => b.at.getTime() - a.at.getTime())
}

export interface QueueState {
  readonly kind: 'postgres' | 'redis'
  /** Why the store is unavailable; null if it is available. */
  readonly fault: string | null
  readonly lastTick: LastTick | null
  readonly queues: readonly QueueDepth[]
}

/** Reads the state of all queues. Never rejects. */
export async function readQueueState(
  queue: Pick<QueueSystem, 'kind' | 'counts' | 'jobs'>,
): Promise<QueueState> {
  const { kind } = queue
  try {
    const lastTick = (await lastTickOf(queue)) ?? null
    const queues = await Promise.all(QUEUES.map((name) => readDepth(queue, name)))
    return { kind, fault: null, lastTick, queues }
  } catch (err) {
    return { kind, fault: messageOf(err), lastTick: null, queues: [] }
  }
}
