import { publicFare } from '../feeds/public-fare.ts'
import { backoffMs, type Clock } from '../platform/base/clock.ts'
import type { CheckReason } from '../platform/base/kinds.ts'
import type { Logger } from '../platform/base/logger.ts'
import type { Semaphore } from '../platform/base/semaphore.ts'
import { span } from '../platform/base/tracing.ts'
import { type Db, PREPARED, sql } from '../platform/db/database.ts'
import { isDatabaseUnavailable } from '../platform/db/database-health.ts'
import type { Metrics } from '../platform/metrics/metrics.ts'
import type { CallLedger } from '../schedule/budget.ts'
import { LEASE_SECONDS, type ScheduleRules } from '../schedule/due.ts'
import type { CircuitBreaker } from '../upstream/breaker/circuit-breaker.ts'
import { type Skew, skewOf, waitForSlot } from '../upstream/budget/take-slot.ts'
import { judgedBy, readHabits } from '../upstream/flights/answer-habits.ts'
import type { Observation } from '../upstream/observation.ts'
import type { Question } from '../upstream/question.ts'
import { QUESTION_SELECTION } from '../upstream/question-sql.ts'
import type { UpstreamClient } from '../upstream/upstream-client.ts'
import { UpstreamCircuitOpenError, UpstreamSlotMissedError } from '../upstream/upstream-errors.ts'
import type { FareChange } from './answer.ts'
import type { Check, ClaimRef, RecordedCheck } from './beliefs.ts'
import type { Decision, DecisionRules } from './decide.ts'
import { reportIncidents } from './incidents.ts'
import type { CheckBatch } from './record.ts'
import { type JudgedBatch, writeBatch } from './record.ts'
import { heldKindOf } from './state.ts'

/** A fare of a claim, with its question and the slot of its check. */
export interface ClaimedFare {
  readonly fareId: number
  readonly slotAt: Date
  readonly question: Question
  readonly why: CheckReason
}

const WHY = sql<CheckReason>`
  case when s.lane_due_at <= s.slot_at then s.lane when s.route_moved then 'route_moved' else 'scheduled' end
`

/**
 * The fares of a claim in the order of their slots, and the database's clock at the time of the query. Leaves out
 * fares that will have departed at their slot.
 */
async function findClaimedFares(
  db: Db,
  { claimId, fareIds }: ClaimRef,
): Promise<{ fares: ClaimedFare[]; now: Date | undefined }> {
  const { rows } = await sql<Question & Omit<ClaimedFare, 'question'> & { now: Date }>`${PREPARED}
    select f.id as "fareId", ${sql.join(QUESTION_SELECTION)}, s.slot_at as "slotAt", ${WHY} as why, clock_timestamp() as now
      from fare_schedule s
      join tracked_fare f on f.id = s.tracked_fare_id
      left join fare_state b on b.tracked_fare_id = s.tracked_fare_id
     where s.tracked_fare_id = any(${fareIds}::bigint[]) and s.claim_id = ${claimId} and s.slot_at is not null
       and coalesce(b.departs_at > s.slot_at, true)
     order by s.slot_at
  `.execute(db)
  const fares = rows.map(({ fareId, slotAt, why, now: _, ...question }) => {
    return { fareId, slotAt, why, question }
  })
  return { fares, now: rows[0]?.now }
}

interface CheckDeps {
  readonly upstream: Pick<UpstreamClient, 'verifyFares'>
  readonly clock: Clock
}

interface CheckOptions extends Skew {
  readonly signal: AbortSignal
}

/** How long finished results wait for the others of their batch. */
const TIMEOUT_MS = 500

/**
 * Checks each fare at its reserved slot, and yields the results in batches: mostly one, with all of them.
 *
 * A call to an upstream that hangs lasts until its timeout, ten times as long as a batch. If the others waited for it,
 * one such call in a hundred would keep most fares from being scheduled again, and the budget from being used.
 */
export async function* checkFares(
  deps: CheckDeps,
  fares: readonly ClaimedFare[],
  options: CheckOptions,
): AsyncGenerator<CheckBatch> {
  const results: Result[] = []
  const ended = new AbortController()
  const all = callInOrder(deps, fares, { ...options, results }).finally(() => ended.abort())
  // It is awaited below; a rejection before that must not count as unhandled.
  all.catch(() => undefined)

  let timeoutMs = untilLastSlotMs(deps, fares, options) + TIMEOUT_MS
  for (let left = fares.length; left > 0; ) {
    await deps.clock.sleep(timeoutMs, ended.signal).catch(() => undefined)
    if (ended.signal.aborted) await all
    const finished = results.splice(0)
    left -= finished.length
    timeoutMs = TIMEOUT_MS
    if (finished.length > 0) yield batchOf(finished)
  }
}

type Result = Check | { readonly late: number } | { readonly blocked: number }

/**
 * Waits for one slot after the other with one timer: hundreds of timers at a time would cost more than the calls.
 * Once the circuit breaker refuses a call, the fares after it are not tried.
 */
