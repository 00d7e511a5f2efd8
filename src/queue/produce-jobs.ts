import type { JobsOptions } from 'bullmq'
import type { Clock } from '../base/clock.ts'
import { cleanText } from '../base/text.ts'
import { cleanPayload, type JsonObject } from './job-payload.ts'
import type { StoreClient, StoreQueue } from './store-client.ts'
import { readStoreFacts } from './store-facts.ts'

export interface NewJob {
  readonly payload: JsonObject
  /**
   * While a job with this id waits, runs or is to be retried, another one is dropped. A job that failed for good gives
   * its id up, also when an operator retries it.
   */
  readonly id?: string
  readonly delayMs?: number
  /** How often the job may be tried in all. The default is 5. */
  readonly attempts?: number
}

export interface Tick {
  /** A queue that holds ticks only. */
  readonly queue: string
  readonly name: string
  readonly everyMs: number
}

export interface JobProducer {
  enqueue(queue: string, job: NewJob): Promise<void>
  /**
   * Creates the tick if it is missing, and applies a changed `everyMs`. A tick that a wrong clock delayed is made due
   * soon. The first tick is due at once. Two processes that create a tick at the same moment may cause two first ticks.
   */
  upsertTick(tick: Tick): Promise<void>
  /** Ends a tick. Does nothing if there is none of this name. */
  removeTick(tick: Pick<Tick, 'queue' | 'name'>): Promise<void>
}

export function createJobProducer(client: StoreClient, clock: Clock): JobProducer {
  const assertSingleUse = createUseCheck()
  return {
    async enqueue(queue, { payload, id, delayMs, attempts }) {
      assertSingleUse(queue, 'jobs')
      const data = cleanPayload(payload)
      const options = {
        ...(id === undefined ? {} : { deduplication: { id: cleanId(id) } }),
        ...(delayMs === undefined ? {} : { delay: Math.max(0, Math.round(delayMs)) }),
        ...(attempts === undefined ? {} : { attempts }),
      }
      await client.call(queue, (target) => target.add(queue, data, options))
    },

    async upsertTick({ queue, ...tick }) {
      assertSingleUse(queue, 'ticks')
      await client.call(queue, (target) => upsertTickIn(target, tick, clock))
    },

    async removeTick({ queue, name }) {
      await client.call(queue, (target) => target.removeJobScheduler(name))
    },
  }
}

/** A queue holds jobs or ticks: BullMQ creates the next tick when the last one starts, and jobs before it delay it. */
function createUseCheck() {
  const uses = new Map<string, 'jobs' | 'ticks'>()
  return (queue: string, use: 'jobs' | 'ticks') => {
    const before = uses.get(queue) ?? use
    if (before !== use) throw new TypeError(`queue ${queue} holds ${before}, not ${use}`)
    uses.set(queue, use)
  }
}

function cleanId(id: string): string {
  const clean = cleanText(id)
  if (clean === '') throw new TypeError('the id of a job is empty')
  return clean
}

/**
 * A tick is not retried: the next tick replaces it. Finished ticks are kept because their ids reserve the scheduler's
 * due times, but only a few: during an outage one tick fails each second.
 */
const TICK_OPTIONS: Omit<JobsOptions, 'jobId' | 'repeat' | 'delay'> = {
  attempts: 1,
  removeOnComplete: { count: 50, age: 60 * 60 },
  removeOnFail: { count: 50, age: 60 * 60 },
}

/** More than the difference of two correct clocks and the usual delay of a tick. */
const MAX_AHEAD_MS = 30_000

/**
 * Creates a tick, and creates it again if its next run is too far in the future.
 *
 * BullMQ computes the next run with the clock of the process that started the last one, and each process waits by its
 * own clock. If the clock of a stopped process was ahead, or the clock of the only remaining process is behind, no
 * process would tick until then. While other processes do tick, the correction costs one extra tick.
 */
async function upsertTickIn(
  queue: StoreQueue,
  { name, everyMs }: Omit<Tick, 'queue'>,
  clock: Clock,
): Promise<void> {
  const found = await queue.getJobScheduler(name)
  if (found?.next !== undefined) {
    const { clockSkewMs } = await readStoreFacts(queue.getBackend(), clock)
    const aheadMs = found.next - clock.now().getTime() + Math.max(0, -clockSkewMs)
    if (aheadMs > everyMs + MAX_AHEAD_MS) await queue.removeJobScheduler(name)
  }
  const template = { name, data: { tick: name }, opts: TICK_OPTIONS }
  await queue.upsertJobScheduler(name, { every: everyMs }, template)
}
