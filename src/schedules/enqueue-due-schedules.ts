import { nextDueAt } from '../base/cron.ts'
import { type Db, sql } from '../db/database.ts'
import { inTransaction } from '../db/transaction.ts'
import type { QueueSystem } from '../queue/queue-system.ts'
import type { Schedule } from './schedule.ts'
import { scheduledJob } from './slot-job.ts'

export interface DueDeps {
  readonly db: Db
  readonly queue: Pick<QueueSystem, 'enqueue'>
  readonly schedules: readonly Schedule[]
  readonly random: () => number
}

/**
 * Enqueues the job of every schedule that is due, and moves each to its next slot. Returns the names.
 *
 * The row is locked while its job is enqueued: however many processes tick at once, a slot makes one job. The
 * job's id is its slot's, so that a crash between enqueue and commit makes no second one while the first waits;
 * the payload says when it was due, for the job to see that it was carried out.
 * A slot that was missed is made up for once, however long ago it was.
 */
export async function enqueueDueSchedules({
  db,
  queue,
  schedules,
  random,
}: DueDeps): Promise<string[]> {
  return inTransaction(db, async (tx) => {
    const { rows } = await sql<{ name: string; dueAt: Date; now: Date }>`
      select name, next_due_at as "dueAt", now() as now
        from schedule
       where next_due_at <= now() and name = any(${schedules.map((s) => s.name)})
       order by next_due_at
         for update skip locked
    `.execute(tx)
    for (const { name, dueAt, now } of rows) {
      const schedule = schedules.find((s) => s.name === name)
      if (schedule === undefined) continue
      await queue.enqueue(schedule.queue, scheduledJob(schedule, dueAt))
      await sql`
        update schedule
           set next_due_at = ${nextDueAt(schedule.cron, now, random)}, last_due_at = ${dueAt}
         where name = ${name}
      `.execute(tx)
    }
    return rows.map((row) => row.name)
  })
}
