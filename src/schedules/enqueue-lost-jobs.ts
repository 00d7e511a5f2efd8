import { type Db, sql } from '../db/database.ts'
import type { QueueSystem } from '../queue/queue-system.ts'
import type { Schedule } from './schedule.ts'
import { scheduledJob } from './slot-job.ts'

export interface LostJobsDeps {
  readonly db: Db
  readonly queue: Pick<QueueSystem, 'enqueue' | 'counts'>
  readonly schedules: readonly Schedule[]
}

/**
 * Enqueues the last slot of every schedule once more whose queue holds no job at all, not even a finished one.
 *
 * A queue keeps the jobs that it finished last: one without any was emptied, and whether the slot's job had been
 * carried out before, nobody knows but the job, which sees by its slot that there is nothing left to do. A slot
 * that is due is not lost. Returns the names.
 */
export async function enqueueLostJobs(deps: LostJobsDeps): Promise<string[]> {
  const emptied = await emptiedQueues(deps)
  const suspects = deps.schedules.filter(({ queue }) => emptied.has(queue))
  if (suspects.length === 0) return []
  const { rows } = await sql<{ name: string; slot: Date }>`
    select name, last_due_at as slot
      from schedule
     where last_due_at is not null and next_due_at > now() and name = any(${suspects.map((s) => s.name)})
  `.execute(deps.db)
  for (const { name, slot } of rows) {
    const schedule = suspects.find((s) => s.name === name)
    if (schedule !== undefined)
      await deps.queue.enqueue(schedule.queue, scheduledJob(schedule, slot))
  }
  return rows.map(({ name }) => name)
}

async function emptiedQueues({ queue, schedules }: LostJobsDeps): Promise<Set<string>> {
  const names = [...new Set(schedules.map((schedule) => schedule.queue))]
  const counted = await Promise.all(
    names.map(async (name) => ({ name, counts: await queue.counts(name) })),
  )
  const empty = counted.filter(({ counts }) => Object.values(counts).every((n) => n === 0))
  return new Set(empty.map(({ name }) => name))
}
