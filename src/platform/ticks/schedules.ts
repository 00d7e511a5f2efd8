import { nextDueAt } from '../base/cron.ts'
import { type Db, type RawBuilder, sql } from '../db/database.ts'
import { notify } from '../db/listener.ts'
import { inTransaction } from '../db/transaction.ts'
import type { Metrics } from '../metrics/metrics.ts'
import type { NewJob, QueueSystem } from '../queue/queue-system.ts'
import { afterPause } from './pauses.ts'

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

/** In how many milliseconds the first schedule is due, or a pause of the syncs ends; undefined if there is none. */
export async function nextScheduleMs(db: Db): Promise<number | undefined> {
  const { ms } = await db
    .selectFrom('schedule')
    .select(
      sql<
        number | null
      >`(extract(epoch from ${afterPause('syncs', sql`min(next_due_at)`)} - clock_timestamp()) * 1000)::float8`.as(
        'ms',
      ),
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
 * first one waits. The payload contains it too, so that the job can check whether its work is done. Of several
 * missed due times only the first is made up.
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
