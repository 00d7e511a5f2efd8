import { type BackoffPolicy, backoffMs } from '../base/backoff.ts'
import type { Clock } from '../base/clock.ts'
import { messageOf } from '../base/errors.ts'
import type { Logger } from '../base/logger.ts'

/**
 * A tick that follows its work: every worker process runs it itself, when something is due.
 *
 * It needs no queue, so that an idle process waits, and a flushed queue loses nothing. Its statements must exclude those of
 * the other processes.
 */
export interface DueTick {
  readonly name: string
  /** It runs at least this often: a notification may be lost, and the clock may be set. */
  readonly atMostMs: number
  /** Does what is due. Returns in how many milliseconds something is due next, or undefined if nothing is known to be. */
  readonly run: (signal: AbortSignal) => Promise<number | undefined>
}

export interface RunningDueTick {
  /** Runs it as soon as the last run is a second ago. */
  notify(): void
  /** Aborts a run, and resolves when it has ended. */
  stop(): Promise<void>
}

export interface DueTickDeps {
  readonly clock: Clock
  readonly log: Logger
  readonly random: () => number
}

/** The pause between two runs: what is due within it is done together. */
const GAP_MS = 1_000
const AFTER_FAILURE: BackoffPolicy = { baseMs: 2_000, maxMs: 10_000 }

/** Runs the tick now, and then whenever something is due. A failure is logged, and the run is repeated after a pause. */
export function runWhenDue(tick: DueTick, { clock, log, random }: DueTickDeps): RunningDueTick {
  const stopping = new AbortController()
  let notified = new AbortController()
  let failures = 0

  /** Returns how long to wait for the next run. */
  async function runOnce(): Promise<number> {
    try {
      const dueMs = await tick.run(stopping.signal)
      failures = 0
      return Math.min(tick.atMostMs, dueMs ?? tick.atMostMs)
    } catch (err) {
      if (!stopping.signal.aborted) {
        log.warn({ tick: tick.name, reason: messageOf(err) }, 'tick failed')
      }
      failures += 1
      return GAP_MS + backoffMs(AFTER_FAILURE, failures, random)
    }
  }

  async function loop(): Promise<void> {
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

  const running = loop()
  return {
    notify: () => notified.abort(),
    stop: async () => {
      stopping.abort()
      await running
    },
  }
}
