import { AppError } from '../base/errors.ts'
import { pingDatabase } from '../db/database-health.ts'
import type { QueueSystem } from '../queue/queue-system.ts'
import { SYNC_QUEUE } from '../route-sync/sync-list-job.ts'
import { RECONCILE_EVERY_MS } from '../schedules/reconciler.ts'
import type { App } from './app.ts'
import { CHECK_DEADLINE_MS, withinCheck } from './deadline.ts'
import { judgeLiveness, type Sign } from './judge-liveness.ts'
import { lastTickOf } from './last-tick.ts'
import type { Work } from './work.ts'

/** This process does nothing any more, and would never again. */
export class WedgedError extends AppError {
  override readonly name = 'WedgedError'
  override readonly code = 'app.wedged'
  override readonly retryable = true

  constructor(reason: string) {
    super(
      `${reason}: this process is wedged and ends, to be started anew; what it held is taken up again`,
    )
  }
}

/** Whether a process that is to work gets on with it. */
export interface Liveness {
  /** Why it is of no use any more; null while it is, or while the stores are away and nothing can be told. */
  fault(): string | null
  /** Looks from time to time until the signal; rejects with WedgedError at the first fault. */
  watch(signal: AbortSignal): Promise<never>
}

export interface LivenessDeps {
  readonly app: Pick<App, 'config' | 'clock' | 'log'>
  readonly queue: Pick<QueueSystem, 'facts' | 'jobs'>
  readonly work: Pick<Work, 'workers' | 'progress'>
}

/** So often within the limit a process is looked at, once in ten seconds at least. */
const LOOKS = 6
const MAX_LOOK_MS = 10_000
/** A look that comes so late was not late for the work's sake: the whole process was stopped, or asleep. */
const OVERSLEPT = 3
/** A list of a million routes takes minutes; everything else seconds. */
const SYNC_FACTOR = 10

/**
 * Judges a process by its progress: its workers ask their queues, their handlers end, ticks end, the reconciler
 * passes. A worker that has lost its store is replaced by its supervisor long before; what is left for here is what
 * no replacing within the process would mend, such as handlers that hang on connections which went silent.
 */
export function createLiveness({ app, queue, work }: LivenessDeps): Liveness {
  const { clock, config, log } = app
  const limitMs = config.WEDGED_AFTER_SECONDS * 1000
  const lookMs = Math.min(MAX_LOOK_MS, limitMs / LOOKS)
  let soundSince = clock.now()
  let fault: string | null = null

  async function look(): Promise<void> {
    if (!(await storesAnswer(config.DATABASE_URL, queue))) soundSince = clock.now()
    const tickedAt = await lastTickAt(queue, work, new Date(clock.now().getTime() - limitMs / 2))
    const signs = [...workSigns(work, { limitMs, now: clock.now() }), tickSign(tickedAt, limitMs)]
    fault = judgeLiveness(signs, { now: clock.now(), soundSince })
  }

  async function watch(signal: AbortSignal): Promise<never> {
    for (;;) {
      const before = clock.now().getTime()
      await clock.sleep(lookMs, signal)
      if (clock.now().getTime() - before > OVERSLEPT * lookMs) soundSince = clock.now()
      await look()
      if (fault === null) continue
      log.fatal({ reason: fault }, 'wedged')
      throw new WedgedError(fault)
    }
  }

  return {
    fault: () => fault,
    watch: (signal) =>
      watch(signal).catch((err: unknown) => {
        if (signal.aborted) return new Promise<never>(() => undefined)
        throw err
      }),
  }
}

async function storesAnswer(url: string, queue: Pick<QueueSystem, 'facts'>): Promise<boolean> {
  const asked = [pingDatabase(url, CHECK_DEADLINE_MS), queue.facts()]
  const answered = await Promise.allSettled(asked.map((one) => withinCheck<unknown>(one)))
  return answered.every(({ status }) => status === 'fulfilled')
}

/** Of many processes this one may get no tick for a while: that others do is as good. */
async function lastTickAt(
  queue: Pick<QueueSystem, 'jobs'>,
  work: Pick<Work, 'progress'>,
  recently: Date,
): Promise<Date> {
  const { tickedAt } = work.progress()
  if (tickedAt > recently) return tickedAt
  const last = await lastTickOf(queue).catch(() => undefined)
  return last !== undefined && last.at > tickedAt ? last.at : tickedAt
}

function tickSign(at: Date, limitMs: number): Sign {
  return { says: 'no tick has ended', at, limitMs }
}

function workSigns(
  work: Pick<Work, 'workers' | 'progress'>,
  { limitMs, now }: { limitMs: number; now: Date },
): Sign[] {
  const workers = work.workers.flatMap(({ queue, handle }) => {
    const { lastActivityAt, busySince } = handle.progress()
    const factor = queue === SYNC_QUEUE ? SYNC_FACTOR : 1
    return [
      { says: `queue ${queue} has not been asked for jobs`, at: lastActivityAt, limitMs },
      {
        says: `a job of queue ${queue} has not ended`,
        at: busySince ?? now,
        limitMs: limitMs * factor,
      },
    ]
  })
  const { reconciledAt } = work.progress()
  const reconciler = { says: 'the reconciler has not passed', at: reconciledAt }
  return [...workers, { ...reconciler, limitMs: limitMs + RECONCILE_EVERY_MS }]
}
