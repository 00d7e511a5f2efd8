import type { Clock } from '../base/clock.ts'
import type { QueueSystem } from '../queue/queue-system.ts'

export interface DeadJobsDeps {
  readonly queue: Pick<QueueSystem, 'jobs' | 'retryDead' | 'dropDead'>
  readonly clock: Clock
}

export interface DeadJobsChoice {
  /** The name of the queue. */
  readonly name: string
  readonly ids: readonly string[] | 'all'
}

export interface ChangeProgress {
  readonly signal: AbortSignal
  /** Called with the number of changed jobs. */
  readonly onProgress: (changed: number) => void
}

export interface DeadJobsChange {
  readonly changed: number
  /** Given ids of which no dead job exists (any more). */
  readonly missing: readonly string[]
}

const PAGE = 200

/** Queues dead jobs again with all their attempts. Safe to run twice: a job that waits or runs is not dead. */
export function retryDeadJobs(
  deps: DeadJobsDeps,
  choice: DeadJobsChoice,
  progress: ChangeProgress,
): Promise<DeadJobsChange> {
  return change(deps, choice, { ...progress, one: deps.queue.retryDead })
}

/** Deletes dead jobs. Our tables still hold the work that is due. */
export function dropDeadJobs(
  deps: DeadJobsDeps,
  choice: DeadJobsChoice,
  progress: ChangeProgress,
): Promise<DeadJobsChange> {
  return change(deps, choice, { ...progress, one: deps.queue.dropDead })
}

interface Changing extends ChangeProgress {
  readonly one: (name: string, id: string) => Promise<boolean>
}

async function change(
  deps: DeadJobsDeps,
  { name, ids }: DeadJobsChoice,
  { one, signal, onProgress }: Changing,
): Promise<DeadJobsChange> {
  const missing: string[] = []
  let changed = 0
  const changeEach = async (wanted: readonly string[]) => {
    for (const id of wanted) {
      signal.throwIfAborted()
      if (await one(name, id)) changed += 1
      else missing.push(id)
      onProgress(changed)
    }
  }
  if (ids !== 'all') {
    await changeEach(ids)
    return { changed, missing }
  }
  const until = deps.clock.now()
  for (;;) {
    const before = changed
    await changeEach(await deadBefore(deps, name, until))
    // With "all", a job that another caller changed in the meantime does not count as missing.
    if (changed === before) return { changed, missing: [] }
  }
}

/** Jobs that died before `until`: a job that dies again after its retry must not be retried without end. */
async function deadBefore(
  { queue }: DeadJobsDeps,
  name: string,
  until: Date,
): Promise<readonly string[]> {
  const jobs = await queue.jobs(name, 'dead', PAGE)
  return jobs.filter(({ endedAt }) => endedAt !== null && endedAt <= until).map(({ id }) => id)
}
