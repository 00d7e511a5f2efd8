import type { RouteListName } from '../../platform/base/kinds.ts'
import { type RawBuilder, sql, type Tx } from '../../platform/db/database.ts'
import { databaseNow, openScratchTransaction } from '../../platform/db/transaction.ts'
import type { Place } from '../../upstream/route-list.ts'
import { countConfirmed, LIVE } from '../absences.ts'
import {
  type Forecast,
  type PlanArgs,
  planSnapshot,
  type SnapshotPlan,
  type SyncDeps,
} from '../diff.ts'
import { suspicionOf } from '../guard.ts'
import { findHeldRun, judgeSnapshot } from '../held.ts'
import { fetchList, listOfRun } from '../list.ts'
import { countConfirmedPlaces } from '../places.ts'
import { createStopwatch, findLastAccepted, type SyncReason } from '../runs.ts'

export type ReviewDeps = Pick<SyncDeps, 'db' | 'scrub' | 'guard' | 'onProgress'>

/** What an operator needs to know to decide about a held run. */
export type Review = Awaited<ReturnType<typeof reviewRun>>

/** What a list of this age lacks, the network has lost in the meantime. */
const OLD_MS = 7 * 86_400_000

/** Reports why a run is held and what approving it would do now. Throws the errors of `approveRun`. */
export async function reviewRun(deps: ReviewDeps, runId: number) {
  const run = await findHeldRun(deps.db, runId)
  const { list, arrivedAt, reason } = run
  const { arrivedAt: lastAcceptedAt = null } = (await findLastAccepted(deps.db, list)) ?? {}
  const apartMs = (arrivedAt?.getTime() ?? 0) - (lastAcceptedAt?.getTime() ?? Infinity)
  return {
    run,
    lastAcceptedAt,
    isLikelyReal: apartMs > OLD_MS && reason?.code !== 'empty',
    plan: await reportPlan(deps, { list, fetched: listOfRun(run), arrivedAt, confirmations: 1 }),
  }
}

type ReportArgs = Pick<PlanArgs, 'list' | 'fetched' | 'arrivedAt' | 'confirmations'>

/** Reports what applying a list would do now; writes nothing. */
function reportPlan(deps: ReviewDeps, args: ReportArgs): Promise<PlanReport> {
  return withPlan(deps, args, (tx, plan) => readReport(tx, deps, args, plan))
}

/** Plans a list in a transaction that is rolled back. */
export async function withPlan<T>(
  deps: Pick<ReviewDeps, 'db' | 'scrub' | 'onProgress'>,
  args: ReportArgs,
  work: (tx: Tx, plan: SnapshotPlan) => Promise<T>,
): Promise<T> {
  await args.fetched.chunks(deps.db)
  const tx = await openScratchTransaction(deps.db)
  try {
    await sql`set local statement_timeout = '15min'`.execute(tx)
    const previous = await findLastAccepted(tx, args.list)
    const stopwatch = createStopwatch()
    const plan = await planSnapshot(tx, deps, { ...args, previous, stopwatch, alwaysStage: true })
    return await work(tx, plan)
  } finally {
    await tx.end()
  }
}

/** What applying a list would do now. */
export type PlanReport = Awaited<ReturnType<typeof readReport>>

/** Reads the report from the transaction of a plan. */
async function readReport(
  tx: Tx,
  { guard }: Pick<ReviewDeps, 'guard'>,
  { list, fetched }: ReportArgs,
  { effect, forecast, staged }: SnapshotPlan,
) {
  const { baseline, live: liveBefore, missing, newlyAbsent } = effect
  return {
    list,
    bytes: fetched.bytes,
    verdict: suspicionOf(effect, guard),
    baseline,
    liveBefore,
    missing,
    newlyAbsent,
    forecast,
    ...staged,
    examples: await readExamples(tx, list),
  }
}

/** What a sync would do with a list. The verdict is null if agreeing lists would release it. */
export interface DryRun extends PlanReport {
  /** Why a suspicious list would be applied nevertheless; else null. */
  readonly release: SyncReason | null
}

/**
 * Fetches a list and reports what a sync would do with it now. Takes one slot of the budget and changes nothing: no
 * run, no state, no kept list. The forecast of a list that would be held is that of its approval. Throws the errors
 * by which a sync would fail or be rejected.
 */
export async function dryRun(
  deps: SyncDeps,
  list: RouteListName,
  signal: AbortSignal,
): Promise<DryRun> {
  const { fetched } = await fetchList(deps, { list, stopwatch: createStopwatch() }, signal)
  const { confirmations } = deps
  const args = { list, fetched, arrivedAt: null, confirmations }
  const applied = await withPlan(deps, args, async (tx, plan) => {
    const report = await readReport(tx, deps, args, plan)
    if (report.verdict === null) return { ...report, release: null }
    const judged = { list, fetched, plan, fetchedAt: await databaseNow(tx) }
    const { isHeld, reason, lists } = await judgeSnapshot(tx, deps, judged)
    if (isHeld) return null
    const together = { lists, confirmations }
    const confirmed = await countConfirmed(tx, { list, ...together })
    const forecast = {
      ...confirmedForecast(list, report.forecast, confirmed),
      ...(list === 'routes' && { placesChanged: await countConfirmedPlaces(tx, together) }),
    }
    return { ...report, forecast, verdict: null, release: reason }
  })
  if (applied !== null) return applied
  // A list that would be held is reported with what approving it would do: that confirms absences at once.
  return { ...(await reportPlan(deps, { ...args, confirmations: 1 })), release: null }
}

