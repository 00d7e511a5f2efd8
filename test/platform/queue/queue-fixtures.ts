import { randomUUID } from 'node:crypto'
import { createLogger, type Logger } from '../../../src/platform/base/logger.ts'
import { createScrub } from '../../../src/platform/base/secrets.ts'
import type { QueueTimings } from '../../../src/platform/queue/queue-connection.ts'
import {
  createQueueSystem,
  type JobCounts,
  type QueueSystem,
  type QueueSystemOptions,
  type Scheduler,
} from '../../../src/platform/queue/queue-system.ts'
import { until } from '../../support/until.ts'
import type { TestStore } from './test-store.ts'

export const SECRET = 'canary-secret-of-a-handler'

/** The timings of production, shortened for tests; a busy machine must not reach the deadline. */
export const FAST_TIMINGS: QueueTimings = { deadlineMs: 5_000, pollMs: 300 }
export const FAST_WORK = {
  lockMs: 1_000,
  stalledCheckMs: 300,
  retryBackoff: { baseMs: 20, maxMs: 100 },
}

/** Its next job is far off. */
export const YEARLY: Scheduler = {
  name: 'yearly',
  times: { pattern: '0 0 1 7 *', zone: 'UTC' },
  payload: {},
  attempts: 1,
}

export const aQueue = (): string => `q-${randomUUID()}`

/** A log that keeps its lines. */
export function aLog(): { log: Logger; lines: () => string[]; has: (text: string) => boolean } {
  const lines: string[] = []
  const destination = { write: (line: string) => void lines.push(line) }
  const log = createLogger({ level: 'debug', scrub: createScrub([SECRET]), destination })
  return { log, lines: () => lines, has: (text) => lines.some((line) => line.includes(text)) }
}

/** Waits until the queue has these counts. Retries while the store does not answer. */
export async function untilCounts(
  system: QueueSystem,
  queue: string,
  expected: Partial<JobCounts>,
): Promise<void> {
  const entries = Object.entries(expected) as [keyof JobCounts, number][]
  await until(`counts are ${JSON.stringify(expected)}`, async () => {
    const counts = await system.counts(queue).catch(() => undefined)
    return counts !== undefined && entries.every(([state, count]) => counts[state] === count)
  })
}

/** Opens queue systems for one test and closes them together. */
export function createSystems(store: () => TestStore) {
  const opened: QueueSystem[] = []
  const book = aLog()
  return {
    book,
    open: (options: Partial<QueueSystemOptions> = {}): QueueSystem => {
      const system = createQueueSystem({
        connection: store().connection,
        log: book.log,
        scrub: createScrub([SECRET]),
        timings: FAST_TIMINGS,
        ...options,
      })
      opened.push(system)
      return system
    },
    closeAll: async () => {
      await Promise.all(opened.splice(0).map((system) => system.close({ graceMs: 2_000 })))
    },
  }
}
