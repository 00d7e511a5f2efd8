import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { gzipSync } from 'node:zlib'
import {
  type AvailabilityChangeDraft,
  appendAvailabilityChanges,
} from '../../changes/availability-feed.ts'
import { sql, type Tx } from '../../db/database.ts'
import { eventValue } from '../../recheck/policy/ticket.ts'
import type { RecheckRules } from '../../recheck/recheck-rules.ts'
import { type CompletedCheck, reschedule } from '../../recheck/reschedule.ts'
import type { Evidence } from '../../upstream/observation.ts'
import { notifyWatches } from '../../watch/notify-watches.ts'
import { type Decision, decide } from '../decide/decide.ts'
import type { DecisionRules } from '../decide/decide-leg.ts'
import { departsAt } from '../decide/departure.ts'
import {
  type FareState,
  initialState,
  pairOf,
  priceCheckOf,
  shownPrice,
  withoutInstants,
} from '../decide/fare-state.ts'
import { parseFareState } from '../decide/parse-fare-state.ts'
import { type BeliefRow, type LockedFare, saveBeliefs } from './belief-store.ts'
import type { Check } from './check-fares.ts'

/** A check that counted, and its decision. */
export interface RecordedCheck {
  readonly fareId: number
  readonly before: LockedFare
  readonly check: Check
  readonly decision: Decision
}

export interface RecordArgs {
  readonly checks: readonly Check[]
  readonly locked: readonly LockedFare[]
  readonly rules: DecisionRules & RecheckRules
  /** The claim of the schedule; null on demand. */
  readonly claimId: string | null
}

/**
 * Decides every check on the locked state of its fare, and writes the results of all in a few statements.
 *
 * A check is dropped if its request began before that of the last counted one, whose answer is newer, or if the caller
 * holds no lock on its fare.
 */
export async function recordChecks(tx: Tx, args: RecordArgs): Promise<RecordedCheck[]> {
  const recorded = decideChecks(args)
  await saveBeliefs(tx, recorded.map(beliefRow))
  await reschedule(tx, completedChecks(args, recorded), args.rules)
  // Last: both lock the heads of feeds until the commit.
  const changeSeqs = await appendChanges(tx, recorded, args.claimId)
  await notifyWatches(tx, { changeSeqs, goodFareIds: startingFares(recorded) })
  return recorded
}

/** The pure part: which checks count, and the decision of each. */
export function decideChecks({ checks, locked, rules }: RecordArgs): RecordedCheck[] {
  const byFare = new Map(locked.map((fare) => [fare.fareId, fare]))
  return checks.flatMap((check) => {
    const fare = byFare.get(check.fareId)
    if (fare === undefined) return []
    if (fare.askedAt !== null && check.askedAt <= fare.askedAt) return []
    const { askedAt, observation } = check
    return [
      {
        fareId: check.fareId,
        before: fare,
        check,
        decision: decide(stateOf(fare), { askedAt, observation }, rules),
      },
    ]
  })
}

function stateOf({ state, hasReturn, isAhead }: LockedFare): FareState {
  if (Object.keys(state).length === 0) return initialState(hasReturn)
  return isAhead ? withoutInstants(parseFareState(state)) : parseFareState(state)
}

function beliefRow({ fareId, before, check, decision }: RecordedCheck): BeliefRow {
  const { state, good, outcome, held, past } = decision
  const reason = [outcome.outbound, outcome.return].find((o) => o?.startsWith('unknown:'))
  return {
    fareId,
    before,
    ...beliefColumns(state),
    askedAt: check.askedAt,
    why: check.why,
    good,
    reason: reason?.slice('unknown:'.length) ?? null,
    held,
    past,
    sameFlights: before.hasFlights && haveSameFlights(before.state, state),
  }
}

function haveSameFlights(
  before: Partial<FareState>,
  { outbound, return: back }: FareState,
): boolean {
  return (
    isDeepStrictEqual(before.outbound?.flight, outbound.flight) &&
    isDeepStrictEqual(before.return?.flight, back?.flight)
  )
}

/** What the row of a fare shows of its state. */
export function beliefColumns(state: FareState) {
  const price = shownPrice(state)
  const priceCheck = priceCheckOf(state)
  return {
    outbound: state.outbound.belief,
    return: state.return?.belief ?? null,
    pair: pairOf(state),
    amount: price?.amount ?? null,
    currency: price?.currency ?? null,
    state,
    priceCheckedAt: priceCheck.checkedAt,
    priceReason: priceCheck.reason,
    everAvailableAt: state.everAvailableAt,
    departsAt: departsAt(state),
  }
}

/** Fares that had a good check while a watch of them waits to start. */
function startingFares(recorded: readonly RecordedCheck[]): number[] {
  return recorded
    .filter(({ before, decision }) => before.hasUnstartedWatch && decision.good)
    .map(({ fareId }) => fareId)
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
  { fareId, check, decision }: RecordedCheck,
  claimId: string | null,
): AvailabilityChangeDraft[] {
  const { evidence } = check.observation
  const evidenceHash = evidence.body === null ? null : hashOf(evidence.body)
  return decision.changes.map((change) => ({
    fareId,
    ...change,
    evidenceHash,
    provenance: provenanceOf(evidence, claimId),
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
 * Every locked fare of the claim is rescheduled, also one whose check was dropped: its interval counts from the newer check
 * that counted. A dropped check on demand reschedules nothing: the newer check did, and another process may hold a claim on
 * the fare since.
 */
function completedChecks(
  { locked, checks, claimId }: RecordArgs,
  recorded: readonly RecordedCheck[],
): CompletedCheck[] {
  const counted = new Map(locked.map((fare) => [fare.fareId, fare.askedAt]))
  const next = new Map(recorded.map(({ fareId, decision }) => [fareId, decision.next]))
  const ratings = new Map(
    recorded.map(({ fareId, decision }) => [fareId, ratingOf(decision, claimId)]),
  )
  return checks.flatMap(({ fareId, askedAt }) => {
    const before = counted.get(fareId)
    if (before === undefined || (claimId === null && !next.has(fareId))) return []
    const last = before === null || before < askedAt ? askedAt : before
    const rating = ratings.get(fareId)
    return [{ fareId, askedAt: last, next: next.get(fareId) ?? 'normal', rating }]
  })
}

/** What a decision shows of the fare's rate of change: nothing until the state of every leg is known and confirmed. */
function ratingOf({ state, changes, good, next }: Decision, claimId: string | null) {
  const pair = pairOf(state)
  const { flight } = state.outbound
  if (!good || next !== 'normal' || pair === 'unknown') return undefined
  return {
    state: pair === 'bookable' ? ('available' as const) : ('unavailable' as const),
    changed: changes.length > 0,
    value: eventValue(changes.map(({ kind }) => kind)),
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
