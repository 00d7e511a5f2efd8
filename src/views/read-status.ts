import type { Incident } from '../fares/hold/incident.ts'
import type { Clock } from '../platform/base/clock.ts'
import type { RouteListName } from '../platform/base/kinds.ts'
import type { ResellerId } from '../platform/base/reseller-id.ts'
import { type Db, type RawBuilder, sql } from '../platform/db/database.ts'
import { type DatabaseVersions, readVersions } from '../platform/db/migrate.ts'
import { selectOne } from '../platform/db/transaction.ts'
import { readSyncStates, type SyncState } from '../routes/read/sync-state.ts'
import type { SyncReason } from '../routes/runs/sync-run.ts'
import { listHeldRuns } from '../routes/runs/sync-run-queries.ts'
import {
  type BreakerName,
  type EndpointGroup,
  listBreakers,
} from '../upstream/breaker/breaker-state.ts'
import { readHealth, type UpstreamHealth } from '../upstream/breaker/circuit-breaker.ts'
import { readBudgetAhead } from '../upstream/budget/reserve-slots.ts'
import { isPaused } from '../upstream/budget/throttle.ts'
import { findUnkeptMaxDelays, type UnkeptMaxDelays } from '../watches/max-delays.ts'
import { type DelayReader, type DetectionDelay, readDetectionDelays } from './detection-delay.ts'
import { type HeldFares, listIncidents, readHeld } from './incident-queries.ts'

export interface StatusDeps {
  readonly db: Db
  readonly clock: Clock
  /** The budget of upstream requests for all processes together. */
  readonly requestsPerSecond: number
  /** The version of farewatch. */
  readonly version: string
  /** Reads the detection delays. If unset, they are read each time. */
  readonly readDelays?: DelayReader
}

/** How fresh and how reliable the data is at one moment. */
export interface Status {
  readonly at: Date
  readonly lists: SyncState[]
  /** The oldest ten. */
  readonly heldRuns: HeldRun[]
  readonly beliefs: BeliefAges
  readonly upstream: UpstreamState
  readonly incidents: Pick<Incident, 'kind' | 'openedAt'>[]
  /** What masses hold now. */
  readonly held: HeldFares[]
  /** Null for a reseller. */
  readonly budget: BudgetUse | null
  /** Of the changes of the last day, by priority. Null for a reseller. */
  readonly detectionDelays: readonly DetectionDelay[] | null
  /** Resellers whose `maxDelaySeconds` are not kept, at most ten; for a reseller only itself. */
  readonly unkeptMaxDelays: readonly UnkeptMaxDelays[]
  readonly versions: DatabaseVersions & { readonly farewatch: string }
}

export interface HeldRun {
  readonly runId: number
  readonly list: RouteListName
  readonly fetchedAt: Date | null
  readonly reason: Pick<SyncReason, 'code' | 'text'> | null
}

/** What stops calls to the upstream: a pause that it asked for, and open circuit breakers. */
export interface UpstreamState {
  readonly pausedUntil: Date | null
  readonly openBreakers: {
    readonly endpoint: EndpointGroup
    readonly breaker: BreakerName
    readonly since: Date
    /** How the last failed call ended: `ECONNREFUSED`, `401`, `timeout`. Null if not known. */
    readonly cause: string | null
    /** When the last successful call was made, as far as the process that opened the breaker knew. */
    readonly lastGoodAt: Date | null
  }[]
}

export interface BudgetUse {
  readonly requestsPerSecond: number
  /** The share of it that may be used now: below 1 after the upstream has limited our rate, 0 during a pause. */
  readonly share: number
  /** How far ahead slots are reserved, in seconds. About 5 if the whole budget is used. */
  readonly aheadSeconds: number
  readonly checksLastMinute: number
  readonly unknownLastMinute: number
  /** The share of the whole budget that the checks of the last whole minute used. */
  readonly used: number
}

const SHOWN_HELD = 10
const SHOWN_INCIDENTS = 10

/**
 * Reads the status of the whole service, or the status that one reseller may see: the ages of its own fares only, and
 * neither budget nor delays, because they would show what other resellers watch.
 */
export async function readStatus(
  { db, clock, requestsPerSecond, version, readDelays }: StatusDeps,
  { resellerId }: { readonly resellerId?: ResellerId | undefined } = {},
): Promise<Status> {
  const [lists, heldRuns, beliefs, health, incidents, held, unkept, versions] = await Promise.all([
    readSyncStates(db),
    listHeldRuns(db, { limit: SHOWN_HELD }),
    readBeliefAges(db, { resellerId }),
    readHealth(db),
    listIncidents(db, { open: true, limit: SHOWN_INCIDENTS }),
    readHeld(db, resellerId),
    findUnkeptMaxDelays(db, { resellerId }),
    readVersions(db),
  ])
  const asked = { requestsPerSecond, share: health.share }
  const isOperator = resellerId === undefined
  return {
    at: clock.now(),
    lists,
    heldRuns: heldRuns.map(({ runId, list, fetchedAt, reason }) => ({
      runId,
      list,
      fetchedAt,
      reason,
    })),
    beliefs,
    upstream: upstreamState(health),
    incidents: incidents.map(({ kind, openedAt }) => ({ kind, openedAt })),
    held,
    budget: isOperator ? await readBudgetUse(db, asked) : null,
    detectionDelays: isOperator ? await (readDelays?.() ?? readDetectionDelays(db)) : null,
    unkeptMaxDelays: unkept,
    versions: { farewatch: version, ...versions },
  }
}

