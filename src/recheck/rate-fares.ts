import type { RatedState } from '../base/kinds.ts'
import { type Db, PREPARED, sql, type Tx } from '../db/database.ts'
import { type Payer, readPayers } from './payers.ts'
import { learnCheck } from './policy/learn-check.ts'
import { changesPerDay, type FareMemory, type RateModel, surpriseAt } from './policy/rate-model.ts'
import { type ScheduleSums, ticketOf } from './policy/ticket.ts'
import type { RateStore } from './rate-store.ts'

/** What a check showed, as the estimator takes it. */
export interface CheckRating {
  readonly state: RatedState
  readonly changed: boolean
  /** The value of its changes. */
  readonly value: number
  /** The places of its outbound flight; null until an answer has shown it. */
  readonly route: string | null
  /** False for a check on demand: the person who asks may know of a change, so its interval counts neither way. */
  readonly counts: boolean
}

export interface CheckToRate {
  readonly fareId: number
  readonly askedAt: Date
  readonly rating: CheckRating
}

/** The columns of the schedule that a rating writes. Times are in seconds since 1970. */
export interface RatedFare {
  readonly fareId: number
  readonly ticket: number
  /** The expected changes a day that the ticket follows from, factors included. */
  readonly changesPerDay: number
  readonly route: string | null
  /** The surprise of its route that the ticket includes. */
  readonly surprise: number
  readonly ratedState: RatedState | null
  readonly ratedAt: number | null
  readonly changedAt: number | null
  readonly availableChanges: number
  readonly availableExposure: number
  readonly availableValue: number
  readonly unavailableChanges: number
  readonly unavailableExposure: number
  readonly unavailableValue: number
}

export interface StoredFare extends Omit<RatedFare, 'changesPerDay'> {
  readonly payer: number
  /** The resellers of its active watches, and for each the sum of their priorities. */
  readonly resellers: readonly number[]
  readonly weights: readonly number[]
  /** For each reseller the shortest of its longest delays, or null; empty if none has one. */
  readonly maxDelays: readonly (number | null)[]
  /** What its active watches ask for; null where one asks for none. */
  readonly minIntervalSeconds: number | null
  readonly departsAt: number | null
}

interface RateArgs {
  readonly rates: RateStore
  readonly requestsPerSecond: number
  readonly minRecheckSeconds: number
}

/** Updates the estimates of checked fares, and computes their tickets. The caller holds the locks of their schedule rows. */
export async function rateFares(
  tx: Tx,
  checks: readonly CheckToRate[],
  { rates, ...rules }: RateArgs,
): Promise<RatedFare[]> {
  if (checks.length === 0) return []
  const model = await rates.read(tx)
  const stored = await readFares(
    tx,
    checks.map(({ fareId }) => fareId),
  )
  const payers = await readPayers(
    tx,
    [...stored.values()].map(({ payer }) => payer),
  )
  return checks.flatMap((check) => {
    const fare = stored.get(check.fareId)
    const payer = fare && payers.get(fare.payer)
    if (fare === undefined || payer === undefined) return []
    return [rated(fare, check, { model, payer, ...rules })]
  })
}

interface Rating {
  readonly model: RateModel
  readonly payer: Payer
  readonly requestsPerSecond: number
  readonly minRecheckSeconds: number
}

function rated(
  fare: StoredFare,
  { askedAt, rating }: CheckToRate,
  { model, payer, requestsPerSecond, minRecheckSeconds }: Rating,
): RatedFare {
  const at = askedAt.getTime() / 1_000
  const { state, changed, value, counts, route } = rating
  const { departsAt } = fare
  const before = memoryOf(fare)
  const known = counts ? before : { ...before, state: null }
  const memory = learnCheck(model, known, { at, state, changed, value, departsAt, route })
  const surprise = surpriseAt(model, memory, { at, route })
  const worth = {
    weight: weightFor(fare, payer.id),
    value: memory.values[state],
    changesPerDay: changesPerDay(model, memory, { at, route }),
    maxDelaySeconds: maxDelayIn(fare, payer.id, minRecheckSeconds),
  }
  return {
    fareId: fare.fareId,
    ticket: ticketOf(worth, sumsOf(payer, requestsPerSecond)),
    changesPerDay: worth.changesPerDay,
    route,
    surprise,
    ...columnsOf(memory),
  }
}

/**
 * The weight of a fare in the queue of a payer: the sum of the payer's own priorities. So no reseller changes the order of
 * another's queue.
 */
export function weightFor(
  { resellers, weights }: Pick<StoredFare, 'resellers' | 'weights'>,
  payer: number,
): number {
  return weights[resellers.indexOf(payer)] ?? 1
}

/** The longest delay that is kept in the queue of a payer: its own, at least the shortest interval; null where it asks for none. */
export function maxDelayIn(
  { resellers, maxDelays }: Pick<StoredFare, 'resellers' | 'maxDelays'>,
  payer: number,
  minRecheckSeconds: number,
): number | null {
  const asked = maxDelays[resellers.indexOf(payer)] ?? null
  return asked === null ? null : Math.max(asked, minRecheckSeconds)
}

/** The sums of a payer's queue. */
export function sumsOf(
  { tickets, fares, budgetPart, promised }: Payer,
  requestsPerSecond: number,
): ScheduleSums {
  return { tickets, fares, requestsPerSecond: budgetPart * requestsPerSecond, promised }
}

/** What the schedule remembers of a fare. */
export function memoryOf(fare: StoredFare): FareMemory {
  return {
    departsAt: fare.departsAt,
    changedAt: fare.changedAt,
    state: fare.ratedState,
    countedAt: fare.ratedAt,
    rates: {
      available: { changes: fare.availableChanges, exposure: fare.availableExposure },
      unavailable: { changes: fare.unavailableChanges, exposure: fare.unavailableExposure },
    },
    values: { available: fare.availableValue, unavailable: fare.unavailableValue },
  }
}

function columnsOf({ state, countedAt, changedAt, rates, values }: FareMemory) {
  return {
    ratedState: state,
    ratedAt: countedAt,
    changedAt,
    availableChanges: rates.available.changes,
    availableExposure: rates.available.exposure,
    availableValue: values.available,
    unavailableChanges: rates.unavailable.changes,
    unavailableExposure: rates.unavailable.exposure,
    unavailableValue: values.unavailable,
  }
}

export async function readFares(
  db: Db,
  fareIds: readonly number[],
): Promise<ReadonlyMap<number, StoredFare>> {
  const { rows } = await sql<StoredFare>`${PREPARED}
    select q.tracked_fare_id as "fareId", q.ticket, q.route, q.surprise, q.rated_state as "ratedState",
           extract(epoch from q.rated_at)::float8 as "ratedAt",
           extract(epoch from q.changed_at)::float8 as "changedAt",
           q.available_changes as "availableChanges", q.available_exposure as "availableExposure",
           q.available_value as "availableValue", q.unavailable_changes as "unavailableChanges",
           q.unavailable_exposure as "unavailableExposure", q.unavailable_value as "unavailableValue",
           q.payer, f.resellers, f.weights, f.max_delays as "maxDelays",
           f.min_interval_seconds as "minIntervalSeconds",
           extract(epoch from s.departs_at)::float8 as "departsAt"
      from fare_schedule q
      join tracked_fare f on f.id = q.tracked_fare_id
      left join fare_state s on s.tracked_fare_id = q.tracked_fare_id
     where q.tracked_fare_id = any(${fareIds}::bigint[])
  `.execute(db)
  return new Map(rows.map((row) => [row.fareId, row]))
}
