import { createHash } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { type AvailabilityChangeDraft, appendAvailabilityChanges } from '../feeds/append-records.ts'
import { CONTRADICTED, type HeldKind, isHeldKind } from '../platform/base/change-kinds.ts'
import type { FollowUp } from '../platform/base/kinds.ts'
import { type Db, PREPARED, sql, type Tx } from '../platform/db/database.ts'
import { inTransaction } from '../platform/db/transaction.ts'
import { release } from '../schedule/claim.ts'
import {
  addPlaced,
  type CompletedCheck,
  place,
  type ScheduleRules,
  STALE_SECONDS,
} from '../schedule/due.ts'
import { comeForward } from '../schedule/queues.ts'
import { eventValue } from '../schedule/score.ts'
import { type CountedAnswer, countHabits, type Habits } from '../upstream/flights/answer-habits.ts'
import type { Evidence } from '../upstream/observation.ts'
import { notifyWatches } from '../watches/notify-watches.ts'
import { type Answer, readingOf } from './answer.ts'
import {
  type Check,
  type ClaimRef,
  type CountedCheck,
  type LockedFare,
  lockClaimed,
  lockFares,
  type RecordedCheck,
  saveBeliefs,
} from './beliefs.ts'
import { type Decision, type DecisionRules, decide, followUnknown } from './decide.ts'
import {
  type AskedFlight,
  findMasses,
  followDisappeared,
  type IncidentTransition,
  markRecorded,
} from './incidents.ts'
import { askedLegs, returnsTo } from './mass.ts'
import { type FareState, hiddenReasonOf, stateOfRow, withoutInstants } from './state.ts'

/** The results since the last batch. */
export interface CheckBatch {
  readonly checks: readonly Check[]
  /** Fares that were not checked: their slot had passed by more than a second. */
  readonly late: readonly number[]
  /** Fares that were not checked: the circuit breaker was open, or the upstream answered 429. */
  readonly blocked: readonly number[]
}

/** A batch whose answers count as far as others of this time do. */
export interface JudgedBatch {
  readonly batch: CheckBatch
  readonly habits: Habits
}

/**
 * Records a batch in one transaction: locks the fares, releases those that could not be checked from the claim, and then
 * what `recordChecks` does. What they cost was paid when they were claimed.
 * @param claim null for checks on demand, which no claim holds.
 */
export function writeBatch(
  { db, rules }: { readonly db: Db; readonly rules: DecisionRules & ScheduleRules },
  { batch, habits }: JudgedBatch,
  claim: ClaimRef | null,
) {
  const { checks, late, blocked } = batch
  const fareIds = checks.map(({ fareId }) => fareId)
  return inTransaction(db, async (tx) => {
    const locked = await (claim === null ? lockFares(tx, fareIds) : lockClaimed(tx, claim))
    const claimId = claim?.claimId ?? null
    if (claim !== null) await release(tx, claim.claimId, [...late, ...blocked])
    const written = await recordChecks(tx, { checks, locked, rules, claimId, habits })
    return { ...written, copies: copiesIn(checks, locked) }
  })
}

export interface RecordArgs {
  readonly checks: readonly Check[]
  /** The fares of the checks whose locks the caller holds. */
  readonly locked: readonly LockedFare[]
  readonly rules: DecisionRules & ScheduleRules
  /** The claim of the schedule; null on demand. */
  readonly claimId: string | null
  /** What answers had in common before; unset where that is not counted. */
  readonly habits?: Habits
}

/** What became of a batch. The incidents are reported after the commit. */
interface RecordedBatch {
  readonly recorded: readonly RecordedCheck[]
  readonly transitions: readonly IncidentTransition[]
}

/**
 * Decides every check on the locked state of its fare, and writes the results of all in a few statements: counts the
 * masses, decides, saves, schedules, appends, notifies.
 *
 * A check is dropped if its request began before that of the last counted one, whose answer is newer, or if the caller
 * holds no lock on its fare.
 */
export async function recordChecks(tx: Tx, args: RecordArgs): Promise<RecordedBatch> {
  const counted = countChecks(args.checks, args.locked)
  const { context, transitions } = await findMasses(tx, askedFlights(counted))
  const recorded = counted.map((one) => {
    return { ...one, decision: decide(one.state, answerOf(one), args.rules, context) }
  })
  await saveBeliefs(tx, recorded)
  await markRecorded(tx, recorded.flatMap(recordedChange))
  if (args.habits) await countHabits(tx, recorded.map(countedAnswer), args.habits)
  const placed = await place(tx, completedChecks(args, recorded), args.rules)
  await comeForward(tx, answeredReasons(recorded))
  await followDisappeared(tx, disappearedKinds(recorded))
  // Last, because other transactions wait until the commit for what these lock: heads of feeds, the minute, queues.
  const changeSeqs = await appendChanges(tx, recorded, args.claimId)
  await notifyWatches(tx, { changeSeqs, startingFareIds: startingFares(recorded) })
  await countMinute(tx, args.checks.length, recorded)
  await addPlaced(tx, placed)
  return { recorded, transitions }
}