/** How fresh everything is, in two numbers that reveal nothing else. */
export interface Freshness {
  /** Seconds since the last accepted list of routes arrived; null before the first. */
  readonly routesAgeSeconds: number | null
  /** The median age of the fares' last good checks; null if there was none. */
  readonly faresAgeSeconds: number | null
}

export async function readFreshness({
  db,
  clock,
}: Pick<StatusDeps, 'db' | 'clock'>): Promise<Freshness> {
  const [lists, { ageSeconds }] = await Promise.all([readSyncStates(db), readBeliefAges(db)])
  const arrivedAt = lists.find(({ list }) => list === 'routes')?.lastSuccessAt ?? null
  return {
    routesAgeSeconds: arrivedAt && (clock.now().getTime() - arrivedAt.getTime()) / 1000,
    faresAgeSeconds: ageSeconds?.p50 ?? null,
  }
}

function upstreamState(health: UpstreamHealth): UpstreamState {
  const { breakers, pausedUntilMs, nowMs } = health
  const openBreakers = listBreakers(breakers).flatMap(({ endpoint, breaker, open }) => {
    if (open === null) return []
    const { sinceMs, cause, goodAtMs } = open
    const lastGoodAt = goodAtMs === null ? null : new Date(goodAtMs)
    return [{ endpoint, breaker, since: new Date(sinceMs), cause, lastGoodAt }]
  })
  const pausedUntil = isPaused({ pausedUntilMs }, nowMs) ? new Date(pausedUntilMs) : null
  return { pausedUntil, openBreakers }
}

async function readBudgetUse(
  db: Db,
  { requestsPerSecond, share }: { readonly requestsPerSecond: number; readonly share: number },
): Promise<BudgetUse> {
  const { checks, unknown } = await readLastMinute(db)
  return {
    requestsPerSecond,
    share,
    aheadSeconds: await readBudgetAhead(db),
    checksLastMinute: checks,
    unknownLastMinute: unknown,
    used: checks / (60 * requestsPerSecond),
  }
}

/** Counts the checks of the last whole minute, and those of them that were unknown. */
async function readLastMinute(db: Db): Promise<{ checks: number; unknown: number }> {
  const lastMinute = await db
    .selectFrom('check_minute')
    .select(['checks', 'unknown'])
    .where('minute', '=', sql<Date>`date_trunc('minute', clock_timestamp()) - interval '1 minute'`)
    .executeTakeFirst()
  return lastMinute ?? { checks: 0, unknown: 0 }
}

/** How old the beliefs are. Ages are seconds since the last good check began. */
interface BeliefAges {
  /** Fares that are checked. */
  readonly fares: number
  /** How many of them never had a good check. */
  readonly unanswered: number
  /** How many of the others have a stale belief. */
  readonly stale: number
  /** Null if no fare ever had a good check. */
  readonly ageSeconds: AgePercentiles | null
}

interface AgePercentiles {
  readonly p50: number
  readonly p90: number
  readonly p99: number
  readonly max: number
}

interface AgesRow extends Omit<BeliefAges, 'ageSeconds'> {
  readonly ages: readonly [number, number, number, number] | null
}

/**
 * Reads the ages of all fares that are checked, or of the fares that a reseller watches. What the reseller itself
 * spends on a fare decides whether it is stale: that shows nothing of the others.
 */
async function readBeliefAges(
  db: Db,
  { resellerId }: { readonly resellerId?: ResellerId | undefined } = {},
): Promise<BeliefAges> {
  const { ages, ...counts } = await selectOne(
    sql<AgesRow>`
      with checked as materialized (${resellerId === undefined ? ALL_FARES : faresOf(resellerId)})
      select count(*) as fares,
             count(*) filter (where b.last_good_check_at is null) as unanswered,
             count(*) filter (where b.last_good_check_at is not null
                                and coalesce(clock_timestamp() - b.last_good_check_at > checked.fresh_for, b.stale)) as stale,
             percentile_disc(array[0.5, 0.9, 0.99, 1])
               within group (order by extract(epoch from clock_timestamp() - b.last_good_check_at)::float8) as ages
        from checked
        join tracked_fare f on f.id = checked.id
        left join farewatch.fares_current b on b.tracked_fare_id = f.id
       where f.ended_at is null and b.expired_at is null
    `,
    db,
  )
  if (ages === null) return { ...counts, ageSeconds: null }
  const [p50, p90, p99, max] = ages
  return { ...counts, ageSeconds: { p50, p90, p99, max } }
}

/** Without `fresh_for` the public SQL decides whether a belief is stale. */
const ALL_FARES = sql`select id, null::interval as fresh_for from tracked_fare`

function faresOf(resellerId: ResellerId): RawBuilder<unknown> {
  return sql`
    select f.id, fresh_for(coalesce(q.rates[array_position(f.resellers, ${resellerId}::bigint)], q.rate)) as fresh_for
      from (select distinct w.tracked_fare_id as id
              from watch w
              join reseller r on r.id = w.reseller_id
             where w.reseller_id = ${resellerId} and w.paused_at is null and w.ended_at is null and r.disabled_at is null) own
      join tracked_fare f using (id)
      left join fare_schedule q on q.tracked_fare_id = f.id
  `
}
