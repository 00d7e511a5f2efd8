import { hash } from 'node:crypto'
import type { UnknownReason } from '../../platform/base/kinds.ts'
import { type Db, type RawBuilder, sql } from '../../platform/db/database.ts'
import { isAhead } from '../../platform/db/transaction.ts'
import { verifyPath } from '../../upstream/flights/verify-fares.ts'
import type { LegObservation, Observation, Question } from '../../upstream/observation.ts'
import { parseKeepingDigits } from '../../upstream/strict-json.ts'
import { LEFT_OUT } from '../decide/reading.ts'

/** Why there is no answer: the observation was unknown, or the call was not made or not kept whole. */
type UnknownResultReason = UnknownReason | 'paused' | 'no_slot' | 'too_large' | 'stopping'

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
 *
 * A result without one of the flights would be read as "not available". So one unknown flight makes the whole
 * result unknown.
 */
export function parseVerifyResult(question: Question, observation: Observation): VerifyResult {
  const legs = legsOf(question, observation)
  for (const { leg } of legs) {
    if (leg.kind === 'unknown') return unknownResult(leg.reason, observation.retryAfterMs)
  }
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
  /** When the request to the upstream began, by the database's clock. */
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
  return hash('sha256', verifyPath(question))
}
