import { withTimeout } from '../platform/base/clock.ts'
import { AppError } from '../platform/base/errors.ts'
import { pingDatabase } from '../platform/db/database-health.ts'
import type { QueueSystem } from '../platform/queue/queue-system.ts'
import { SYNC_QUEUE } from '../routes/sync.ts'
import { type App, STORE_TIMEOUT_MS } from './app.ts'
import type { Work } from './work.ts'

/** Something that a healthy process does repeatedly. */
interface Heartbeat {
  /** The reason to report when it is missing: "no loop has ended". */
  readonly missing: string
  readonly lastAt: Date
  /** How long it may be missing while the stores are available. */
  readonly limitMs: number
}

/**
 * Returns the first heartbeat that is missing for too long, as a reason; null if there is none.
 *
 * Only time in which the stores were available counts, so that an outage of a store is not blamed on the process:
 * `storesUpSince` is when they became available without interruption.
 * @example
 * findMissing([{ missing: 'no loop has ended', lastAt: t(0), limitMs: 60_000 }], { now: t(90), storesUpSince: t(0) })
 * // 'no loop has ended for 90 s although the stores are available'
 */
export function findMissing(
  heartbeats: readonly Heartbeat[],
  { now, storesUpSince }: { readonly now: Date; readonly storesUpSince: Date },
): string | null {
  const found = heartbeats.find(({ lastAt, limitMs }) => {
    const since = Math.max(lastAt.getTime(), storesUpSince.getTime())
    return now.getTime() - since > limitMs
  })
  if (found === undefined) return null
  const seconds = Math.round((now.getTime() - found.lastAt.getTime()) / 1000)
  return `${found.missing} for ${seconds} s although the stores are available`
}

/** This process makes no progress, and only a restart helps. */
export class NoProgressError extends AppError {
  override readonly name = 'NoProgressError'
  override readonly code = 'app.no_progress'
  override readonly retryable = true

  constructor(reason: string) {
    super(`${reason}: this process makes no progress and ends; a restart continues its work`)
  }
}

/** Whether the workers of this process make progress. */
export interface Liveness {
  /** Why the process must restart; null while it makes progress or a store is down. */
  fault(): string | null
  /** Checks regularly until the signal aborts. Rejects with NoProgressError at the first fault. */
  watch(signal: AbortSignal): Promise<never>
}

interface LivenessDeps {
  readonly app: Pick<App, 'config' | 'clock' | 'log'>
  readonly queue: Pick<QueueSystem, 'facts'>
  readonly work: Pick<Work, 'workers' | 'loopedAt' | 'loopingSince'>
}

/** The number of checks within the limit. A check runs at least every ten seconds. */
const CHECKS_PER_LIMIT = 6
const MAX_CHECK_MS = 10_000
/** A heartbeat since so many checks is recent. */
const RECENT_CHECKS = 2
/** A check that is late by this factor shows that the whole process was suspended, not that its work hangs. */
const SUSPENDED_FACTOR = 3
/** A list of a million routes takes minutes, everything else seconds. */
const SYNC_FACTOR = 10
/** A process may have only the loop of the schedulers, which waits so long. */
const LOOP_PAUSE_MS = 60_000

/**
 * Judges a process by its progress: workers poll their queues, handlers end, loops end.
 *
 * A worker continues by itself on a new connection. What remains is for example a handler that hangs.
 */
export function createLiveness({ app, queue, work }: LivenessDeps): Liveness {
  const { clock, config, log } = app
  const limitMs = config.NO_PROGRESS_SECONDS * 1000
  const everyMs = Math.min(MAX_CHECK_MS, limitMs / CHECKS_PER_LIMIT)
  let storesUpSince = clock.now()
  let fault: string | null = null

  async function check(): Promise<void> {
    const now = clock.now().getTime()
    const isBusy = workHeartbeats(work, { limitMs, now: clock.now() }).every(
      ({ lastAt }) => now - lastAt.getTime() < RECENT_CHECKS * everyMs,
    )
    // Polls and loops need the stores: while they succeed, the stores answer.
    if (!isBusy && !(await storesAnswer(config.DATABASE_URL, queue))) storesUpSince = clock.now()
    const heartbeats = workHeartbeats(work, { limitMs, now: clock.now() })
    fault = findMissing(heartbeats, { now: clock.now(), storesUpSince })
  }

  async function watch(signal: AbortSignal): Promise<never> {
    for (;;) {
      const before = clock.now().getTime()
      await clock.sleep(everyMs, signal)
      if (clock.now().getTime() - before > SUSPENDED_FACTOR * everyMs) storesUpSince = clock.now()
      await check()
      if (fault === null) continue
      log.fatal({ reason: fault }, 'no progress')
      throw new NoProgressError(fault)
    }
  }

  return { fault: () => fault, watch: (signal) => untilAborted(watch(signal), signal) }
}

/** Passes a rejection on, except after the signal has aborted: then it never settles. */
export async function untilAborted(work: Promise<never>, signal: AbortSignal): Promise<never> {
  try {
    return await work
  } catch (err) {
    if (signal.aborted) return new Promise<never>(() => undefined)
    throw err
  }
}

async function storesAnswer(url: string, queue: Pick<QueueSystem, 'facts'>): Promise<boolean> {
  const pings: Promise<unknown>[] = [pingDatabase(url, STORE_TIMEOUT_MS), queue.facts()]
  const results = await Promise.allSettled(pings.map((ping) => withTimeout(ping, STORE_TIMEOUT_MS)))
  return results.every(({ status }) => status === 'fulfilled')
}

function workHeartbeats(
  work: LivenessDeps['work'],
  { limitMs, now }: { limitMs: number; now: Date },
): Heartbeat[] {
  const workers = work.workers.flatMap(({ queue, handle }) => {
    const { lastActivityAt, busySince } = handle.progress()
    const factor = queue === SYNC_QUEUE ? SYNC_FACTOR : 1
    return [
      { missing: `queue ${queue} was not polled`, lastAt: lastActivityAt, limitMs },
      {
        missing: `a job of queue ${queue} has not ended`,
        lastAt: busySince ?? now,
        limitMs: limitMs * factor,
      },
    ]
  })
  return [
    ...workers,
    { missing: 'no loop has ended', lastAt: work.loopedAt(), limitMs: LOOP_PAUSE_MS + limitMs },
    { missing: 'a run of a loop has not ended', lastAt: work.loopingSince() ?? now, limitMs },
  ]
}
