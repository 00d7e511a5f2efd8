import { randomUUID } from 'node:crypto'
import os from 'node:os'
import packageJson from '../../package.json' with { type: 'json' }
import type { KnownProcess } from '../health/status-shapes.ts'
import { type Clock, endsWithin, withTimeout } from '../platform/base/clock.ts'
import { WORK_ROLES, type WorkRole } from '../platform/base/kinds.ts'
import { isRunning } from '../platform/base/running-pid.ts'
import { type Db, sql } from '../platform/db/database.ts'
import { PROGRESS_MS } from '../platform/db/live-processes.ts'
import { databaseSkewMs, selectOne } from '../platform/db/transaction.ts'
import type { Metrics } from '../platform/metrics/metrics.ts'
import type { App } from './app.ts'

const REFRESH_MS = 20_000
const CLOSE_MS = 800
/** A round trip that takes longer says too little about a clock. */
const CLOCK_WITHIN_MS = 1_000

/**
 * The order is by start. A process that did not stop in order is listed for a day, or until its host starts
 * another one.
 */
export async function listProcesses(db: Db): Promise<KnownProcess[]> {
  return db
    .selectFrom('process')
    .select(['role', 'version', 'host', 'pid'])
    .select(['started_at as startedAt', 'last_progress_at as lastProgressAt'])
    .select('clock_ahead_seconds as clockAheadSeconds')
    .orderBy('started_at')
    .orderBy('id')
    .execute()
}

/** How many processes make progress that do each part of the work. */
async function countByRole(db: Db): Promise<Record<WorkRole, number>> {
  return selectOne(
    sql<Record<WorkRole, number>>`
      select ${sql.join(
        WORK_ROLES.map(
          (role) =>
            sql`count(*) filter (where string_to_array(role, '+') && array['worker', ${role}]) as ${sql.ref(role)}`,
        ),
      )}
        from process
       where last_progress_at > clock_timestamp() - ${PROGRESS_MS}::int * interval '1 millisecond'
    `,
    db,
  )
}

/** How many processes make progress that check fares; at least one. */
export async function countCheckers(db: Db): Promise<number> {
  return Math.max(1, (await countByRole(db)).check)
}

/** Sets the gauge of the processes from their table. */
export async function readProcessGauges(db: Db, metrics: Metrics): Promise<void> {
  const counts = await countByRole(db)
  for (const role of WORK_ROLES) metrics.processes.set({ role }, counts[role])
}

interface Announced {
  readonly role: string
  readonly fault: () => string | null
  /** Called after each refresh. */
  readonly onRefresh?: () => Promise<void>
}

/**
 * Lists this process and its clock for the others until it is closed: its row is refreshed while `fault` is null. What
 * it took from the budget is written at the same time. A failed write is left to the next one, because other checks
 * report a database that is down.
 */
export function announceProcess(
  { database: { db }, clock, calls }: Pick<App, 'database' | 'clock'> & Partial<Pick<App, 'calls'>>,
  { role, fault, onRefresh }: Announced,
): { close(): Promise<void> } {
  const id = randomUUID()
  const ending = new AbortController()
  const own = { id, role, version: packageJson.version, host: os.hostname(), pid: process.pid }
  const refreshing = (async () => {
    while (!ending.signal.aborted) {
      await deleteGone(db, own).catch(() => undefined)
      if (fault() === null) await writeProgress(db, own, clock).catch(() => undefined)
      await calls?.flush(db).catch(() => undefined)
      await onRefresh?.().catch(() => undefined)
      await clock.sleep(REFRESH_MS, ending.signal).catch(() => undefined)
    }
  })()
  const stop = () => refreshing.then(() => db.deleteFrom('process').where('id', '=', id).execute())
  return {
    async close() {
      ending.abort()
      await endsWithin(stop(), CLOSE_MS)
    },
  }
}

type OwnRow = Pick<KnownProcess, 'role' | 'version' | 'host' | 'pid'> & { readonly id: string }

async function writeProgress(db: Db, own: OwnRow, clock: Clock): Promise<void> {
  await db
    .insertInto('process')
    .values({ ...own, clock_ahead_seconds: await readClockAhead(db, clock) })
    .onConflict((known) =>
      known.column('id').doUpdateSet({
        last_progress_at: sql<Date>`clock_timestamp()`,
        clock_ahead_seconds: sql`coalesce(excluded.clock_ahead_seconds, process.clock_ahead_seconds)`,
      }),
    )
    .execute()
}

/** Null if the database answers too slowly to compare with its clock. */
async function readClockAhead(db: Db, clock: Clock): Promise<number | null> {
  const skewMs = await withTimeout(databaseSkewMs(db, clock), CLOCK_WITHIN_MS).catch(() => null)
  return skewMs === null ? null : -skewMs / 1_000
}

/** Deletes processes that ended without a trace: after a day, or when their host has started the same role again. */
async function deleteGone(db: Db, { id, host, role, pid: own }: OwnRow): Promise<void> {
  const known = await db.selectFrom('process').select('pid').where('host', '=', host).execute()
  // A container that starts again has the same pids. Another process that hangs has one that runs.
  const gone = known.map(({ pid }) => pid).filter((pid) => pid === own || !isRunning(pid))
  await sql`
    delete from process
     where last_progress_at < clock_timestamp() - interval '1 day'
        or (host, role) = (${host}, ${role}) and pid = any(${gone}::int[]) and id <> ${id}
           and last_progress_at < clock_timestamp() - ${PROGRESS_MS}::int * interval '1 millisecond'
  `.execute(db)
}
