import { setTimeout as delay } from 'node:timers/promises'
import { onTestFinished } from 'vitest'
import type { FaultRule } from '../../sandbox/faults/fault-rule.ts'
import type { LoggedRequest } from '../../sandbox/operations/request-log.ts'
import { type Sandbox, startSandbox } from '../../sandbox/sandbox-server.ts'
import { systemClock } from '../../src/platform/base/clock.ts'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { selectOne } from '../../src/platform/db/transaction.ts'
import { createQueueSystem } from '../../src/platform/queue/queue-system.ts'
import { readClosedSeconds } from '../../src/schedule/claim.ts'
import { makeWait } from '../fares/worker-fixtures.ts'
import { listFacts } from '../faults/list-facts.ts'
import { searchDemoFlights } from '../sandbox/changing-flights.ts'
import { type RunningCommand, startInTest } from '../support/child-process.ts'
import { silentLog } from '../support/silent-log.ts'
import { until } from '../support/until.ts'
import { cells, resellerWith } from '../watches/watch-fixtures.ts'
import { readSandboxLog } from './outage-log.ts'

export interface OutageArgs {
  readonly db: Db
  readonly databaseUrl: string
  readonly seconds: number
  readonly questions: number
  readonly requestsPerSecond: number
}

export interface OutageRun {
  readonly beganMs: number
  readonly endedMs: number
  /** When every fare was checked again. */
  readonly checkedMs: number
  readonly requests: readonly LoggedRequest[]
  /** Beliefs and records before the outage, at its end and after the recovery. An outage must not change them. */
  readonly facts: readonly [unknown, unknown, unknown]
  readonly workerLogs: readonly string[]
  readonly exits: readonly (number | string)[]
}

const TOKEN = 'outage-access-token'
const RETURN_EVERY = 5
/** Covers the longest wait for a probe and a check of every fare at a tenth of the rate. */
const BACK_WITHIN_MS = 240_000
const RAMP_SECONDS = 60

/** A third of the calls each gets status 503, no answer, or a reset connection. */
const OUTAGE: readonly FaultRule[] = [
  { name: 'status', code: 503, probability: 1 / 3 },
  { name: 'hang', probability: 1 / 2 },
  { name: 'reset' },
]

/** Runs two real workers at full load against a sandbox whose fares do not change, and makes its upstream fail for a while. */
export async function runOutage(args: OutageArgs): Promise<OutageRun> {
  const { db, seconds } = args
  const options = { port: 0, seed: 7, speed: 0, token: TOKEN, clock: systemClock, log: silentLog }
  const sandbox = await startSandbox(options)
  onTestFinished(() => sandbox.close())
  await importWatches(args, sandbox)
  const workers = [startWorker(args, sandbox), startWorker(args, sandbox)]
  await until('all fares and lists known', () => isAllKnown(db), BACK_WITHIN_MS)
  await delay(FULL_LOAD_MS)
  const before = await steadyFacts(db)

  const beganMs = Date.now()
  sandbox.setFaults(OUTAGE)
  await delay(seconds * 1000)
  const atEnd = await steadyFacts(db)
  const endedMs = Date.now()
  sandbox.setFaults([])

  await until('all fares checked again', () => isAllChecked(db, endedMs), BACK_WITHIN_MS)
  const checkedMs = Date.now()
  await until('the full rate', () => isRampOver(db), BACK_WITHIN_MS)
  await until('both lists again', () => hasLists(db, endedMs), BACK_WITHIN_MS)
  await delay(FULL_LOAD_MS)
  const after = await steadyFacts(db)
  await drain(db)
  for (const worker of workers) worker.child.kill('SIGTERM')
  return {
    beganMs,
    endedMs,
    checkedMs,
    requests: await readSandboxLog(sandbox.url),
    facts: [before, atEnd, after],
    exits: await Promise.all(workers.map(({ ended }) => ended)),
    workerLogs: workers.map((worker) => worker.stdout()),
  }
}

/** How long the workers run at full load before the outage and after the recovery. */
export const FULL_LOAD_MS = 10_000