/** The forecast with another number of confirmed absences. */
function confirmedForecast(list: RouteListName, forecast: Forecast, confirmed: number): Forecast {
  const more = confirmed - forecast.removed - forecast.lost
  return {
    ...forecast,
    live: forecast.live - more,
    pendingAbsences: forecast.pendingAbsences - more,
    ...(list === 'routes' ? { removed: confirmed } : { lost: confirmed }),
  }
}

/** Examples of each kind. */
const EXAMPLES = 5

export interface RouteExample {
  readonly departure: Place
  readonly destination: Place
}

interface CountryShare {
  readonly country: string
  readonly missing: number
  readonly live: number
}

/**
 * A few examples of what a list would change. Routes are a sample, the same in each report, in the order of their
 * ids.
 */
export type PlanExamples = Awaited<ReturnType<typeof readExamples>>

/** Reads the examples from the temporary tables of a plan's transaction. */
async function readExamples(tx: Tx, list: RouteListName) {
  const live = LIVE[list]
  return {
    missing: await readRoutes(tx, sql`snapshot_missing`),
    added: await readRoutes(tx, sql`snapshot_added`),
    countries: await readCountries(tx, live),
    placesLost: await readPlacesLost(tx, live),
    placesChanged: list === 'routes' ? await readPlacesChanged(tx) : [],
  }
}

/** The current attributes; for a new place those of the list, the smallest if it gives several. */
const attributesOf = (id: RawBuilder<unknown>) => sql`
  coalesce((select jsonb_build_object('id', place_id, 'iata', iata, 'city', city, 'country', country)
              from place_version where place_id = ${id} and valid_to is null),
           (select jsonb_build_object('id', place_id, 'iata', iata, 'city', city, 'country', country)
              from staged_place where place_id = ${id}
             order by iata collate "C", city collate "C", country collate "C" limit 1))`

async function readRoutes(tx: Tx, pairs: RawBuilder<unknown>): Promise<RouteExample[]> {
  const { rows } = await sql<RouteExample>`
    select ${attributesOf(sql`p.departure_id`)} as departure,
           ${attributesOf(sql`p.destination_id`)} as destination
      from (select departure_id, destination_id from ${pairs}
             order by md5(departure_id || ' ' || destination_id) limit ${EXAMPLES}) p
     order by p.departure_id, p.destination_id
  `.execute(tx)
  return rows
}

/** The countries of departure with the most missing routes. */
async function readCountries(tx: Tx, live: RawBuilder<unknown>): Promise<CountryShare[]> {
  const { rows } = await sql<CountryShare>`
    select v.country, count(m.departure_id) as missing, count(*) as live
      from ${live} r
      join place_version v on v.place_id = r.departure_id and v.valid_to is null
      left join snapshot_missing m
             on (m.departure_id, m.destination_id) = (r.departure_id, r.destination_id)
     group by v.country
    having count(m.departure_id) > 0
     order by missing desc, v.country
     limit ${EXAMPLES}
  `.execute(tx)
  return rows
}

/** Places that lose their last route: how many, and a few of them. */
async function readPlacesLost(tx: Tx, live: RawBuilder<unknown>) {
  const { rows } = await sql<Place & { total: number }>`
    with missing_of as (
           select place_id, count(*) as ends
             from (select departure_id as place_id from snapshot_missing
                    union all select destination_id from snapshot_missing) e
            group by place_id),
         live_of as (
           select place_id, count(*) as ends
             from (select departure_id as place_id from ${live} a
                    union all select destination_id from ${live} b) e
            group by place_id),
         lost as (
           select l.place_id, l.ends from live_of l join missing_of m using (place_id, ends))
    select v.place_id as id, v.iata, v.city, v.country, (select count(*) from lost) as total
      from lost
      join place_version v on v.place_id = lost.place_id and v.valid_to is null
     order by lost.ends desc, v.place_id
     limit ${EXAMPLES}
  `.execute(tx)
  const places = rows.map(({ total: _total, ...place }) => place)
  return { count: rows[0]?.total ?? 0, places }
}

async function readPlacesChanged(tx: Tx): Promise<{ before: Place; after: Place }[]> {
  const { rows } = await sql<{ before: Place; after: Place }>`
    select jsonb_build_object('id', v.place_id, 'iata', v.iata, 'city', v.city, 'country', v.country) as before,
           jsonb_build_object('id', s.place_id, 'iata', s.iata, 'city', s.city, 'country', s.country) as after
      from snapshot_place s
      join place_version v on v.place_id = s.place_id and v.valid_to is null
     where s.changed
     order by s.place_id
     limit ${EXAMPLES}
  `.execute(tx)
  return rows
}
