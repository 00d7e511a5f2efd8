import { hash } from 'node:crypto'
import type { Clock } from '../platform/base/clock.ts'
import { AppError } from '../platform/base/errors.ts'
import type { UnknownReason } from '../platform/base/kinds.ts'
import { createFairSemaphore } from '../platform/base/semaphore.ts'
import { type Db, type RawBuilder, sql } from '../platform/db/database.ts'
import { pausedForMs } from '../platform/db/pauses.ts'
import { isAhead } from '../platform/db/transaction.ts'
import { pay } from '../schedule/claim.ts'
import { STALE_SECONDS } from '../schedule/due.ts'
import {
  reserveOne,
  type Skew,
  type TakenSlot,
  takeSlot,
  waitForSlot,
} from '../upstream/budget/take-slot.ts'
import { judgedBy, readHabits } from '../upstream/flights/answer-habits.ts'
import { circuitOpenObservation } from '../upstream/flights/verify-fares.ts'
import type { LegObservation, Observation } from '../upstream/observation.ts'
import {
  assertQuestion,
  assertTwoFlights,
  type Question,
  questionKey,
} from '../upstream/question.ts'
import { asks } from '../upstream/question-sql.ts'
import { parseKeepingDigits } from '../upstream/strict-json.ts'
import { UpstreamCircuitOpenError, UpstreamSlotMissedError } from '../upstream/upstream-errors.ts'
import { LEFT_OUT } from './answer.ts'
import { isRateLimited, recordBatch, type VerifyDeps } from './check.ts'

/** The budget granted no slot in time. */
export class NoSlotError extends AppError {
  override readonly name = 'NoSlotError'
  override readonly code = 'verify.no_slot'
  override readonly retryable = true
  /** Slots are granted at most this far ahead, so those that are taken now have passed by then. */
  readonly retryAfterMs = 5_000

  constructor(timeoutMs: number) {
    super(`the budget granted no slot for an on-demand check within ${timeoutMs} ms`)
  }
}

const PAUSE_MS = { min: 50, max: 1_000 }

interface SlotQueueDeps {
  readonly db: Db
  readonly clock: Clock
  readonly requestsPerSecond: number
  /** How long a check waits until a slot is granted to it. */
  readonly timeoutMs: number
}

/** The number of a reseller, or the text that stands for another caller. */
export type CallerKey = number | string

/** Takes a slot for a check that a caller waits for, and pays for. */
type TakeSlotFor = (caller: CallerKey, signal: AbortSignal) => Promise<TakenSlot>

/**
 * Creates the queue in which this process's on-demand checks wait for slots. Callers take turns, so that the many
 * questions of one delay those of another by one slot each.
 *
 * Only the first of the queue queries the budget: every worker needs that row's lock. The returned function throws
 * NoSlotError, or the signal's reason when it aborts.
 */
export function createSlotQueue(deps: SlotQueueDeps): TakeSlotFor {
  const queue = createFairSemaphore(1)
  const { clock, timeoutMs } = deps
  return async (caller, signal) => {
    const endMs = clock.now().getTime() + timeoutMs
    for (;;) {
      const { slot, ...skew } = await queue(caller, () =>
        reserveUntil(deps, { caller, endMs }, signal),
      )
      const taken = await waitForSlot(slot, { ...skew, clock, signal })
      if (taken !== undefined) return taken
    }
  }
}

async function reserveUntil(
  { db, clock, requestsPerSecond, timeoutMs }: SlotQueueDeps,
  { caller, endMs }: { readonly caller: CallerKey; readonly endMs: number },
  signal: AbortSignal,
): Promise<Skew & { readonly slot: Date }> {
  const payers = typeof caller === 'number' ? [{ resellerId: caller, part: 1 }] : []
  const pauseMs = Math.min(PAUSE_MS.max, Math.max(PAUSE_MS.min, 1_000 / requestsPerSecond))
  for (;;) {
    signal.throwIfAborted()
    const request = { requestsPerSecond, lane: true }
    const { slot, ...skew } = await reserveOne(db, clock, request, (tx) =>
      pay(tx, [{ payers, vdue: null }]),
    )
    if (slot !== undefined) return { slot, ...skew }
    if (clock.now().getTime() + pauseMs > endMs) throw new NoSlotError(timeoutMs)
    await clock.sleep(pauseMs, signal)
  }
}

/** Why there is no answer: the observation was unknown, or the call was not made or not kept whole. */
type UnknownResultReason = UnknownReason | 'aged' | 'paused' | 'no_slot' | 'too_large' | 'stopping'

