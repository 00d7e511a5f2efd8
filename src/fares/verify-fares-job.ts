import { backoffMs, type Clock } from '../platform/base/clock.ts'
import type { Logger } from '../platform/base/logger.ts'
import type { Semaphore } from '../platform/base/semaphore.ts'
import { span } from '../platform/base/tracing.ts'
import type { Db } from '../platform/db/database.ts'
import { isDatabaseUnavailable } from '../platform/db/database-health.ts'
import { inTransaction } from '../platform/db/transaction.ts'
import type { Metrics } from '../platform/metrics/metrics.ts'
import type { CallLedger } from '../schedule/call-ledger.ts'
import { release } from '../schedule/claim.ts'
import { LEASE_SECONDS, type ScheduleRules } from '../schedule/schedule-rules.ts'
import type { CircuitBreaker } from '../upstream/breaker/circuit-breaker.ts'
import { skewOf } from '../upstream/budget/take-slot.ts'
import {
  type CountedAnswer,
  countHabits,
  type Habits,
  judgedBy,
  readHabits,
} from '../upstream/flights/answer-habits.ts'
import type { UpstreamClient } from '../upstream/upstream-client.ts'
import type { RecordedCheck } from './check/belief-store.ts'
import { lockClaimed, lockFares } from './check/belief-store.ts'
import {
  type Check,
  type CheckBatch,
  type ClaimRef,
  checkFares,
  findClaimedFares,
} from './check/check-fares.ts'
import { copiesIn, recordChecks } from './check/record-checks.ts'
import type { FareChange } from './decide/compare-readings.ts'
import type { DecisionRules } from './decide/confirmations.ts'
import type { Decision } from './decide/decide.ts'
import { heldKindOf } from './decide/fare-state.ts'
import { reportIncidents } from './hold/incidents.ts'

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

interface JudgedBatch {
  readonly batch: CheckBatch
  readonly habits: Habits
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

function writeBatch(
  { db, rules }: VerifyDeps,
  { batch, habits }: JudgedBatch,
  claim: ClaimRef | null,
) {
  const { checks, late, blocked } = batch
  const fareIds = checks.map(({ fareId }) => fareId)
  return inTransaction(db, async (tx) => {
    const locked = await (claim === null ? lockFares(tx, fareIds) : lockClaimed(tx, claim))
    const claimId = claim?.claimId ?? null
    const written = await recordChecks(tx, { checks, locked, rules, claimId })
    await countHabits(tx, written.recorded.map(answerOf), habits)
    if (claim !== null) await release(tx, claim.claimId, [...late, ...blocked])
    return { ...written, copies: copiesIn(checks, locked) }
  })
}

/** An answer, with what was believed before it. */
function answerOf({ state: { belief }, check: { observation } }: RecordedCheck): CountedAnswer {
  const areGone = {
    outbound: belief.outbound.belief === 'unavailable',
    return: belief.return?.belief === 'unavailable',
  }
  return { observation, areGone }
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
  log.debug({ fareId, kind, reason, before, after }, 'fare changed')
}
