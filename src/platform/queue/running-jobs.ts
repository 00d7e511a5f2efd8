/** The handlers that a worker runs, and the time of its last activity. Liveness checks use both. */
export interface RunningJobs {
  /** Records activity: a poll returned, a job began or ended, or a lock was renewed. */
  touch(): void
  lastActivityAt(): Date
  count(): number
  /** When the oldest running handler began; null if none runs. */
  busySince(): Date | null
  begin(jobId: string): { readonly signal: AbortSignal; end(): void }
  abort(jobIds: readonly string[], reason: Error): void
  abortAll(reason: Error): void
  /** Resolves when no handler runs. */
  idle(): Promise<void>
}

export function createRunningJobs(now: () => Date): RunningJobs {
  // Not a map by id: a job whose lock was lost may begin a second time while its first handler still runs.
  const running = new Set<{ jobId: string; controller: AbortController; begunAt: Date }>()
  let lastActivityAt = now()
  let waiting: (() => void)[] = []

  function resolveWhenIdle(): void {
    if (running.size > 0) return
    for (const resolve of waiting) resolve()
    waiting = []
  }

  return {
    touch: () => {
      lastActivityAt = now()
    },
    lastActivityAt: () => lastActivityAt,
    count: () => running.size,
    // A set keeps insertion order.
    busySince: () => running.values().next().value?.begunAt ?? null,
    begin: (jobId) => {
      const job = { jobId, controller: new AbortController(), begunAt: now() }
      running.add(job)
      const end = () => {
        running.delete(job)
        resolveWhenIdle()
      }
      return { signal: job.controller.signal, end }
    },
    abort: (jobIds, reason) => {
      for (const job of running) if (jobIds.includes(job.jobId)) job.controller.abort(reason)
    },
    abortAll: (reason) => {
      for (const job of running) job.controller.abort(reason)
    },
    idle: () => {
      const { promise, resolve } = Promise.withResolvers<void>()
      waiting.push(resolve)
      resolveWhenIdle()
      return promise
    },
  }
}
