import type { IQueueBackend } from 'bullmq'
import type { Clock } from '../base/clock.ts'

export interface ResilienceOptions {
  readonly onPoll: () => void
  /** The longest time between two polls of an idle worker. BullMQ itself would allow more. */
  readonly pollMs: number
  readonly clock: Clock
  readonly signal: AbortSignal
}

const PAUSE_AFTER_FAILURE_MS = 500
const OUTCOME_TRIES = 10

/**
 * Changes three behaviours of a worker's backend.
 *
 * - Polls are reported and frequent. `isRunning()` stays true for a worker that does nothing, and the only heartbeat of an
 *   idle queue is that `moveToActive` returns. BullMQ's Postgres worker may call it once an hour, when its next job is far
 *   off or its LISTEN connection has failed, so the wait is capped.
 * - A failed poll is followed by a pause. BullMQ polls again at once after most errors, which would be thousands of calls a
 *   second to a store that refuses.
 * - The record of a finished job is retried for about five seconds. BullMQ retries it only when the connection is refused;
 *   after a lost connection it would record a successful job as failed.
 */
export function makeResilient(backend: IQueueBackend, options: ResilienceOptions): IQueueBackend {
  const { onPoll, pollMs, clock, signal } = options
  const pause = () => clock.sleep(PAUSE_AFTER_FAILURE_MS, signal).catch(() => undefined)

  const poll = backend.moveToActive.bind(backend)
  backend.moveToActive = async (token, name) => {
    try {
      const polled = await poll(token, name)
      onPoll()
      return polled
    } catch (err) {
      await pause()
      throw err
    }
  }

  const record = async <T>(write: () => Promise<T>): Promise<T> => {
    for (let tries = 1; ; tries += 1) {
      try {
        return await write()
      } catch (err) {
        if (tries === OUTCOME_TRIES || signal.aborted || isRefusal(err)) throw err
        await pause()
      }
    }
  }
  const complete = backend.moveToCompleted.bind(backend)
  backend.moveToCompleted = (...args) => record(() => complete(...args))
  const fail = backend.moveToFailed.bind(backend)
  backend.moveToFailed = (...args) => record(() => fail(...args))
  const delay = backend.moveToDelayed.bind(backend)
  backend.moveToDelayed = (...args) => record(() => delay(...args))

  Object.defineProperty(backend, 'maximumBlockTimeout', { value: pollMs / 1000 })
  return backend
}

/** BullMQ's own refusals have a numeric code (the lock is lost, the job is deleted). A retry cannot succeed. */
function isRefusal(err: unknown): boolean {
  return err instanceof Error && typeof (err as { code?: unknown }).code === 'number'
}
