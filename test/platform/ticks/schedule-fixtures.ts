import { type Db, sql } from '../../../src/platform/db/database.ts'
import { selectOne } from '../../../src/platform/db/transaction.ts'
import type { JobCounts, NewJob } from '../../../src/platform/queue/queue-system.ts'
import { type Schedule, saveSchedules } from '../../../src/platform/ticks/schedules.ts'

export const NO_JITTER = () => 0

/** A schedule whose next due time is far away, unless a test sets it. */
export function aSchedule(name: string, changes: Partial<Schedule> = {}): Schedule {
  const payload = { list: name }
  return { name, cron: '0 0 1 1 *', queue: 'syncs', payload, firstAfterMs: 0, ...changes }
}

export interface ScheduleRow {
  readonly cron: string
  readonly next_due_at: Date
  readonly last_due_at: Date | null
}

export function rowOf(db: Db, name: string): Promise<ScheduleRow> {
  return selectOne(
    sql<ScheduleRow>`select cron, next_due_at, last_due_at from schedule where name = ${name}`,
    db,
  )
}

/** Saves schedules that have been due for `agoMs`, by the database's clock. Returns the due time. */
export async function saveDue(
  db: Db,
  schedules: readonly Schedule[],
  agoMs = 1_000,
): Promise<Date> {
  const { now } = await selectOne(sql<{ now: Date }>`select now() as now`, db)
  const due = new Date(now.getTime() - agoMs)
  const dueNow = schedules.map((schedule) => ({ ...schedule, firstAfterMs: 0 }))
  await saveSchedules(db, dueNow, { now: due, random: NO_JITTER })
  return due
}

export interface RecordedJob extends NewJob {
  readonly queue: string
}

const NO_JOBS: JobCounts = { waiting: 0, active: 0, delayed: 0, failed: 0, completed: 0 }

/** A queue that records the enqueued jobs. */
export function createRecorder(counts: Partial<JobCounts> = {}) {
  const jobs: RecordedJob[] = []
  return {
    jobs,
    ids: () => jobs.map((job) => job.id),
    enqueue: async (queue: string, job: NewJob) => void jobs.push({ queue, ...job }),
    counts: async () => ({ ...NO_JOBS, ...counts }),
  }
}
