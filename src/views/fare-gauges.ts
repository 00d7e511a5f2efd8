import { readIncidentStates } from '../fares/incidents.ts'
import { MASS_KINDS } from '../platform/base/change-kinds.ts'
import { BELIEF_STATES, CHECK_LANES, type CheckLane } from '../platform/base/kinds.ts'
import { type Db, sql } from '../platform/db/database.ts'
import { selectOne } from '../platform/db/transaction.ts'
import type { Metrics } from '../platform/metrics/metrics.ts'
import { presentRate, readBudgetLimit } from '../upstream/budget/budget-limit.ts'
import { findUnkeptMaxDelays } from '../watches/max-delays.ts'
import { CHANGE_WAITS, readDetectionDelays, readWaitingChanges } from './detection-delays.ts'
import { countOf, presentOf, SAMPLE } from './fare-sample.ts'

/** The shares of the fares with a belief whose age is exported: the median, nearly all, all. */
const SHARES = [0.5, 0.95, 1]

/** Sets the gauges of tracked fares and incidents from the database. */
export async function readFareGauges(db: Db, metrics: Metrics): Promise<void> {
  const counts = await countBeliefs(db)
  for (const state of [...BELIEF_STATES, 'hidden']) {
    const found = counts.find((row) => row.state === state)
    metrics.trackedFares.set({ state }, found?.count ?? 0)
    metrics.beliefsStale.set({ state }, found?.stale ?? 0)
  }
  const goodSince = await readGoodSince(db)
  for (const [i, share] of SHARES.entries()) {
    metrics.beliefsGoodSince.set({ share: String(share) }, goodSince[i] ?? 0)
  }
  await setDelayGauge(db, metrics)
  const waits = await readWaitingChanges(db)
  for (const wait of CHANGE_WAITS) {
    const found = waits.find((row) => row.wait === wait)
    metrics.changesWaiting.set({ wait }, found?.fares ?? 0)
    metrics.changesOldestWaiting.set({ wait }, (found?.since.getTime() ?? 0) / 1000)
  }
  metrics.maxDelaysUnkept.set((await findUnkeptMaxDelays(db)).length)
  const { open } = await readIncidentStates(db)
  for (const kind of MASS_KINDS)
    metrics.incidentsOpen.set({ kind }, open.some((one) => one.kind === kind) ? 1 : 0)
}

async function setDelayGauge(db: Db, { detectionDelay }: Metrics): Promise<void> {
  const delays = await readDetectionDelays(db)
  detectionDelay.reset()
  for (const { priority, midpointSeconds, atMostSeconds } of delays) {
    const bounds = { midpoint: midpointSeconds, at_most: atMostSeconds }
    for (const [bound, { p50, p95 }] of Object.entries(bounds)) {
      detectionDelay.set({ priority, bound, share: '0.5' }, p50)
      detectionDelay.set({ priority, bound, share: '0.95' }, p95)
    }
  }
}

const PRESENT = presentOf(sql`q.tracked_fare_id`)

/** Counts the fares that are checked by what is believed of them. Stale is defined by the public SQL. */
async function countBeliefs(db: Db) {
  const { rows } = await sql<{ state: string; count: number; stale: number }>`
    select case when a.hidden is not null and a.pair <> 'unknown' then 'hidden' else a.pair end as state,
           ${countOf()} as count, ${countOf(sql`a.stale`)} as stale
      from ${SAMPLE}
     cross join ${PRESENT} a
     group by 1
  `.execute(db)
  return rows
}

/**
 * Reads, for each share of the fares with a belief, the instant since which they all had a good check, in seconds since
 * 1970. Hidden beliefs count as all others do. Fares without a belief are left out: a flight id that the upstream does
 * not know never has a good check.
 */
async function readGoodSince(db: Db): Promise<readonly number[]> {
  const olderShares = SHARES.map((share) => 1 - share)
  const { since } = await selectOne(
    sql<{ since: number[] | null }>`
      select percentile_disc(${olderShares}::float8[]) within group (order by good_at) as since
        from (select extract(epoch from coalesce(a.last_good_check_at, a.created_at))::float8 as good_at
                from ${SAMPLE}
               cross join ${PRESENT} a
               where a.pair <> 'unknown') b
    `,
    db,
  )
  return since ?? []
}

/** Sets the gauges of the schedule from the database. */
export async function readCheckGauges(
  db: Db,
  metrics: Metrics,
  requestsPerSecond: number,
): Promise<void> {
  metrics.budgetRate.set(requestsPerSecond)
  const limit = await readBudgetLimit(db)
  metrics.budgetLimit.remove()
  if (limit !== undefined) metrics.budgetLimit.set(limit.requestsPerSecond)
  const due = await countDue(db)
  for (const lane of CHECK_LANES) {
    const found = due.find((row) => row.lane === lane)
    metrics.checksDue.set({ lane }, found?.due ?? 0)
    metrics.checksOldestDue.set({ lane }, found?.oldest ?? 0)
  }
  metrics.expectedInterval.set((await countFares(db)) / presentRate(requestsPerSecond, limit))
}

async function countFares(db: Db): Promise<number> {
  const { fares } = await selectOne(
    sql<{ fares: number }>`select ${countOf()} as fares from ${SAMPLE}`,
    db,
  )
  return fares
}

/**
 * A claimed fare is due, and counted, when its lease ends. One that is urgent later may have its turn before that. Indexes
 * show the urgent ones, and the one that waits longest. `oldest`: in seconds since 1970.
 */
async function countDue(db: Db) {
  const isUrgent = sql`q.lane_due_at <= now.at and q.leased_until <= now.at`
  const inTurn = sql`
    q.not_before <= now.at and q.leased_until <= now.at and (q.lane_due_at <= now.at) is not true
  `
  const { rows } = await sql<{ lane: CheckLane; due: number; oldest: number }>`
    with now as materialized (select clock_timestamp() as at)
    select q.lane, count(*) as due, extract(epoch from min(greatest(q.lane_due_at, q.leased_until)))::float8 as oldest
      from now
      join fare_schedule q on q.lane is not null and ${isUrgent}
     group by q.lane
     union all
    select 'scheduled', s.due, extract(epoch from greatest(o.not_before, o.leased_until))::float8
      from (select ${countOf(inTurn)} as due from now, ${SAMPLE}) s
     cross join lateral (
           select q.not_before, q.leased_until
             from now, fare_schedule q
            where ${inTurn}
            order by q.not_before
            limit 1) o
  `.execute(db)
  return rows
}
