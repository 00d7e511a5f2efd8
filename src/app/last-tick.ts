import type { QueueSystem } from '../queue/queue-system.ts'
import { TICK_QUEUE } from '../schedules/reconciler.ts'

/** How often each tick runs, in whichever process. */
export const TICK_EVERY_MS = {
  schedules: 5_000,
  'dispatch-checks': 1_000,
  'expire-fares': 60_000,
  'end-watches': 60_000,
  'settle-incidents': 60_000,
  'prune-snapshots': 3_600_000,
} as const

/** How the newest tick of any process ended. */
export interface LastTick {
  readonly name: string
  readonly at: Date
  /** Null where it ended well. */
  readonly failure: string | null
}

/** The newest tick that ended, well or badly, in whatever process; undefined where the queue remembers none. */
export async function lastTickOf(queue: Pick<QueueSystem, 'jobs'>): Promise<LastTick | undefined> {
  return (await endedTicks(queue, 1))[0]
}

/** The queue keeps as many of each kind, for an hour. */
const KEPT = 50

/**
 * The ticks whose last run failed, in whatever process.
 *
 * What ended well is soon forgotten, for the shortest tick comes every second: a failure tells of the last run only as
 * long as the tick's next one is not due.
 */
export async function failingTicks(
  queue: Pick<QueueSystem, 'jobs'>,
  now: Date,
): Promise<LastTick[]> {
  const ended = await endedTicks(queue, KEPT)
  return Object.entries(TICK_EVERY_MS).flatMap(([name, everyMs]) => {
    const last = ended.find((tick) => tick.name === name)
    if (last === undefined || last.failure === null) return []
    return now.getTime() - last.at.getTime() > everyMs + LATE_MS ? [] : [last]
  })
}

/** A tick that is due waits for a worker, and for its turn. */
const LATE_MS = 10_000

/** The newest first, well or badly ended; at most so many of each. */
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
