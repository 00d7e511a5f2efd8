import { nextDueAt } from '../base/cron.ts'
import { type Db, type RawBuilder, sql } from '../db/database.ts'
import { inTransaction } from '../db/transaction.ts'
import type { NewJob, QueueSystem } from '../queue/queue-system.ts'
import type { Schedule } from './schedules.ts'

export interface DueDeps {
  readonly db: Db
  readonly queue: Pick<QueueSystem, 'enqueue'>
  readonly schedules: readonly Schedule[]
  readonly random: () => number
}

/**
 * Enqueues the job of every schedule that is due, and moves each to its next due time. Returns their names.
 *
 * The row is locked while its job is enqueued, so a due time makes one job, even if several processes tick at once. The
 * job's id contains the due time: after a crash between enqueue and commit the queue drops the second job while the
 * first one waits. The payload contains it too, so that the job can check whether its work is done. Of several missed due
 * times only the first is made up.
 */
export async function enqueueDueSchedules({
  db,
  queue,
  schedules,
  random,
}: DueDeps): Promise<string[]> {
  return inTransaction(db, async (tx) => {
    const due = await tx
      .selectFrom('schedule')
      .select(['name', 'next_due_at as dueAt', sql<Date>`now()`.as('now')])
      .where('next_due_at', '<=', sql<Date>`now()`)
      .where(isOneOf(schedules))
      .orderBy('next_due_at')
      .forUpdate()
      .skipLocked()
      .execute()
    for (const { name, dueAt, now } of due) {
      const schedule = schedules.find((s) => s.name === name)
      if (schedule === undefined) continue
      await queue.enqueue(schedule.queue, scheduledJob(schedule, dueAt))
      await tx
        .updateTable('schedule')
        .set({ next_due_at: nextDueAt(schedule.cron, now, random), last_due_at: dueAt })
        .where('name', '=', name)
        .execute()
    }
    return due.map(({ name }) => name)
  })
}

export interface LostJobsDeps extends Pick<DueDeps, 'db' | 'schedules'> {
  readonly queue: Pick<QueueSystem, 'enqueue' | 'counts'>
}

/**
 * Enqueues the job of the last due time again for every schedule whose queue holds no job at all. Returns their names.
 *
 * A queue keeps its last finished jobs, so an empty one was flushed. The job may have run before; by its due time it
 * finds that its work is done. A schedule that is due now needs no repair.
 */
export async function enqueueLostJobs(deps: LostJobsDeps): Promise<string[]> {
  const flushed = await findEmptyQueues(deps)
  const suspects = deps.schedules.filter(({ queue }) => flushed.has(queue))
  if (suspects.length === 0) return []
  const lost = await deps.db
    .selectFrom('schedule')
    .select(['name', 'last_due_at as dueAt'])
    .where('last_due_at', 'is not', null)
    .where('next_due_at', '>', sql<Date>`now()`)
    .where(isOneOf(suspects))
    .$narrowType<{ dueAt: Date }>()
    .execute()
  for (const { name, dueAt } of lost) {
    const schedule = suspects.find((s) => s.name === name)
    if (schedule !== undefined)
      await deps.queue.enqueue(schedule.queue, scheduledJob(schedule, dueAt))
  }
  return lost.map(({ name }) => name)
}

function isOneOf(schedules: readonly Schedule[]): RawBuilder<boolean> {
  return sql<boolean>`name = any(${schedules.map(({ name }) => name)})`
}

async function findEmptyQueues({ queue, schedules }: LostJobsDeps): Promise<Set<string>> {
  const names = [...new Set(schedules.map((schedule) => schedule.queue))]
  const counted = await Promise.all(
    names.map(async (name) => ({ name, counts: await queue.counts(name) })),
  )
  const empty = counted.filter(({ counts }) => Object.values(counts).every((n) => n === 0))
  return new Set(empty.map(({ name }) => name))
}

/** With the worker's pauses about half an hour, so that a short outage does not cost a whole interval. */
const JOB_ATTEMPTS = 8

function scheduledJob({ name, payload }: Schedule, dueAt: Date): NewJob {
  return {
    payload: { ...payload, dueAt: dueAt.toISOString() },
    id: `${name}@${dueAt.getTime()}`,
    attempts: JOB_ATTEMPTS,
  }
}
