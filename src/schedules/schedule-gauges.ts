import { type Db, sql } from '../db/database.ts'
import type { Metrics } from '../metrics/metrics.ts'

/** Sets the gauges of the schedules from their table. */
export async function readScheduleGauges(db: Db, metrics: Metrics): Promise<void> {
  const { rows } = await sql<{ name: string; dueAt: Date }>`
    select name, next_due_at as "dueAt" from schedule
  `.execute(db)
  // One that is configured no more is shown no more.
  metrics.scheduleDue.reset()
  for (const { name, dueAt } of rows) {
    metrics.scheduleDue.set({ schedule: name }, dueAt.getTime() / 1000)
  }
}
