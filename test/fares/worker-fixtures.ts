import { once } from 'node:events'
import type { ClaimRef } from '../../src/fares/beliefs.ts'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { type RunningCommand, startInTest } from '../support/child-process.ts'
import { until } from '../support/until.ts'

export interface WorkerArgs {
  readonly databaseUrl: string
  readonly upstreamUrl: string
  readonly settings?: Readonly<Record<string, string>>
}

/** A worker process that checks each fare once an hour, and fetches each list once. */
export function startWorker({ databaseUrl, upstreamUrl, settings }: WorkerArgs): RunningCommand {
  return startInTest(['worker'], {
    DATABASE_URL: databaseUrl,
    UPSTREAM_BASE_URL: upstreamUrl,
    UPSTREAM_REQUESTS_PER_SECOND: '50',
    MIN_INTERVAL_SECONDS: '3600',
    ROUTE_SYNC_SCHEDULE: '0 0 1 1 *',
    AVAILABILITY_SYNC_SCHEDULE: '0 0 1 1 *',
    ADMIN_PORT: '0',
    ...settings,
  })
}

/** Whether a session of the workers, or of their queue, has an open transaction or runs a statement. */
async function isAnyBusy(db: Db): Promise<boolean> {
  const { rows } = await sql`
    select from pg_stat_activity
     where datname = current_database() and state <> 'idle'
       and (application_name like 'farewatch worker%' or application_name = 'farewatch queue')
  `.execute(db)
  return rows.length > 0
}

/** Makes every fare due. It takes its locks in the order in which records take them. */
export async function makeDue(db: Db): Promise<void> {
  await sql`
    with locked as (select tracked_fare_id as id from fare_schedule order by id for update)
    update fare_schedule
       set leased_until = '-infinity',
           not_before = clock_timestamp(),
           lane_due_at = case when lane is not null then clock_timestamp() end
      from locked
     where tracked_fare_id = id
  `.execute(db)
}

/** Makes no fare due that is not claimed: it waits for the end of its minimum interval. */
export async function makeWait(db: Db): Promise<void> {
  await sql`
    update fare_schedule
       set not_before = clock_timestamp() + interval '1 day', interval_seconds = 2 * 86400, lane = null, lane_due_at = null
     where claim_id is null
  `.execute(db)
}

export async function openClaims(db: Db): Promise<string[]> {
  const { rows } = await sql<{ claimId: string }>`
    select distinct claim_id as "claimId" from fare_schedule where claim_id is not null
  `.execute(db)
  return rows.map((row) => row.claimId)
}

/** A claim as its job names it. It is given all fares: those that the claim does not hold are left out. */
export async function claimRef(db: Db, claimId: string): Promise<ClaimRef> {
  const { rows } = await sql<{ id: number }>`select id from tracked_fare`.execute(db)
  return { claimId, fareIds: rows.map(({ id }) => id) }
}

export async function countedChecks(db: Db): Promise<number> {
  const { rows } = await sql<{ checks: number }>`
    select coalesce(sum(checks), 0)::bigint as checks from fare_state
  `.execute(db)
  return rows[0]?.checks ?? 0
}

/** Stops a process while it holds no lock and no open transaction: others then wait for its claims alone. */
export async function stopQuietly(db: Db, worker: RunningCommand): Promise<void> {
  await until('a moment without transactions', async () => {
    worker.child.kill('SIGSTOP')
    if (!(await isAnyBusy(db))) return true
    worker.child.kill('SIGCONT')
    return false
  })
}

/** The address of a worker's metrics, from its log. */
export async function readMetrics(worker: RunningCommand): Promise<string> {
  const address = /"metrics":"([^"]+)"/.exec(worker.stdout())?.[1]
  if (address === undefined) throw new Error('the worker has not logged that it is ready')
  return (await fetch(address)).text()
}

export async function untilReady(worker: RunningCommand): Promise<void> {
  while (!worker.stdout().includes('"msg":"ready"')) {
    if (worker.child.stdout === null || worker.child.exitCode !== null) {
      throw new Error(`the worker ended: ${worker.stderr()}`)
    }
    await once(worker.child.stdout, 'data')
  }
}

/** Whether the process exports the gauges of the whole system, by one of them. */
export async function exportsSystem(worker: RunningCommand): Promise<boolean> {
  return /^farewatch_routes_live /m.test(await readMetrics(worker))
}
