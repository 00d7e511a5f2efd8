import type { IQueueBackend } from 'bullmq'
import type { Clock } from '../base/clock.ts'

export interface ObserveOptions {
  readonly onPoll: () => void
  /** The longest that an idle worker waits before it polls, whatever BullMQ thinks it may wait. */
  readonly pollMs: number
  readonly clock: Clock
  readonly signal: AbortSignal
}

const PAUSE_AFTER_FAILURE_MS = 500
const OUTCOME_TRIES = 10

/**
 * Makes a worker's polls visible, frequent and patient, and its records of outcomes persistent.
 *
 * - `isRunning()` stays true for a worker that does nothing. The one sign of life of an idle queue is that
 *   `moveToActive` is answered; BullMQ's Postgres worker may call it once an hour, when its next job is far off
 *   or its LISTEN connection once failed: the wait is capped.
 * - BullMQ asks again at once after most errors: a store that refuses would be asked thousands of times a
 *   second. A failed poll pauses.
 * - BullMQ repeats the record of a finished job only when the connection is refused. When it is cut, a job that
 *   succeeded would be recorded as failed: the record is repeated here for about five seconds.
 */
export function observeBackend(backend: IQueueBackend, options: ObserveOptions): IQueueBackend {
  const { onPoll, pollMs, clock, signal } = options
  const pause = () => clock.sleep(PAUSE_AFTER_FAILURE_MS, signal).catch(() => undefined)

  const poll = backend.moveToActive.bind(backend)
  backend.moveToActive = async (token, name) => {
    try {
      const answer = await poll(token, name)
      onPoll()
      return answer
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
        if (tries === OUTCOME_TRIES || signal.aborted || isVerdict(err)) throw err
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

/** BullMQ's own refusals (the lock is lost, the job is gone) carry a number; asking again changes nothing. */
function isVerdict(err: unknown): boolean {
  return err instanceof Error && typeof (err as { code?: unknown }).code === 'number'
}
