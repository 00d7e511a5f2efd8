import {
  addOperatorEvents,
  listOperatorEndpoints,
  type OperatorEndpoint,
} from '../delivery/endpoints/operator-events.ts'
import { type Db, sql } from '../platform/db/database.ts'
import { inTransaction, selectOne } from '../platform/db/transaction.ts'
import type { StatusWarning } from './status-shapes.ts'
import {
  type Advanced,
  advanceWarnings,
  mergeTracked,
  type TrackedWarning,
} from './warning-events.ts'

/** What processes share of the reports to operators. */
export interface SharedReport {
  readonly now: Date
  readonly tracked: readonly TrackedWarning[]
  readonly endpoints: readonly OperatorEndpoint[]
}

/** Read it before the status: its warnings are then those of `now` or later. */
export async function readSharedReport(db: Db): Promise<SharedReport> {
  const { now, tracked } = await selectOne(
    sql<Omit<SharedReport, 'endpoints'>>`
      select clock_timestamp() as now, warnings as tracked from warning_report
    `,
    db,
  )
  return { now, tracked, endpoints: await listOperatorEndpoints(db) }
}

/** What a process has reported while the database took no writes. */
export interface UnsavedReport {
  readonly at: Date
  readonly tracked: readonly TrackedWarning[]
}

interface RecordArgs {
  readonly now: Date
  readonly warnings: readonly StatusWarning[]
  readonly unsaved: UnsavedReport | undefined
  /** Whether a process makes deliveries. If none does, the caller sends the events. */
  readonly delivers: boolean
}

/** A later reading is at most this far ahead. Else the clock was set back. */
const AHEAD_MS = 300_000

/**
 * Saves a reading and adds the events that follow from it to the deliveries, in one transaction: several processes report
 * once, and a restart reports nothing again. There are no events if another process has saved a later reading.
 */
export async function recordWarnings(
  db: Db,
  { now, warnings, unsaved, delivers }: RecordArgs,
): Promise<Advanced> {
  return inTransaction(db, async (tx) => {
    const saved = await selectOne(
      sql<{ at: Date; tracked: readonly TrackedWarning[] }>`
        select read_at as at, warnings as tracked from warning_report for update
      `,
      tx,
    )
    const aheadMs = saved.at.getTime() - now.getTime()
    if (aheadMs > 0 && aheadMs < AHEAD_MS) return { tracked: saved.tracked, events: [] }
    const advanced = advanceWarnings(mergeTracked(saved, unsaved), warnings, now.getTime())
    await sql`
      update warning_report set read_at = ${now}, warnings = ${JSON.stringify(advanced.tracked)}::jsonb
    `.execute(tx)
    if (delivers) await addOperatorEvents(tx, advanced.events, now)
    return advanced
  })
}
