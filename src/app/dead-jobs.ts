import type { Clock } from '../platform/base/clock.ts'
import type { QueueSystem } from '../platform/queue/queue-system.ts'

export interface DeadJobsDeps {
  readonly queue: Pick<QueueSystem, 'jobs' | 'retryDead' | 'dropDead'>
  readonly clock: Clock
  readonly signal: AbortSignal
  /** Called with the number of changed jobs. */
  readonly onProgress: (changed: number) => void
}

export interface DeadJobsChange {
  /** The name of the queue. */
  readonly name: string
  readonly ids: readonly string[] | 'all'
  readonly verb: 'retry' | 'drop'
}

const PAGE = 200

/**
 * Retries dead jobs with all their attempts, or deletes them; our tables still hold the work that is due. Returns the
 * number of changed jobs and the given ids of which no dead job exists.
 *
 * Safe to run twice: a job that waits or runs is not dead.
 */
export async function changeDeadJobs(
  { queue, clock, signal, onProgress }: DeadJobsDeps,
  { name, ids, verb }: DeadJobsChange,
): Promise<{ readonly changed: number; readonly missing: readonly string[] }> {
  const changeOne = verb === 'retry' ? queue.retryDead : queue.dropDead
  const missing: string[] = []
  let changed = 0
  const changeEach = async (wanted: readonly string[]) => {
    for (const id of wanted) {
      signal.throwIfAborted()
      if (await changeOne(name, id)) changed += 1
      else missing.push(id)
      onProgress(changed)
    }
  }
  if (ids !== 'all') {
    await changeEach(ids)
    return { changed, missing }
  }
  // A job that dies again after its retry must not be retried without end.
  const until = clock.now()
  for (;;) {
    const before = changed
    const jobs = await queue.jobs(name, 'dead', PAGE)
    const older = jobs.filter(({ endedAt }) => endedAt !== null && endedAt <= until)
    await changeEach(older.map(({ id }) => id))
    // With "all", a job that another caller changed in the meantime does not count as missing.
    if (changed === before) return { changed, missing: [] }
  }
}
