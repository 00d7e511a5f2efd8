import { nextDueAt } from '../base/cron.ts'
import { type Db, sql } from '../db/database.ts'
import { notify } from '../db/listener.ts'
import type { Metrics } from '../metrics/metrics.ts'

/** Recurring work: when it is due, and the job that does it. */
export interface Schedule {
  readonly name: string
  /** In UTC. */
  readonly cron: string
  readonly queue: string
  readonly payload: Readonly<Record<string, string>>
  /** The first due time, counted from the first start. */
  readonly firstAfterMs: number
}

/**
 * Writes the configured schedules into their table. A new schedule is due after `firstAfterMs`; one whose pattern has
 * changed, by the new pattern. All others keep their due time, which may have passed.
 */
export async function saveSchedules(
  db: Db,
  schedules: readonly Schedule[],
  { now, random }: { now: Date; random: () => number },
): Promise<void> {
  for (const { name, cron, firstAfterMs } of schedules) {
    const byPattern = nextDueAt(cron, now, random)
    await db
      .insertInto('schedule')
      .values({ name, cron, next_due_at: new Date(now.getTime() + firstAfterMs) })
      .onConflict((conflict) =>
        conflict
          .column('name')
          .doUpdateSet({ cron, next_due_at: byPattern })
          .where('schedule.cron', '<>', cron),
      )
      .execute()
  }
}

/** A schedule as its table holds it. */
export interface SavedSchedule {
  readonly name: string
  /** In UTC. */
  readonly cron: string
  readonly nextDueAt: Date
  /** The due time that was enqueued last; null before the first. */
  readonly lastDueAt: Date | null
}

/** All schedules, by name. */
export function listSchedules(db: Db): Promise<SavedSchedule[]> {
  return db
    .selectFrom('schedule')
    .select(['name', 'cron', 'next_due_at as nextDueAt', 'last_due_at as lastDueAt'])
    .orderBy('name')
    .execute()
}

/**
 * Makes a schedule due now; its later due times follow its pattern. Returns since when it is due, which is earlier than
 * now if it was due already; undefined if there is no such schedule. Safe to run twice: a due time makes one job.
 */
export async function makeScheduleDue(db: Db, name: string): Promise<Date | undefined> {
  const { rows } = await sql<{ dueAt: Date }>`
    with due as materialized (
      update schedule set next_due_at = least(next_due_at, clock_timestamp()) where name = ${name}
      returning next_due_at as "dueAt"
    )
    select "dueAt", ${notify('schedule')} from due
  `.execute(db)
  return rows[0]?.dueAt
}

/** In how many milliseconds the first schedule is due; undefined if there is none. */
export async function nextScheduleMs(db: Db): Promise<number | undefined> {
  const { ms } = await db
    .selectFrom('schedule')
    .select(
      sql<
        number | null
      >`(extract(epoch from min(next_due_at) - clock_timestamp()) * 1000)::float8`.as('ms'),
    )
    .executeTakeFirstOrThrow()
  return ms ?? undefined
}

/** Whether a later due time of a schedule has been enqueued. */
export async function hasLaterDueTime(db: Db, name: string, dueAt: Date): Promise<boolean> {
  const schedule = await db
    .selectFrom('schedule')
    .select('name')
    .where('name', '=', name)
    .where('last_due_at', '>', dueAt)
    .executeTakeFirst()
  return schedule !== undefined
}

/** Sets the gauges of the schedules from their table. */
export async function readScheduleGauges(db: Db, metrics: Metrics): Promise<void> {
  const schedules = await listSchedules(db)
  // A schedule that is no longer configured loses its gauge.
  metrics.scheduleDue.reset()
  for (const { name, nextDueAt: dueAt } of schedules) {
    metrics.scheduleDue.set({ schedule: name }, dueAt.getTime() / 1000)
  }
}
