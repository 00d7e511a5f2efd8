import { type Db, sql } from '../db/database.ts'

/** A schedule as its table holds it. */
export interface SavedSchedule {
  readonly name: string
  /** In UTC. */
  readonly cron: string
  readonly nextDueAt: Date
  /** The slot that was enqueued last; null before the first. */
  readonly lastDueAt: Date | null
}

/** All schedules, by their names. */
export async function listSchedules(db: Db): Promise<SavedSchedule[]> {
  const { rows } = await sql<SavedSchedule>`
    select name, cron, next_due_at as "nextDueAt", last_due_at as "lastDueAt"
      from schedule
     order by name
  `.execute(db)
  return rows
}

/**
 * Makes a schedule due at once; its next slots are those of its pattern. Returns since when it is due, which may be
 * longer than now; undefined where there is no such schedule. Safe to run twice: a slot makes one job.
 */
export async function makeScheduleDue(db: Db, name: string): Promise<Date | undefined> {
  const { rows } = await sql<{ dueAt: Date }>`
    update schedule
       set next_due_at = least(next_due_at, clock_timestamp())
     where name = ${name}
    returning next_due_at as "dueAt"
  `.execute(db)
  return rows[0]?.dueAt
}

/** Whether a schedule has enqueued a slot that is later than this one. */
export async function hasLaterDueTime(db: Db, name: string, dueAt: Date): Promise<boolean> {
  const { rows } = await sql<{ name: string }>`
    select name from schedule where name = ${name} and last_due_at > ${dueAt}
  `.execute(db)
  return rows.length > 0
}