function answerOf({ askedAt, before, check: { observation } }: CountedCheck): Answer {
  return { askedAt, observation, intervalSeconds: before.intervalSeconds }
}

/** A change that was held counts no longer, nor does a return: what comes and goes by turns is no mass. */
function recordedChange({ fareId, before, state, askedAt, decision }: RecordedCheck) {
  const { intervalSeconds } = before
  const shown = { view: decision.state.belief, at: askedAt.toISOString() }
  const isReturn = returnsTo(state.replaced, shown)
  return decision.changes.slice(0, 1).map(({ heldSince }) => {
    return { fareId, at: askedAt, intervalSeconds, counts: heldSince === null && !isReturn }
  })
}

/** Adds the checks to those of this minute, and those that were unusable. */
async function countMinute(
  tx: Tx,
  checks: number,
  recorded: readonly RecordedCheck[],
): Promise<void> {
  if (checks === 0) return
  const unknown = recorded.filter(({ decision }) => decision.state.silence !== null).length
  await sql`${PREPARED}
    insert into check_minute as m (minute, checks, unknown)
    values (date_trunc('minute', clock_timestamp()), ${checks}, ${unknown})
        on conflict (minute) do update
       set checks = m.checks + excluded.checks, unknown = m.unknown + excluded.unknown
  `.execute(tx)
}

/** Why the fares could not be checked that have been answered again after a silence. */
function answeredReasons(recorded: readonly RecordedCheck[]): string[] {
  const answered = recorded.filter(
    ({ state, decision }) => state.silence?.isShown && decision.state.silence === null,
  )
  return [...new Set(answered.flatMap(({ before }) => before.lastReason ?? []))]
}

/** The kinds of changes that a mass held and that answers do not show any more. */
function disappearedKinds(recorded: readonly RecordedCheck[]): HeldKind[] {
  return recorded.flatMap(({ state: { candidate }, decision: { good, changes, state } }) => {
    const isGone = good && changes.length === 0 && state.candidate === null
    if (!candidate?.heldSince || !isGone) return []
    const { kind } = CONTRADICTED[candidate.contradiction]
    return isHeldKind(kind) ? [kind] : []
  })
}

/** The Date of answers is in whole seconds. */
const SAME_DATE_MS = 2_000

/**
 * Whether a cache has kept an answer: it has the Date of the last counted one, which was asked well before. A Date that is
 * far from now does not count, because an upstream whose clock has stopped sends the same one in every answer.
 */
function isCopy({ askedAt, observation: { datedAt } }: Check, last: LockedFare): boolean {
  if (datedAt === undefined || last.askedAt === null) return false
  const isLater = askedAt.getTime() - last.askedAt.getTime() > SAME_DATE_MS
  const isNear = Math.abs(askedAt.getTime() - datedAt.getTime()) <= STALE_SECONDS * 1_000
  return isLater && isNear && datedAt.getTime() === last.datedAt?.getTime()
}

function copiesIn(checks: readonly Check[], locked: readonly LockedFare[]): ReadonlySet<Check> {
  const byFare = new Map(locked.map((fare) => [fare.fareId, fare]))
  return new Set(
    checks.filter((check) => {
      const fare = byFare.get(check.fareId)
      return fare !== undefined && isCopy(check, fare)
    }),
  )
}

/**
 * The checks that count. The others are dropped: a later answer has been counted, the answer is as old as a stale
 * belief, or the caller holds no lock on the fare.
 */
export function countChecks(
  checks: readonly Check[],
  locked: readonly LockedFare[],
): CountedCheck[] {
  const byFare = new Map(locked.map((fare) => [fare.fareId, fare]))
  return checks.flatMap((check) => {
    const before = byFare.get(check.fareId)
    if (before === undefined || check.observation.ageSeconds > STALE_SECONDS) return []
    const askedAt = new Date(check.askedAt.getTime() - check.observation.ageSeconds * 1000)
    if (before.askedAt !== null && askedAt <= before.askedAt) return []
    if (isCopy(check, before)) return []
    return [{ fareId: check.fareId, before, state: stateOf(before), check, askedAt }]
  })
}

function stateOf(fare: LockedFare): FareState {
  return fare.isAhead ? withoutInstants(stateOfRow(fare)) : stateOfRow(fare)
}

/** What the counted checks show of each flight. */
function askedFlights(counted: readonly CountedCheck[]): readonly AskedFlight[] {
  return counted.flatMap((one) => {
    const { fareId, state, askedAt } = one
    const { intervalSeconds } = one.before
    const legs = askedLegs(state, readingOf(state, answerOf(one)))
    return legs.map((leg) => ({ fareId, askedAt, intervalSeconds, ...leg }))
  })
}

/**
 * Fares that had a good check, or were seen for the first time, while a watch of them waits to start. The first sight
 * of a pair may show the loss of one leg and nothing of the other: that is no good check, but the fare cannot be booked.
 */