/** Constant texts: what the upstream sent with its answer is for the log only. */
export const DETAILS: Readonly<Record<UnknownResultReason, string>> = {
  timeout: 'the upstream did not answer in time',
  network: 'the connection to the upstream failed',
  http_4xx: 'the upstream rejected the request',
  http_5xx: 'the upstream failed',
  rate_limited: 'the upstream is limiting our requests',
  auth: 'the upstream rejected our credential',
  malformed: 'the upstream sent an unreadable answer',
  contract_violation: 'the answer of the upstream does not conform to its interface',
  id_missing: 'the answer of the upstream lacks a requested flight',
  other_flight: 'the upstream answered with a flight of another id',
  other_passengers: 'the upstream answered with prices for other passengers',
  unknown_members: 'the answer of the upstream has members that its interface does not have',
  identity_mismatch: 'the upstream answered with another flight',
  circuit_open: 'requests to the upstream are suspended, because it fails or has asked for a pause',
  aged: 'the answer is an old one that a cache has kept',
  paused: 'operators have paused the checks; with maxAge a kept answer is returned',
  no_slot: 'the budget of requests to the upstream is used up',
  too_large: 'the answer of the upstream is too large',
  stopping: 'this process is stopping',
}

/** The answer of an on-demand check to its caller. */
export type VerifyResult = KnownResult | UnknownResult

interface KnownResult {
  readonly kind: 'known'
  /** The text of the interface's Verify result. */
  readonly body: string
}

export interface UnknownResult {
  readonly kind: 'unknown'
  readonly reason: UnknownResultReason
  /** How long the caller should wait before it asks again. */
  readonly retryAfterMs: number
}

const RETRY_AFTER_MS = 5_000

export function unknownResult(
  reason: UnknownResultReason,
  retryAfterMs = RETRY_AFTER_MS,
): UnknownResult {
  return { kind: 'unknown', reason, retryAfterMs }
}

/**
 * Turns an observation into the answer for the caller: the availability of every flight in the question, or unknown.
 * One that is too old for the record of a tracked fare is too old for a caller.
 *
 * A result without one of the flights would be read as "not available". So one unknown flight makes the whole
 * result unknown.
 */
function parseVerifyResult(question: Question, observation: Observation): VerifyResult {
  const legs = legsOf(question, observation)
  for (const { leg } of legs) {
    if (leg.kind === 'unknown') return unknownResult(leg.reason, observation.retryAfterMs)
  }
  if (observation.ageSeconds > STALE_SECONDS) return unknownResult('aged')
  const someAvailable = legs.some(({ leg }) => leg.kind === 'available')
  // Reading the evidence's body has a cost, and the flights are needed only if one is available.
  const flights = someAvailable ? parseBody(observation.evidence.body) : undefined
  const entries: string[] = []
  for (const { id, leg } of legs) {
    const available = leg.kind === 'available'
    const flight = available ? flightIn(flights, id) : undefined
    // The observation was read from the whole answer. The evidence keeps only the beginning of a long one.
    if (available && flight === undefined) return unknownResult('too_large')
    entries.push(`${JSON.stringify(id)}:${JSON.stringify({ available, flight }, exactDigits)}`)
  }
  return { kind: 'known', body: `{${entries.join(',')}}` }
}

interface AskedLeg {
  readonly id: string
  readonly leg: LegObservation
}

function legsOf({ flightId, returnFlightId }: Question, observation: Observation): AskedLeg[] {
  const outbound = { id: flightId, leg: observation.outbound }
  if (returnFlightId === null) return [outbound]
  return [outbound, { id: returnFlightId, leg: observation.return ?? LEFT_OUT }]
}

function parseBody(body: string | null): unknown {
  if (body === null) return undefined
  try {
    return parseKeepingDigits(body)
  } catch {
    return undefined
  }
}

/** The flight as the upstream sent it, with our secrets removed. */
function flightIn(answer: unknown, id: string): object | undefined {
  if (!isObject(answer) || !Object.hasOwn(answer, id)) return undefined
  const entry = answer[id]
  return isObject(entry) && isObject(entry.flight) ? entry.flight : undefined
}

/** TypeScript's library does not declare `JSON.rawJSON` yet. */
const { rawJSON } = JSON as unknown as { rawJSON: (text: string) => unknown }