async function callInOrder(
  { upstream, clock }: CheckDeps,
  fares: readonly ClaimedFare[],
  { results, ...options }: CheckOptions & { results: Result[] },
): Promise<void> {
  const calls: Promise<void>[] = []
  let isOpen = false
  for (const { fareId, slotAt, question, why } of fares) {
    if (isOpen) {
      results.push({ blocked: fareId })
      continue
    }
    const slot = await waitForSlot(slotAt, { ...options, clock })
    if (slot === undefined) {
      results.push({ late: fareId })
      continue
    }
    const askedAt = slot.now()
    const call = upstream.verifyFares(question, { signal: options.signal, slot, fareId }).then(
      (observation) => {
        const check = { fareId, askedAt, why, observation }
        results.push(isRateLimited(observation) ? { blocked: fareId } : check)
      },
      (err: unknown) => {
        if (err instanceof UpstreamSlotMissedError) {
          results.push({ late: fareId })
          return
        }
        if (!(err instanceof UpstreamCircuitOpenError)) throw err
        isOpen = true
        results.push({ blocked: fareId })
      },
    )
    // It is awaited after the last slot; a rejection before that must not count as unhandled.
    call.catch(() => undefined)
    calls.push(call)
  }
  await Promise.all(calls)
}

/** A 429 says nothing of the fare, and is no failure of its check. */
export function isRateLimited({ outbound }: Observation): boolean {
  return outbound.kind === 'unknown' && outbound.reason === 'rate_limited'
}

/** The fares are in the order of their slots. */
function untilLastSlotMs(
  { clock }: CheckDeps,
  fares: readonly ClaimedFare[],
  { skewMs }: CheckOptions,
): number {
  const last = fares.at(-1)?.slotAt.getTime() ?? 0
  return Math.max(0, last - skewMs - clock.now().getTime())
}

function batchOf(results: readonly Result[]): CheckBatch {
  return {
    checks: results.filter((result) => 'observation' in result),
    late: results.flatMap((result) => ('late' in result ? [result.late] : [])),
    blocked: results.flatMap((result) => ('blocked' in result ? [result.blocked] : [])),
  }
}

export interface VerifyDeps {
  readonly db: Db
  readonly upstream: Pick<UpstreamClient, 'verifyFares'>
  /** The circuit breaker of the client's calls; absent where there is none. */
  readonly breaker?: Pick<CircuitBreaker, 'admission'>
  readonly clock: Clock
  readonly rules: DecisionRules & ScheduleRules
  readonly metrics: Metrics
  /** Counts what is taken from the budget. If unset, it is not counted. */
  readonly countCall?: CallLedger['count']
  readonly log: Logger
}

export interface VerifyJobDeps extends VerifyDeps {
  /**
   * Limits how many batches of this process are recorded at a time. If unset, there is no limit. Recordings of one
   * minute wait for each other in the database anyway, and each that waits there holds a connection.
   */
  readonly recording?: Semaphore
  /** Called for each recorded batch, to learn what this process carries. */
  readonly onBatch?: (batch: { readonly recorded: number; readonly late: number }) => void
}

export type VerifyFaresPayload = ClaimRef

/**
 * Checks the fares of one claim and records the results.
 *
 * The calls happen before the transaction opens: a slow upstream must never hold a row lock. The decision happens
 * inside it, on locked rows: two overlapping checks must not both count the same loss. Late results have a transaction
 * of their own. Fares that could not be checked are released from the claim. Safe to run twice: a result is dropped if
 * another claim holds its fare, or if its request began before the last counted one.
 */
export async function verifyFaresJob(
  deps: VerifyJobDeps,
  claim: VerifyFaresPayload,
  signal: AbortSignal,
): Promise<void> {
  await span('check', { 'farewatch.claim_id': claim.claimId }, async (annotate) => {
    const { fares, skew } = await readClaim(deps, claim)
    annotate({ 'farewatch.fares': fares.length })
    if (skew === undefined) return
    for await (const batch of checkFares(deps, fares, { ...skew, signal })) {
      const record = () => recordBatch(deps, batch, claim)
      // Not within the semaphore: a pause holds no place, and each batch waits from its own answers on.
      await onceAvailable(deps, signal, () => deps.recording?.(record) ?? record())
      deps.onBatch?.({ recorded: batch.checks.length, late: batch.late.length })
    }
  })
}

const UNAVAILABLE_BACKOFF = { baseMs: 250, maxMs: 5_000 }

/**
 * Repeats the recording while the database is unavailable: the answers are paid for, and a job has one attempt. After
 * the lease its fares are due again, so the failure is thrown then. A recording whose commit was lost is superseded by
 * itself.
 */
async function onceAvailable(
  { clock, log }: Pick<VerifyDeps, 'clock' | 'log'>,
  signal: AbortSignal,
  record: () => Promise<void>,
): Promise<void> {
  const endMs = clock.now().getTime() + LEASE_SECONDS * 1000
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await record()
    } catch (err) {
      if (!isDatabaseUnavailable(err) || signal.aborted || clock.now().getTime() >= endMs) throw err
      if (attempt === 0) log.warn({ err }, 'answers wait for the database')
    }
    const pauseMs = backoffMs(UNAVAILABLE_BACKOFF, attempt, Math.random)
    await clock.sleep(pauseMs, signal).catch(() => undefined)
  }
}

