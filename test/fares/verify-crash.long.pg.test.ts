import { describe, expect, onTestFinished } from 'vitest'
import { verifyFaresJob } from '../../src/fares/check.ts'
import { systemClock } from '../../src/platform/base/clock.ts'
import { createSemaphore } from '../../src/platform/base/semaphore.ts'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { createMetrics } from '../../src/platform/metrics/metrics.ts'
import { brokenFeeds } from '../chaos/records.ts'
import { silentLog } from '../support/silent-log.ts'
import { it } from '../support/test-database.ts'
import { until } from '../support/until.ts'
import { cells, resellerWith } from '../watches/watch-fixtures.ts'
import { gone, RULES, record } from './fare-fixtures.ts'
import { startVerifyServer, type VerifyServer } from './verify-server.ts'
import {
  blockTable,
  claimRef,
  countedChecks,
  endLeases,
  killWorker,
  makeDue,
  openClaims,
  startWorker,
  workerSessions,
} from './worker-fixtures.ts'

const FLIGHTS = ['101', '102', '103', '104', '105', '106']
/** The flights that the upstream has; all others are unavailable. */
const SOLD = ['105', '106']
/** One answer has shown these as unavailable: one more confirms it. */
const LOST_ONCE = ['103', '104']
/** The fares after one more answer each. The two watches of each start with its first good check, and show the change. */
const LOST = { pair: 'not_bookable', contradictions: '0', checks: 2, kinds: ['first_seen'] }
const FOUND = { pair: 'bookable', contradictions: '0', checks: 1, kinds: ['first_seen'] }
const PENDING = { pair: 'unknown', contradictions: '1', checks: 1, kinds: [] }
const EXPECTED = [
  { flightId: '101', ...PENDING, changesSent: 0, startsSent: 0 },
  { flightId: '102', ...PENDING, changesSent: 0, startsSent: 0 },
  { flightId: '103', ...LOST, changesSent: 0, startsSent: 2 },
  { flightId: '104', ...LOST, changesSent: 0, startsSent: 2 },
  { flightId: '105', ...FOUND, changesSent: 0, startsSent: 2 },
  { flightId: '106', ...FOUND, changesSent: 0, startsSent: 2 },
]
const CHECKS_BEFORE = LOST_ONCE.length
const CHECKS_AFTER = CHECKS_BEFORE + FLIGHTS.length
const HALF = ['102', '104', '106']

interface Fixture {
  readonly db: Db
  readonly databaseUrl: string
  readonly upstream: VerifyServer
}

/** Two resellers watch all fares. Some have been checked. All are due. */
async function prepareFares({ db }: Fixture): Promise<void> {
  const rows = FLIGHTS.map((id) => cells({ reference: `R${id}`, flight_id: id }))
  await resellerWith(db, rows, 'ana')
  await resellerWith(db, rows, 'ben')
  const { rows: lostOnce } = await sql<{ id: number }>`
    select id from tracked_fare where flight_id = any(${LOST_ONCE}::text[])
  `.execute(db)
  await sql`update watch set began_at = began_at - interval '2 minutes'`.execute(db)
  for (const { id } of lostOnce) await record(db, id, new Date(Date.now() - 60_000), gone)
  await makeDue(db)
}

/** Everything that checks have written, at one moment. */
async function readFares(db: Db): Promise<unknown[]> {
  const { rows } = await sql`
    select f.flight_id as "flightId", s.pair, coalesce(s.state #>> '{candidate,answers}', '0') as contradictions, s.checks,
           coalesce((select jsonb_agg(c.kind order by c.seq) from availability_change c
                      where c.tracked_fare_id = f.id), '[]') as kinds,
           (select count(*) from watch_change w join availability_change c on c.id = w.change_id
             where c.tracked_fare_id = f.id) as "changesSent",
           (select count(*) from watch_change w join watch_event e on e.id = w.watch_event_id
             where e.tracked_fare_id = f.id and e.kind = 'watch_started') as "startsSent"
      from tracked_fare f
      join fare_state s on s.tracked_fare_id = f.id
     order by f.flight_id
  `.execute(db)
  return rows
}

interface CrashPoint {
  readonly point: string
  /** Blocks the worker at this point; the returned functions unblock it. */
  readonly block: (fixture: Fixture) => Promise<(() => Promise<void> | void)[]>
  /** Resolves when the worker has reached the point. */
  readonly reach: (fixture: Fixture, release: (() => Promise<void> | void)[]) => Promise<unknown>
  /** How many checks may have been counted by then. */
  readonly counted: { readonly least: number; readonly most: number }
}