async function importWatches({ db, questions }: OutageArgs, sandbox: Sandbox): Promise<void> {
  const flights = searchDemoFlights(sandbox.world, sandbox.now(), 2 * questions)
  const rows = flights.slice(0, questions).map((id, i) =>
    cells({
      reference: `w${i}`,
      flight_id: id,
      ...(i % RETURN_EVERY === 0 ? { return_flight_id: flights[questions + i] ?? '' } : {}),
    }),
  )
  await resellerWith(db, rows, 'ana')
}

function startWorker(
  { databaseUrl, requestsPerSecond }: OutageArgs,
  sandbox: Sandbox,
): RunningCommand {
  return startInTest(['worker'], {
    DATABASE_URL: databaseUrl,
    UPSTREAM_BASE_URL: sandbox.url,
    UPSTREAM_ACCESS_TOKEN: TOKEN,
    UPSTREAM_REQUESTS_PER_SECOND: String(requestsPerSecond),
    MIN_INTERVAL_SECONDS: '1',
    ROUTE_SYNC_SCHEDULE: '* * * * *',
    AVAILABILITY_SYNC_SCHEDULE: '* * * * *',
    ADMIN_PORT: '0',
  })
}

async function isAllKnown(db: Db): Promise<boolean> {
  const { fares, lists } = await selectOne(
    sql<{ fares: boolean; lists: number }>`
      select (select count(*) from fare_state where pair <> 'unknown') = (select count(*) from tracked_fare) as fares,
             (select count(distinct list) from sync_run where status = 'applied') as lists
    `,
    db,
  )
  return fares && lists === 2
}

async function isAllChecked(db: Db, sinceMs: number): Promise<boolean> {
  const { all } = await selectOne(
    sql<{ all: boolean }>`
      select bool_and(last_good_check_at > ${new Date(sinceMs)}) as all from fare_state
    `,
    db,
  )
  return all
}

async function isRampOver(db: Db): Promise<boolean> {
  const closedSecondsAgo = await readClosedSeconds(db)
  return closedSecondsAgo !== null && closedSecondsAgo > RAMP_SECONDS
}

async function hasLists(db: Db, sinceMs: number): Promise<boolean> {
  const { lists } = await selectOne(
    sql<{ lists: number }>`
      select count(distinct list) as lists from sync_run
       where status in ('applied', 'unchanged') and started_at > ${new Date(sinceMs)}
    `,
    db,
  )
  return lists === 2
}

/** Hashes and counts of all beliefs and records. They stay the same while the fares of the sandbox do not change. */
async function steadyFacts(db: Db): Promise<unknown> {
  const fares = await selectOne(
    sql`
      select md5((select string_agg(concat_ws('|', tracked_fare_id, outbound, return, pair, price, currency), ','
                                    order by tracked_fare_id) from fare_state)) as beliefs,
             md5((select string_agg(v::text, ',' order by tracked_fare_id, valid_from) from fare_belief_version v)) as history,
             (select count(*) from availability_change) as changes,
             (select count(*) from watch_change) as feed_records
    `,
    db,
  )
  return { fares, lists: await listFacts(db) }
}

/** Makes no fare due any more, so that no new claim is made, and waits until no claim is open. */
async function drain(db: Db): Promise<void> {
  await until(
    'no open claims',
    async () => {
      await makeWait(db)
      const { open } = await selectOne(
        sql<{
          open: number
        }>`select count(*) as open from fare_schedule where claim_id is not null`,
        db,
      )
      return open === 0
    },
    BACK_WITHIN_MS,
  )
}

/** How many jobs ran out of attempts, by queue. */
export async function deadJobs(databaseUrl: string): Promise<Record<string, number>> {
  const connection = { kind: 'postgres', url: databaseUrl } as const
  const queue = createQueueSystem({ connection, log: silentLog, scrub: (text) => text })
  try {
    const found = await Promise.all(
      ['verify', 'route-sync'].map(
        async (name) => [name, (await queue.counts(name)).failed] as const,
      ),
    )
    return Object.fromEntries(found)
  } finally {
    await queue.close({ graceMs: 1_000 })
  }
}
