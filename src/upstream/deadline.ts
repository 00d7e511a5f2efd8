/** One time limit over a whole call, joined with the caller's own signal. */
export interface Deadline extends Disposable {
  /** Aborts at the limit, or with the caller's signal. */
  readonly signal: AbortSignal
  /** Whether the limit, not the caller, ended the call. */
  readonly expired: boolean
}

/**
 * Starts the clock of a call. Dispose it when the call ends.
 *
 * Not `AbortSignal.any([caller, AbortSignal.timeout(ms)])`: that leaves a timer behind for each finished call,
 * and its entry on a caller's signal that lives as long as the process.
 */
export function startDeadline(limitMs: number, caller: AbortSignal): Deadline {
  const controller = new AbortController()
  let expired = false
  const timer = setTimeout(() => {
    expired = !caller.aborted
    controller.abort()
  }, limitMs)
  const follow = () => controller.abort(caller.reason)
  if (caller.aborted) follow()
  else caller.addEventListener('abort', follow, { once: true })
  return {
    signal: controller.signal,
    get expired() {
      return expired
    },
    [Symbol.dispose]() {
      clearTimeout(timer)
      caller.removeEventListener('abort', follow)
    },
  }
}
