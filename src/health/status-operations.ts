import { readDeliveryState } from '../delivery/dispatch/delivery-gauges.ts'
import { listUnreached } from '../delivery/endpoints/endpoint-queries.ts'
import type { Clock } from '../platform/base/clock.ts'
import { longestGapMs } from '../platform/base/cron.ts'
import type { RouteListName } from '../platform/base/kinds.ts'
import type { ResellerId } from '../platform/base/reseller-id.ts'
import { type Db, sql } from '../platform/db/database.ts'
import { isWritable } from '../platform/db/database-health.ts'
import { listPauses, type Pause } from '../platform/db/pauses.ts'
import { readVersions } from '../platform/db/schema-version.ts'
import { type Caller, operations } from '../platform/http/operation.ts'
import { GUARD_LIMITS } from '../routes/guard.ts'
import { type HeldRun, listHeldRuns } from '../routes/held.ts'
import { readSyncStates } from '../routes/read/sync-state.ts'
import { listBreakers } from '../upstream/breaker/breaker-state.ts'
import { readHealth, type UpstreamHealth } from '../upstream/breaker/circuit-breaker.ts'
import { readBudgetLimit } from '../upstream/budget/budget-limit.ts'
import { readBudgetAhead } from '../upstream/budget/reserve-slots.ts'
import { isPaused } from '../upstream/budget/throttle.ts'
import { listHabits } from '../upstream/flights/answer-habits.ts'
import { readBeliefAges } from '../views/belief-ages.ts'
import {
  type DelayReader,
  readDetectionDelays,
  readWaitingChanges,
} from '../views/detection-delays.ts'
import { listIncidents, readHeld } from '../views/incident-operations.ts'
import { findUnkeptMaxDelays } from '../watches/max-delays.ts'
import { judge, STATUS_CHECKS } from './checks.ts'
import {
  type BudgetUse,
  type KnownProcess,
  type QueueState,
  type Status,
  StatusShape,
  type StatusWarning,
  type UpstreamState,
} from './status-shapes.ts'

/** What does the work: the queues, the processes and the disk of the database; and how much there is. */
export interface WorkState {
  readonly queue: QueueState
  readonly schedules: readonly Schedule[]
  readonly processes: KnownProcess[]
  readonly disk: Status['disk']
  readonly routes: Status['routes']
  readonly feeds: Status['feeds']
}

/** When periodic work is due: by a pattern in a time zone, or at an interval. */
export interface Schedule {
  readonly name: string
  /** The list that it fetches; null for other work. */
  readonly list: RouteListName | null
  readonly cron: string | null
  readonly zone: string | null
  readonly everySeconds: number | null
  readonly nextDueAt: Date
  /** Null if there was none before the next one. */
  readonly lastDueAt: Date | null
}

export interface StatusDeps {
  readonly db: Db
  readonly clock: Clock
  /** The budget of upstream requests for all processes together. */
  readonly requestsPerSecond: number
  /** How long a change waits because of a mass. */
  readonly massHoldMs: number
  /** The version of farewatch. */
  readonly version: string
  /** Reads the detection delays. If unset, they are read each time. */
  readonly readDelays?: DelayReader
  /** If unset, the state of the work is not known. */
  readonly readWork?: (() => Promise<WorkState>) | undefined
}

const SHOWN_INCIDENTS = 10

/**
 * Reads the status of the whole service, or the status that one reseller may see: the ages of its own fares only, and
 * neither budget nor delays, because they would show what other resellers watch.
 */
export async function readStatus(
  deps: StatusDeps,
  { resellerId }: { readonly resellerId?: ResellerId | undefined } = {},
): Promise<Status> {
  const { db, clock, requestsPerSecond, version, readWork } = deps
  const [lists, heldRuns, beliefs, health, incidents, held, deliveries, unkept, pauses, work] =
    await Promise.all([
      readSyncStates(db),
      listHeldRuns(db),
      readBeliefAges(db, { resellerId }),
      readHealth(db),
      listIncidents(db, { open: true, limit: SHOWN_INCIDENTS }),
      readHeld(db, deps, resellerId),
      readDeliveryState(db, resellerId),
      findUnkeptMaxDelays(db, { resellerId }),
      listPauses(db),
      readWork?.() ?? UNKNOWN_WORK,
    ])
  const { schedules, ...shown } = work
  const asked = { requestsPerSecond, share: health.share }
  const isOperator = resellerId === undefined
  const at = clock.now()
  const status = {
    at,
    lists: lists.map((one) => ({ ...one, ...timesOf(schedules, one.list, at) })),
    heldRuns: heldRuns.map(heldRun),
    beliefs,
    upstream: upstreamState(health),
    pauses: isOperator ? pauses : pauses.map(withoutOperators),
    incidents: incidents.map(({ kind, openedAt }) => ({ kind, openedAt })),
    held,
    deliveries: {
      ...deliveries,
      unreached: isOperator ? await listUnreached(db, NAMED_ENDPOINTS) : [],
    },
    ...(isOperator ? { ...(await readForOperators(deps, asked)), ...shown } : HIDDEN),
    unkeptMaxDelays: unkept,
    readOnly: !(await isWritable(db)),
    demo: await readDemo(db),
    versions: { farewatch: version, ...(await readVersions(db)) },
  }
  const warnings = judge(STATUS_CHECKS, status)
  return { ...status, warnings: isOperator ? warnings : warnings.map(withoutHelp) }
}