function held(flights: readonly string[]): CrashPoint['block'] {
  return async ({ upstream }) => {
    upstream.hold(flights)
    return [() => upstream.release()]
  }
}

const NONE = { least: CHECKS_BEFORE, most: CHECKS_BEFORE }
const POINTS: readonly CrashPoint[] = [
  {
    point: 'after the claim, before any answer',
    block: held(FLIGHTS),
    reach: ({ db }) => until('a claim', async () => (await openClaims(db)).length > 0),
    counted: NONE,
  },
  {
    point: 'in the middle of a batch',
    block: held(HALF),
    reach: ({ upstream }) => until('half of the answers', () => upstream.answered.length === 3),
    counted: { least: CHECKS_BEFORE, most: CHECKS_BEFORE + 3 },
  },
  {
    point: 'when half of a batch is recorded',
    block: held(HALF),
    reach: ({ db }) =>
      until('half of the records', async () => (await countedChecks(db)) === CHECKS_BEFORE + 3),
    counted: { least: CHECKS_BEFORE + 3, most: CHECKS_BEFORE + 3 },
  },
  {
    point: 'in the middle of the recording',
    block: async ({ databaseUrl }) => [
      await blockTable(databaseUrl, 'farewatch_private.availability_change'),
    ],
    reach: ({ db }) => untilWaiting(db, 'availability_change'),
    counted: NONE,
  },
  {
    point: 'after the commit, before the job ends',
    block: async ({ databaseUrl }) => [
      await blockTable(databaseUrl, 'farewatch_private.availability_change'),
    ],
    reach: async ({ db, databaseUrl }, release) => {
      await untilWaiting(db, 'availability_change')
      // From here on the queue cannot record that the job has ended.
      const letQueueGo = await blockTable(databaseUrl, 'farewatch_queue.job')
      await release.pop()?.()
      release.push(letQueueGo)
      await until('the commit', async () => (await countedChecks(db)) > CHECKS_BEFORE)
    },
    counted: { least: CHECKS_BEFORE + 1, most: CHECKS_AFTER },
  },
]

async function untilWaiting(db: Db, table: string): Promise<void> {
  await until(`a worker that waits for ${table}`, async () =>
    (await workerSessions(db)).some((s) => s.waits && s.statement.includes(table)),
  )
}

async function recordedClaims(db: Db): Promise<string[]> {
  const { rows } = await sql<{ claimId: string }>`
    select distinct provenance ->> 'claimId' as "claimId" from availability_change
     where provenance ->> 'claimId' is not null
  `.execute(db)
  return rows.map((row) => row.claimId)
}

/** Runs the jobs of these claims again, as a queue does that has not recorded their end. */
async function repeatJobs(db: Db, claims: readonly string[]): Promise<void> {
  const never = new AbortController().signal
  const deps = {
    db,
    clock: systemClock,
    rules: RULES,
    metrics: createMetrics(),
    log: silentLog,
    recording: createSemaphore(1),
    upstream: { verifyFares: () => Promise.reject(new Error('called again')) },
  }
  for (const claimId of claims) {
    await verifyFaresJob(deps, await claimRef(db, claimId), never)
  }
}

describe('a worker that is killed', () => {
  it.for(POINTS)(
    'a worker that is killed $point loses no check, and counts none twice',
    { timeout: 60_000 },
    async (crash, { db, databaseUrl }) => {
      const upstream = await startVerifyServer()
      onTestFinished(() => upstream.close())
      upstream.sell(SOLD)
      const fixture = { db, databaseUrl, upstream }
      await prepareFares(fixture)

      const release = await crash.block(fixture)
      const worker = startWorker({ databaseUrl, upstreamUrl: upstream.url })
      await crash.reach(fixture, release)
      const claims = [...(await openClaims(db)), ...(await recordedClaims(db))]
      expect(claims.length).toBeGreaterThan(0)
      await killWorker(db, worker)
      for (const letGo of release) await letGo()
      const counted = await countedChecks(db)
      expect(counted).toBeGreaterThanOrEqual(crash.counted.least)
      expect(counted).toBeLessThanOrEqual(crash.counted.most)

      await endLeases(db)
      startWorker({ databaseUrl, upstreamUrl: upstream.url })
      await until('every fare checked', async () => {
        return (await countedChecks(db)) >= CHECKS_AFTER && (await openClaims(db)).length === 0
      })

      expect(await readFares(db)).toEqual(EXPECTED)
      await repeatJobs(db, claims)
      expect(await readFares(db)).toEqual(EXPECTED)
      expect(await brokenFeeds(db)).toEqual([])
    },
  )
})
