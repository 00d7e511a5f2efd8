/** One time limit over a whole call, joined with the caller's own signal. */
export interface Deadline {
  /** Whether the limit, not the caller, ended the call. */
  readonly expired: boolean
  /** Whether the limit has passed or the caller has given up. */
  readonly ended: boolean
  /** Called at once where it has ended already. */
  onEnd(listener: () => void): void
  /** The call is over: nothing is left behind, on a timer or on the caller's signal. */
  stop(): void
}

/**
 * Starts the clock of a call.
 *
 * Not `AbortSignal.any([caller, AbortSignal.timeout(ms)])`: that leaves a timer behind for each finished call,
 * and its entry on a caller's signal that lives as long as the process. Nor a controller of its own: an abort
 * makes an exception with its stack, which thousands of calls a second would notice.
 */
export function startDeadline(limitMs: number, caller: AbortSignal): Deadline {
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