/** The fares of a claim, and the skew of the database's clock. The wait for a connection does not count as skew. */
function readClaim({ db, clock }: VerifyDeps, claim: ClaimRef) {
  return db.connection().execute(async (session) => {
    const askedMs = clock.now().getTime()
    const { fares, now } = await findClaimedFares(session, claim)
    return { fares, skew: now && skewOf(now, { clock, askedMs }) }
  })
}

/**
 * Records a batch in one transaction, and reports it after the commit.
 * @param claim null for checks on demand, which no claim holds.
 */
export async function recordBatch(
  deps: VerifyDeps,
  batch: CheckBatch,
  claim: ClaimRef | null,
): Promise<void> {
  const counts = { 'farewatch.checks': batch.checks.length, 'farewatch.late': batch.late.length }
  const judged = await judgeBatch(deps, batch)
  const { recorded, copies, transitions } = await span(
    'record',
    { ...counts, 'farewatch.claim_id': claim?.claimId },
    () => writeBatch(deps, judged, claim),
  )
  reportChecks(deps, { recorded, copies }, judged.batch)
  reportIncidents(deps, transitions)
}

/** The answers of a batch as far as they count. */
async function judgeBatch({ db }: VerifyDeps, batch: CheckBatch): Promise<JudgedBatch> {
  const observations = batch.checks.map(({ observation }) => observation)
  const habits = await readHabits(db, observations)
  const checks = batch.checks.map((check) => {
    return { ...check, observation: judgedBy(habits, check.observation) }
  })
  return { batch: { ...batch, checks }, habits }
}

interface ReportedBatch {
  readonly recorded: readonly RecordedCheck[]
  /** The checks that were dropped because a cache has kept their answers. */
  readonly copies: ReadonlySet<Check>
}

type ReportDeps = Pick<VerifyDeps, 'metrics' | 'log' | 'clock'>

/** Counts a recorded batch in the metrics, and logs each of its changes. */
export function reportChecks(
  deps: ReportDeps,
  { recorded, copies }: ReportedBatch,
  { checks, late, blocked }: CheckBatch,
): void {
  const { metrics } = deps
  metrics.checksDropped.inc({ reason: 'late_slot' }, late.length)
  metrics.checksDropped.inc({ reason: 'upstream_closed' }, blocked.length)
  const counted = new Set(recorded.map(({ check }) => check))
  for (const check of checks.filter((one) => !counted.has(one))) {
    const reason = check.observation.ageSeconds > 0 ? 'aged' : 'superseded'
    metrics.checksDropped.inc({ reason: copies.has(check) ? 'copied' : reason })
  }
  for (const { fareId, check, decision } of recorded) {
    if (showsOtherLeg(check, decision)) {
      metrics.contractAnomalies.inc({ endpoint: 'verify', anomaly: 'legs_swapped' })
    }
    for (const outcome of [decision.outcome.outbound, decision.outcome.return]) {
      if (outcome === null) continue
      const [kind = outcome, reason = ''] = outcome.split(':')
      metrics.observations.inc({ outcome: kind, reason })
    }
    metrics.checkDuration.observe(check.observation.evidence.latencyMs / 1000)
    const held = heldKindOf(decision.state)
    if (held !== null) metrics.changesHeld.inc({ kind: held })
    for (const change of decision.changes) reportChange(deps, fareId, change)
  }
}

/** Whether a leg was read as available, but shows the flight of the other leg. */
function showsOtherLeg({ observation }: Check, { outcome }: Decision): boolean {
  return (
    (observation.outbound.kind === 'available' && outcome.outbound === 'unknown:other_flight') ||
    (observation.return?.kind === 'available' && outcome.return === 'unknown:other_flight')
  )
}

function reportChange(
  { metrics, log, clock }: ReportDeps,
  fareId: number,
  { kind, reason, before, after, detectedAt }: FareChange,
): void {
  metrics.availabilityChanges.inc({ kind, reason: reason ?? '' })
  // The two instants are from different clocks, the database's and ours. `farewatch_clock_skew_seconds` shows the error.
  const lagMs = clock.now().getTime() - Date.parse(detectedAt)
  metrics.changeLag.observe(Math.max(0, lagMs) / 1000)
  // Thousands of these lines an hour would push the lines of the syncs out of a log of limited size.
  const shown = { before: publicFare(before), after: publicFare(after) }
  log.debug({ fareId, kind, reason, ...shown }, 'fare changed')
}

/** The outbound flight of the newest watched fare, of one that is bookable if there is any; null without fares. */
export async function findWatchedFlight(db: Db): Promise<string | null> {
  const { rows } = await sql<{ id: string }>`
    select flight_id as id
      from tracked_fare f
      left join fare_state s on s.tracked_fare_id = f.id
     where watchers > 0
     order by coalesce(pair = 'bookable', false) desc, f.id desc
     limit 1
  `.execute(db)
  return rows[0]?.id ?? null
}