async function readDemo(db: Db): Promise<Status['demo']> {
  const demo = await db
    .selectFrom('demo')
    .select([
      'history_since as historySince',
      'history_until as historyUntil',
      'flight_id as flightId',
    ])
    .executeTakeFirst()
  return demo ?? null
}

/** A warning names so many endpoints at most. */
const NAMED_ENDPOINTS = 5
const UNKNOWN_WORK = {
  queue: null,
  processes: null,
  disk: null,
  routes: null,
  feeds: null,
  schedules: [],
}

/** Null while no worker has started, or while the queue does not answer. */
function timesOf(schedules: readonly Schedule[], list: RouteListName, at: Date) {
  const found = schedules.find((one) => one.list === list)
  if (found === undefined) return { nextDueAt: null, intervalSeconds: null }
  const { nextDueAt, cron, zone, everySeconds } = found
  const intervalSeconds =
    cron === null || zone === null
      ? everySeconds
      : longestGapMs({ pattern: cron, zone }, at) / 1_000
  return { nextDueAt, intervalSeconds }
}

/** Commands are those of operators. */
function withoutHelp(warning: StatusWarning): StatusWarning {
  return { ...warning, command: null, todo: null }
}

/** A reason may name what resellers are not to know. */
function withoutOperators(pause: Pause): Status['pauses'][number] {
  return { ...pause, reason: null, by: null }
}

/** It would show what other resellers watch, or how the service is run. */
const HIDDEN = {
  budget: null,
  detectionDelays: null,
  contradicted: null,
  unusualAnswers: null,
  queue: null,
  processes: null,
  disk: null,
  routes: null,
  feeds: null,
}

async function readForOperators(
  { db, readDelays }: StatusDeps,
  asked: Parameters<typeof readBudgetUse>[1],
): Promise<Omit<Pick<Status, keyof typeof HIDDEN>, keyof typeof UNKNOWN_WORK>> {
  const [budget, detectionDelays, contradicted, habits] = await Promise.all([
    readBudgetUse(db, asked),
    readDelays?.() ?? readDetectionDelays(db),
    readContradicted(db),
    listHabits(db),
  ])
  const unusualAnswers = habits.filter(({ isUsual, isRecent }) => isRecent && !isUsual)
  return { budget, detectionDelays, contradicted, unusualAnswers }
}

const HOUR_MS = 3_600_000

/** A held run as the status shows it. The limits of the guard say which lists no others release. */
function heldRun(run: HeldRun): Status['heldRuns'][number] {
  const { runId, list, since, lists, reason, fetched, wouldRemove, live, rejectedAt } = run
  const { releaseHours, releaseLostShare } = GUARD_LIMITS
  const mayBeReleased =
    rejectedAt === null && fetched !== 0 && (wouldRemove ?? 0) <= releaseLostShare * (live ?? 0)
  const releasableAt = mayBeReleased ? new Date(since.getTime() + releaseHours * HOUR_MS) : null
  return { runId, list, since, lists, reason, rejectedAt, releasableAt }
}

/** The fares whose belief an answer contradicts. */
async function readContradicted(db: Db): Promise<Status['contradicted']> {
  const waits = await readWaitingChanges(db)
  if (waits.length === 0) return null
  const untils = waits.flatMap(({ until }) => until?.getTime() ?? [])
  return {
    fares: waits.reduce((sum, { fares }) => sum + fares, 0),
    since: new Date(Math.min(...waits.map(({ since }) => since.getTime()))),
    until: untils.length === 0 ? null : new Date(Math.max(...untils)),
    waits: waits.map(({ wait, fares, since }) => ({ wait, fares, since })),
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
    limit: (await readBudgetLimit(db)) ?? null,
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

/** Whose data a caller sees: all, or that of one reseller. */
export function scopeOf(caller: Caller): { readonly resellerId?: ResellerId } {
  return caller.kind === 'reseller' ? { resellerId: caller.resellerId } : {}
}