function startingFares(recorded: readonly RecordedCheck[]): number[] {
  return recorded
    .filter(
      ({ before, decision }) =>
        before.hasUnstartedWatch &&
        (decision.good || isFirstSight(decision)) &&
        hiddenReasonOf(decision.state) === null,
    )
    .map(({ fareId }) => fareId)
}

function isFirstSight({ changes }: Decision): boolean {
  return changes.some(({ kind }) => kind === 'first_seen')
}

async function appendChanges(
  tx: Tx,
  recorded: readonly RecordedCheck[],
  claimId: string | null,
): Promise<number[]> {
  const changed = recorded.filter(({ decision }) => decision.changes.length > 0)
  if (changed.length === 0) return []
  const bodies = new Map(
    changed.flatMap(({ check }) => {
      const { body } = check.observation.evidence
      return body === null ? [] : [[hashOf(body), body] as const]
    }),
  )
  await saveEvidence(
    tx,
    [...bodies].map(([hash, body]) => ({ hash, body: gzipSync(body) })),
  )
  const drafts = changed.flatMap((record) => draftsOf(record, claimId))
  const appended = await appendAvailabilityChanges(tx, drafts)
  return appended.map((change) => change.seq)
}

function draftsOf(
  { fareId, check, decision, askedAt }: RecordedCheck,
  claimId: string | null,
): AvailabilityChangeDraft[] {
  const { evidence } = check.observation
  const evidenceHash = evidence.body === null ? null : hashOf(evidence.body)
  return decision.changes.map((change) => ({
    fareId,
    ...change,
    evidenceHash,
    provenance: { askedAt, ...provenanceOf(evidence, claimId) },
  }))
}

function provenanceOf(evidence: Evidence, claimId: string | null): object {
  const { status, latencyMs, requestFingerprint, parserVersion } = evidence
  return { claimId, requestFingerprint, status, latencyMs, parserVersion }
}

function hashOf(body: string): string {
  return createHash('sha256').update(body).digest('hex')
}

/**
 * Every locked fare of the claim is rescheduled, also one whose check was dropped: its interval counts from the
 * newer check that counted. A dropped check on demand reschedules nothing: the newer check did, and another process
 * may hold a claim on the fare since.
 */
function completedChecks(
  { locked, checks, claimId }: RecordArgs,
  recorded: readonly RecordedCheck[],
): CompletedCheck[] {
  const byFare = new Map(locked.map((fare) => [fare.fareId, fare]))
  const next = new Map(recorded.map(({ fareId, decision }) => [fareId, decision.next]))
  const ratings = new Map(
    recorded.map(({ fareId, decision }) => [fareId, ratingOf(decision, claimId)]),
  )
  return checks.flatMap((check) => {
    const { fareId, askedAt } = check
    const fare = byFare.get(fareId)
    if (fare === undefined || (claimId === null && !next.has(fareId))) return []
    const last = fare.askedAt === null || fare.askedAt < askedAt ? askedAt : fare.askedAt
    const follow = next.get(fareId) ?? followDropped(check, fare)
    return [{ fareId, askedAt: last, next: follow, rating: ratings.get(fareId) }]
  })
}

/** A confirmation goes on after an answer that was dropped, and an answer that is too old says nothing. */
function followDropped(
  { askedAt, observation: { ageSeconds } }: Check,
  fare: LockedFare,
): FollowUp {
  const state = stateOf(fare)
  if (state.candidate === null && ageSeconds === 0) return 'normal'
  return followUnknown(state, askedAt.toISOString())
}

/** What a decision shows of the fare's rate of change: nothing until the state of every leg is known and confirmed. */
function ratingOf({ state, changes, good, next }: Decision, claimId: string | null) {
  const { pair } = state.belief
  const flight = state.belief.outbound.flight ?? state.lastFlights.outbound
  const value = eventValue(changes.map(({ kind }) => kind))
  if (!good || next !== 'normal' || pair === 'unknown') return undefined
  return {
    state: pair === 'bookable' ? ('available' as const) : ('unavailable' as const),
    changed: value > 0,
    value,
    route: flight && `${flight.from}-${flight.to}`,
    counts: claimId !== null,
  }
}

/** Stores the answers behind changes: each once, compressed, as of its last citation. */
async function saveEvidence(
  tx: Tx,
  answers: readonly { readonly hash: string; readonly body: Buffer }[],
): Promise<void> {
  if (answers.length === 0) return
  await tx
    .insertInto('evidence')
    .values(answers)
    .onConflict((conflict) =>
      conflict.column('hash').doUpdateSet({ created_at: sql<Date>`clock_timestamp()` }),
    )
    .execute()
}

/** An answer, with what was believed before it. */
function countedAnswer({
  state: { belief },
  check: { observation },
}: RecordedCheck): CountedAnswer {
  const areGone = {
    outbound: belief.outbound.belief === 'unavailable',
    return: belief.return?.belief === 'unavailable',
  }
  return { observation, areGone }
}
