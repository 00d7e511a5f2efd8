import type { QueueSystem } from '../queue/queue-system.ts'
import { TICK_QUEUE } from '../schedules/reconciler.ts'

/** How the newest tick of any process ended. */
export interface LastTick {
  readonly name: string
  readonly at: Date
  /** Null where it ended well. */
  readonly failure: string | null
}

/** The newest tick that ended, well or badly, in whatever process; undefined where the queue remembers none. */
export async function lastTickOf(queue: Pick<QueueSystem, 'jobs'>): Promise<LastTick | undefined> {
  const [done, dead] = await Promise.all([
    queue.jobs(TICK_QUEUE, 'done', 1),
    queue.jobs(TICK_QUEUE, 'dead', 1),
  ])
  const ended = [...done, ...dead].flatMap(({ name, endedAt, failure }) =>
    endedAt === null ? [] : [{ name, at: endedAt, failure }],
  )
  return ended.toSorted((a, b) => b.at.getTime() - a.at.getTime())[0]
}
