import { nextDueAt } from '../base/cron.ts'
import { type Db, sql } from '../db/database.ts'
import type { Schedule } from './schedule.ts'

/**
 * Brings the configured schedules into their table. One that is new is due soon; one whose pattern has changed
 * is due by the new pattern; of all others the table knows better than we do what is owed.
 */
export async function saveSchedules(
  db: Db,
  schedules: readonly Schedule[],
  { now, random }: { now: Date; random: () => number },
): Promise<void> {
  for (const { name, cron, firstAfterMs } of schedules) {
    const byPattern = nextDueAt(cron, now, random)
    const first = new Date(now.getTime() + firstAfterMs)
    await sql`
      insert into schedule as s (name, cron, next_due_at)
      values (${name}, ${cron}, ${first})
          on conflict (name) do update
         set cron = excluded.cron, next_due_at = ${byPattern}
       where s.cron <> excluded.cron
    `.execute(db)
  }
}
