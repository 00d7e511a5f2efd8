import { type BackoffPolicy, backoffMs, type Clock } from './clock.ts'
import { messageOf } from './errors.ts'
import type { Logger } from './logger.ts'

/**
 * Work that follows due times of its own within seconds: every process runs it itself, when something is due.
 *
 * It needs no queue, so that an idle process waits, and a flushed queue loses nothing. Its statements must exclude
 * those of the other processes.
 */
export interface Loop {
  readonly name: string
  /** It runs at least this often: a notification may be lost, and the clock may be set. */
  readonly atMostMs: number
  /**
   * Does what is due. Returns in how many milliseconds something is due next, or undefined if nothing is known to
   * be.
   */
  readonly run: (signal: AbortSignal) => Promise<number | undefined>
}

export interface RunningLoop {
  /** Runs it as soon as the last run is a second ago. */
  notify(): void
  /** Aborts a run, and resolves when it has ended. */
  stop(): Promise<void>
}

interface LoopDeps {
  readonly clock: Clock
  readonly log: Logger
  readonly random: () => number
}

/** The pause between two runs: what is due within it is done together. */
const GAP_MS = 1_000
const AFTER_FAILURE: BackoffPolicy = { baseMs: 2_000, maxMs: 10_000 }

/** Runs the loop now, and then whenever something is due. A failure is logged, and the run is repeated after a pause. */
export function startLoop(loop: Loop, { clock, log, random }: LoopDeps): RunningLoop {
  const stopping = new AbortController()
  let notified = new AbortController()
  let failures = 0

  /** Returns how long to wait for the next run. */
  async function runOnce(): Promise<number> {
    try {
      const dueMs = await loop.run(stopping.signal)
      failures = 0
      return Math.min(loop.atMostMs, dueMs ?? loop.atMostMs)
    } catch (err) {
      if (!stopping.signal.aborted) {
        log.warn({ loop: loop.name, reason: messageOf(err) }, 'loop failed')
      }
      failures += 1
      return GAP_MS + backoffMs(AFTER_FAILURE, failures, random)
    }
  }

  async function repeat(): Promise<void> {
    while (!stopping.signal.aborted) {
      // A notification during the run may be for what the run did not see.
      notified = new AbortController()
      const waitMs = await runOnce()
      await sleep(GAP_MS, stopping.signal)
      await sleep(waitMs - GAP_MS, AbortSignal.any([stopping.signal, notified.signal]))
    }
  }

  async function sleep(ms: number, signal: AbortSignal): Promise<void> {
    if (ms > 0) await clock.sleep(ms, signal).catch(() => undefined)
  }

  const running = repeat()
  return {
    notify: () => notified.abort(),
    stop: async () => {
      stopping.abort()
      await running
    },
  }
}
