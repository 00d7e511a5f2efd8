import { createTtlCache } from '../platform/base/cache.ts'
import type { Clock } from '../platform/base/clock.ts'
import { FARE_CHANGE_KINDS, WATCH_PRIORITIES } from '../platform/base/kinds.ts'
import type { ResellerId } from '../platform/base/reseller-id.ts'
import { type Db, type RawBuilder, sql } from '../platform/db/database.ts'
import { readVersions } from '../platform/db/migrate.ts'
import { selectOne } from '../platform/db/transaction.ts'
import { type Caller, operations } from '../platform/http/operation.ts'
import { readSyncStates } from '../routes/read/sync-state.ts'
import { listHeldRuns } from '../routes/runs/sync-run-queries.ts'
import { listBreakers } from '../upstream/breaker/breaker-state.ts'
import { readHealth, type UpstreamHealth } from '../upstream/breaker/circuit-breaker.ts'
import { readBudgetAhead } from '../upstream/budget/reserve-slots.ts'
import { isPaused } from '../upstream/budget/throttle.ts'
import { findUnkeptMaxDelays } from '../watches/max-delays.ts'
import { listIncidents, readHeld } from './incident-operations.ts'
import {
  type BeliefAges,
  type BudgetUse,
  DELAY_GROUPS,
  type DetectionDelay,
  type Status,
  StatusShape,
  type UpstreamState,
} from './status-shapes.ts'

interface StatusDeps {
  readonly db: Db
  readonly clock: Clock
  /** The budget of upstream requests for all processes together. */
  readonly requestsPerSecond: number
  /** The version of farewatch. */
  readonly version: string
  /** Reads the detection delays. If unset, they are read each time. */
  readonly readDelays?: DelayReader
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

interface DelayRow extends Pick<DetectionDelay, 'priority' | 'changes'> {
  readonly midpoint: readonly [p50: number, p95: number]
  readonly atMost: readonly [p50: number, p95: number]
}

const RANK = sql`array_position(${[...WATCH_PRIORITIES]}::text[], w.priority)`

/**
 * Reads how late the changes were recorded that checks found in the last day. A change happened after the last good
 * check that did not show it, and by the first check that did: its delay is from then to its record, the time for
 * confirmations and in a hold included. Changes before which nothing was known have no delay, and neither have ends
 * and reversals, which no check found: these cite no answer.
 */
export async function readDetectionDelays(db: Db): Promise<DetectionDelay[]> {
  const { rows } = await sql<DelayRow>`
    with delay as materialized (
      select tracked_fare_id as id, extract(epoch from recorded_at - last_good_check_at)::float8 as at_most,
             extract(epoch from recorded_at - last_good_check_at - (detected_at - last_good_check_at) / 2)::float8 as midpoint
        from availability_change
       where kind = any(${FARE_CHANGE_KINDS}) and recorded_at > clock_timestamp() - interval '1 day'
         and last_good_check_at <= detected_at and evidence_hash is not null
    ), fare as materialized (
      select id, (select w.priority
                    from watch w
                   where w.tracked_fare_id = f.id and w.paused_at is null and w.ended_at is null
                   order by ${RANK} desc
                   limit 1) as priority
        from (select distinct id from delay) f
    )
    select case when grouping(priority) = 1 then 'all' else priority end as priority, count(*) as changes,
           percentile_disc(array[0.5, 0.95]) within group (order by midpoint) as midpoint,
           percentile_disc(array[0.5, 0.95]) within group (order by at_most) as "atMost"
      from delay
      join fare using (id)
     group by grouping sets ((), (priority))
    having count(*) > 0 and (grouping(priority) = 1 or priority is not null)
  `.execute(db)
  return DELAY_GROUPS.flatMap((group) =>
    rows
      .filter(({ priority }) => priority === group)
      .map(({ priority, changes, midpoint, atMost }) => ({
        priority,
        changes,
        midpointSeconds: { p50: midpoint[0], p95: midpoint[1] },
        atMostSeconds: { p50: atMost[0], p95: atMost[1] },
      })),
  )
}

export type DelayReader = () => Promise<DetectionDelay[]>

const CACHE_MS = 60_000

/** A reader for requests: it reads all changes of a day, so callers of one minute share its answer. */
export function createDelayReader(db: Db, nowMs: () => number): DelayReader {
  const cache = createTtlCache<DetectionDelay[]>({ ttlMs: CACHE_MS, nowMs, maxKeys: 1 })
  return () => cache.get('', () => readDetectionDelays(db))
}

const { shared } = operations<StatusDeps>()

const showStatus = shared({
  id: 'readStatus',
  method: 'GET',
  path: '/api/v1/status',
  tag: 'Freshness',
  summary: 'Read how fresh and how reliable the data is',
  scope: 'read',
  answer: {
    about: 'The state of the lists, the beliefs and the upstream.',
    schema: StatusShape,
  },
  handler: async (deps, { caller }) => readStatus(deps, scopeOf(caller)),
})

/** The status of the service. */
export const STATUS_OPERATIONS = [showStatus]

function scopeOf(caller: Caller): Parameters<typeof readStatus>[1] {
  return caller.kind === 'reseller' ? { resellerId: caller.resellerId } : {}
}
