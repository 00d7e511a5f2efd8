import { failureFields, isAway } from './failure-fields.ts'
import type { QueueContext } from './queue-context.ts'

/** The errors of all workers of a process. */
export interface WorkerErrors {
  note(queue: string, err: unknown): void
  /** The store has answered a worker. Cheap, and meant to be called often. */
  answered(): void
}

interface Trouble {
  /** Of one queue alone; undefined where the store is away. */
  readonly queue: string | undefined
  open: boolean
  sinceMs: number
  lastMs: number
  saidMs: number
  suppressed: number
}

const EVERY_MS = 60_000
const AWAY = 'away'

/**
 * Tells of each kind of trouble when it begins, at most once a minute while it lasts, with how many lines were left
 * out, and when it is over: the store has answered, and nothing failed for the time between two polls.
 *
 * A store that is away is one kind, whichever worker notices: it fails hundreds of times a second in each. What comes
 * and goes is told no more often than what stays.
 */
export function createWorkerErrors({
  log,
  clock,
  timings,
}: Pick<QueueContext, 'log' | 'clock' | 'timings'>): WorkerErrors {
  const kinds = new Map<string, Trouble>()
  const now = () => clock.now().getTime()

  function begin(kind: string, queue: string | undefined): Trouble {
    const before = kinds.get(kind) ?? { saidMs: Number.NEGATIVE_INFINITY, suppressed: 0 }
    const trouble = { ...before, queue, open: true, sinceMs: now(), lastMs: now() }
    kinds.set(kind, trouble)
    return trouble
  }

  return {
    note(queue, err) {
      const kind = isAway(err) ? AWAY : kindOf(queue, err)
      const known = kinds.get(kind)
      const trouble = known?.open === true ? known : begin(kind, kind === AWAY ? undefined : queue)
      trouble.lastMs = now()
      if (now() - trouble.saidMs < EVERY_MS) {
        trouble.suppressed += 1
        return
      }
      const { suppressed } = trouble
      const fields = { queue: trouble.queue, ...failureFields(err), suppressed }
      log.warn(fields, 'queue worker error')
      trouble.saidMs = now()
      trouble.suppressed = 0
    },

    answered() {
      for (const trouble of kinds.values()) {
        const { queue, open, sinceMs, lastMs, saidMs, suppressed } = trouble
        if (!open || now() - lastMs < timings.pollMs) continue
        trouble.open = false
        if (saidMs < sinceMs) continue
        log.info({ queue, lastedMs: lastMs - sinceMs, suppressed }, 'queue worker error is over')
        trouble.suppressed = 0
      }
    },
  }
}

/** Not by its message, which may name a job: there are to be few kinds. */
function kindOf(queue: string, err: unknown): string {
  const { name, code } = (err ?? {}) as { name?: unknown; code?: unknown }
  return `${queue} ${name} ${code}`
}