/** Integers that no float holds are parsed as bigints, and written with all their digits. */
function exactDigits(_name: string, value: unknown): unknown {
  return typeof value === 'bigint' ? rawJSON(value.toString()) : value
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Answers of on-demand checks are kept this long; no `maxAge` reaches further back. */
export const MAX_AGE_SECONDS = 600

/** An answer that an on-demand check received. */
interface CachedObservation {
  /** When the request to the upstream began, by the database's clock, or the `Age` of the answer before. */
  readonly askedAt: Date
  /** The text of the interface's Verify result. */
  readonly body: string
}

/**
 * Keeps the answer to a question for every API process. Of two answers the one whose request began later stays, unless
 * its time lies ahead of the clock.
 * Also deletes expired answers, so that the table holds no more than ten minutes of on-demand checks.
 */
export async function publishResult(
  db: Db,
  question: Question,
  { askedAt, body }: CachedObservation,
): Promise<void> {
  const row = { question: keyOf(question), asked_at: askedAt, body }
  await db
    .insertInto('verify_result')
    .values(row)
    .onConflict((conflict) =>
      conflict
        .column('question')
        .doUpdateSet({ asked_at: askedAt, body })
        .where((kept) =>
          kept.or([
            kept('verify_result.asked_at', '<', askedAt),
            isAhead(sql`verify_result.asked_at`),
          ]),
        ),
    )
    .execute()
  await deleteExpired(db)
}

/** Skips rows that another process is deleting or replacing: two deletes must not wait for each other. */
async function deleteExpired(db: Db): Promise<void> {
  const expired = db
    .selectFrom('verify_result')
    .select('question')
    .where('asked_at', '<', secondsAgo(MAX_AGE_SECONDS))
    .forUpdate()
    .skipLocked()
  await db.deleteFrom('verify_result').where('question', 'in', expired).execute()
}

/** The kept answer to a question, unless its request began more than `maxAgeSeconds` ago. */
export async function findCachedObservation(
  db: Db,
  question: Question,
  maxAgeSeconds: number,
): Promise<CachedObservation | undefined> {
  return db
    .selectFrom('verify_result')
    .select(['asked_at as askedAt', 'body'])
    .where('question', '=', keyOf(question))
    .where('asked_at', '>=', secondsAgo(maxAgeSeconds))
    .where('asked_at', '<=', sql<Date>`clock_timestamp()`)
    .executeTakeFirst()
}

function secondsAgo(seconds: number): RawBuilder<Date> {
  return sql`clock_timestamp() - make_interval(secs => ${seconds}::int)`
}

/** A question's text may be longer than an index entry allows. */
function keyOf(question: Question): string {
  return hash('sha256', questionKey(question))
}

interface OnDemandAnswer {
  readonly observation: Observation
  /** The observation as the answer to a caller. */
  readonly result: VerifyResult
  /** The tracked fare that recorded the check; null if no watch asks the question. */
  readonly fareId: number | null
}

interface OnDemandCheckDeps extends VerifyDeps {
  /** Waits for a slot of the budget, and throws if it gets none. If unset, the check waits without a time limit. */
  readonly takeSlot?: (signal: AbortSignal) => Promise<TakenSlot>
}

/**
 * Checks one question now, in a slot that the budget reserves for lanes.
 *
 * A known answer is kept for callers that accept an older one, and a tracked fare records the check by the same rules
 * as a scheduled one. While the circuit breaker is open or the upstream has asked for a pause, no call is made and no
 * slot is taken: the answer is unknown, `circuit_open`, and nothing is recorded.
 *
 * Throws ChecksPausedError while operators have paused the checks. Throws PassengerRuleError, QuestionError or SameFlightError, before it takes a slot, for a question that must not
 * be sent.
 */
export async function verifyOnDemand(
  deps: OnDemandCheckDeps,
  question: Question,
  signal: AbortSignal,
): Promise<OnDemandAnswer> {
  const { db } = deps
  assertQuestion(question)
  assertTwoFlights(question)
  const pausedMs = await pausedForMs(db, 'checks')
  if (pausedMs !== undefined) throw new ChecksPausedError(pausedMs)
  const { observation: read, askedAt } = await callUpstream(deps, question, signal)
  const observation = judgedBy(await readHabits(db, [read]), read)
  const result = parseVerifyResult(question, observation)
  const fareId = await findTrackedFare(db, question)
  if (askedAt !== null) {
    if (fareId !== null && !isRateLimited(observation)) {
      const check = { fareId, askedAt, why: 'on_demand', observation } as const
      await recordBatch(deps, { checks: [check], late: [], blocked: [] }, null)
    }
    if (result.kind === 'known') {
      const madeAt = new Date(askedAt.getTime() - observation.ageSeconds * 1_000)
      await publishResult(db, question, { askedAt: madeAt, body: result.body })
    }
  }
  return { observation, result, fareId }
}

/** A pause without an end, or with a late one, may be resumed at any time. */
const MOST_RETRY_AFTER_MS = 60_000

/** Operators have paused the checks. */
class ChecksPausedError extends AppError {
  override readonly name = 'ChecksPausedError'
  override readonly code = 'verify.paused'
  override readonly retryable = true
  readonly retryAfterMs: number

  constructor(pausedMs: number) {
    super('operators have paused the checks, so the upstream is not asked')
    this.retryAfterMs = Math.min(MOST_RETRY_AFTER_MS, pausedMs)
  }
}

interface Call {
  readonly observation: Observation
  /** When the request began, by the database's clock; null if no request was made. */
  readonly askedAt: Date | null
}

/** If the slot passes before the call can start, takes another slot. */
async function callUpstream(
  deps: OnDemandCheckDeps,
  question: Question,
  signal: AbortSignal,
): Promise<Call> {
  for (;;) {
    try {
      return await callAtSlot(deps, question, signal)
    } catch (err) {
      if (!(err instanceof UpstreamSlotMissedError)) throw err
    }
  }
}

async function callAtSlot(
  deps: OnDemandCheckDeps,
  question: Question,
  signal: AbortSignal,
): Promise<Call> {
  const { clock, upstream, breaker, metrics, countCall, takeSlot = slotTaker(deps) } = deps
  try {
    const admission = await breaker?.admission('verify')
    if (admission?.kind === 'refused') {
      const until = new Date(admission.untilMs)
      throw new UpstreamCircuitOpenError({ endpoint: 'verify', by: admission.by, until })
    }
    const slot = await takeSlot(signal)
    metrics.budgetSlots.inc({ lane: 'on_demand' })
    countCall?.('on_demand')
    const askedAt = slot.now()
    return { observation: await upstream.verifyFares(question, { signal, slot }), askedAt }
  } catch (err) {
    if (!(err instanceof UpstreamCircuitOpenError)) throw err
    return { observation: circuitOpenObservation(question, err, clock.now()), askedAt: null }
  }
}

function slotTaker({ db, clock, rules: { requestsPerSecond } }: VerifyDeps) {
  return (signal: AbortSignal) => takeSlot(db, { requestsPerSecond, lane: true, clock, signal })
}

async function findTrackedFare(db: Db, question: Question): Promise<number | null> {
  const fare = await db
    .selectFrom('tracked_fare as f')
    .select('id')
    .where(asks(question))
    .where('ended_at', 'is', null)
    .executeTakeFirst()
  return fare?.id ?? null
}

/** Verifies fares for callers that wait for the answer. */
export interface OnDemand {
  /**
   * The call continues when its caller disconnects: a tracked fare records it, and `maxAge` finds it.
   * Callers take turns for the slots of the budget; equal keys are one caller.
   */
  verify(question: Question, caller: CallerKey): Promise<VerifyResult>
  /** Aborts the calls in flight, whose results are then `stopping`, and resolves when none is left. */
  close(): Promise<void>
}

export interface OnDemandDeps extends VerifyDeps {
  /** How long a request may wait until the budget grants it a slot. A granted slot lies at most five seconds ahead. */
  readonly slotTimeoutMs?: number
}

/** Clients give up after about 30 s. A slot lies up to 5 s ahead, and the upstream may take 10 s to answer. */
const SLOT_TIMEOUT_MS = 10_000

export function createOnDemand(options: OnDemandDeps): OnDemand {
  const { slotTimeoutMs: timeoutMs = SLOT_TIMEOUT_MS, ...deps } = options
  const { db, clock, rules } = deps
  const { requestsPerSecond } = rules
  const queue = createSlotQueue({ db, clock, requestsPerSecond, timeoutMs })
  const ending = new AbortController()
  const { signal } = ending
  const inFlight = new Set<Promise<VerifyResult>>()

  async function call(question: Question, caller: CallerKey): Promise<VerifyResult> {
    const takeSlot = (ending: AbortSignal) => queue(caller, ending)
    try {
      const { result } = await verifyOnDemand({ ...deps, takeSlot }, question, signal)
      return result
    } catch (err) {
      if (err instanceof ChecksPausedError) return unknownResult('paused', err.retryAfterMs)
      if (err instanceof NoSlotError) return unknownResult('no_slot', err.retryAfterMs)
      if (signal.aborted) return unknownResult('stopping')
      throw err
    }
  }

  return {
    verify: (question, caller) => {
      const result = call(question, caller).finally(() => inFlight.delete(result))
      inFlight.add(result)
      return result
    },
    close: async () => {
      ending.abort()
      await Promise.allSettled(inFlight)
    },
  }
}
