import type { Clock } from '../base/clock.ts'
import { type CronTimes, lastDueAt, nextDueAt } from '../base/cron.ts'
import type { JsonObject } from './queue-connection.ts'
import { isRefusal } from './queue-errors.ts'
import type { StoreQueue } from './store-client.ts'

/** When periodic work is due: at an interval, or at the matches of a pattern. */
export type Times = { readonly everyMs: number } | CronTimes

/** Periodic work: BullMQ makes a job of this name and payload for each due time. */
export interface Scheduler {
  readonly name: string
  readonly times: Times
  readonly payload: JsonObject
  /** How often a job may be tried in all. */
  readonly attempts: number
}

/** A job scheduler as the store holds it. */
export interface SavedScheduler {
  readonly name: string
  readonly times: Times
  /** When its next job is due. It stays in the past until the job has begun. */
  readonly nextDueAt: Date
  /** The due time before the next one; null if there was none. */
  readonly lastDueAt: Date | null
}

/** The job of a due time waits this long at most while its workers run. */
const LATE_MS = 300_000

/**
 * Gives a queue exactly the wanted schedulers. Returns the names of those that it had to write.
 *
 * A scheduler that is as wanted is not touched: writing it again at its due time would replace the job of that time. It
 * is written again if its job was lost, or is due too late because a clock was ahead. Safe to run in several processes.
 */
export async function reconcileSchedulers(
  queue: StoreQueue,
  wanted: readonly Scheduler[],
  clock: Clock,
): Promise<string[]> {
  const saved = await listSchedulers(queue)
  const now = clock.now()
  for (const { name } of saved) {
    if (!wanted.some((one) => one.name === name)) await queue.removeJobScheduler(name)
  }
  const written: string[] = []
  for (const scheduler of wanted) {
    const found = saved.find(({ name }) => name === scheduler.name)
    if (found !== undefined && isAsWanted(found, scheduler.times, now)) continue
    // An interval would go on from the next due time of the old one.
    if (found !== undefined) await queue.removeJobScheduler(scheduler.name)
    await save(queue, scheduler)
    written.push(scheduler.name)
  }
  return written
}

function isAsWanted({ times, nextDueAt: due }: SavedScheduler, wanted: Times, now: Date): boolean {
  const latest =
    'everyMs' in wanted ? now.getTime() + wanted.everyMs : nextDueAt(wanted, now).getTime()
  const isInTime = due.getTime() > now.getTime() - LATE_MS && due.getTime() <= latest + LATE_MS
  return isInTime && JSON.stringify(times) === JSON.stringify(wanted)
}

async function save(queue: StoreQueue, { name, times, payload, attempts }: Scheduler) {
  const repeat =
    'everyMs' in times ? { every: times.everyMs } : { pattern: times.pattern, tz: times.zone }
  try {
    await queue.upsertJobScheduler(name, repeat, { name, data: payload, opts: { attempts } })
  } catch (err) {
    // The job of this due time has run already, by a clock that was ahead.
    if (!isRefusal(err)) throw err
  }
}

/** The schedulers of a queue, by name. */
export async function listSchedulers(queue: StoreQueue): Promise<SavedScheduler[]> {
  const found = await queue.getJobSchedulers()
  return found
    .map(savedOf)
    .filter((one) => one !== undefined)
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
}

interface StoredScheduler {
  readonly key: string
  readonly every?: number
  readonly pattern?: string
  readonly tz?: string
  readonly next?: number
  readonly iterationCount?: number
}

function savedOf({ key: name, every, pattern, tz, next, iterationCount = 0 }: StoredScheduler) {
  if (next === undefined) return undefined
  const nextAt = new Date(next)
  const times: Times =
    pattern === undefined ? { everyMs: every ?? 0 } : { pattern, zone: tz ?? 'UTC' }
  const before = new Date(next - 1)
  const lastAt = 'everyMs' in times ? new Date(next - times.everyMs) : lastDueAt(times, before)
  return { name, times, nextDueAt: nextAt, lastDueAt: iterationCount > 1 ? lastAt : null }
}
