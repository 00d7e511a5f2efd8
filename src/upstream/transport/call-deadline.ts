/** One time limit over a whole call, joined with the caller's own signal. */
export interface CallDeadline {
  /** Whether the time limit, and not the caller, ended the call. */
  readonly expired: boolean
  /** Whether the time limit has passed or the caller has aborted. */
  readonly ended: boolean
  /** Sets the one listener. It is called at once if the deadline has already ended. */
  onEnd(listener: () => void): void
  /** Ends the deadline after the call. It removes the timer and the listener on the caller's signal. */
  stop(): void
}

/**
 * Starts the time limit of a call.
 *
 * `AbortSignal.any([caller, AbortSignal.timeout(ms)])` is no alternative: it leaves a timer behind for each finished
 * call, and an entry on a caller's signal that lives as long as the process. An AbortController per call is none
 * either: each abort creates an exception with a stack, which is measurable at thousands of calls a second.
 */
export function startDeadline(limitMs: number, caller: AbortSignal): CallDeadline {
  let listener: (() => void) | undefined
  let expired = false
  let ended = caller.aborted
  const end = () => {
    if (ended) return
    ended = true
    listener?.()
  }
  const timer = setTimeout(() => {
    expired = !caller.aborted
    end()
  }, limitMs)
  caller.addEventListener('abort', end, { once: true })
  return {
    get expired() {
      return expired
    },
    get ended() {
      return ended
    },
    onEnd(called) {
      listener = called
      if (ended) called()
    },
    stop() {
      clearTimeout(timer)
      caller.removeEventListener('abort', end)
    },
  }
}
