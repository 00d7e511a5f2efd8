import type { FastLane, RatedState } from '../platform/base/kinds.ts'
import { type Db, PREPARED, sql } from '../platform/db/database.ts'
import { type Pace, rateFor, scoreOf } from './policy/pace.ts'
import { changesPerDay, type FareMemory, type RateModel } from './policy/rate-model.ts'
import type { VirtualClock } from './policy/virtual-time.ts'

/**
 * A row of the schedule, with what the fare's watches ask for and the present virtual clock. Times are in seconds
 * since 1970.
 */
export interface StoredFare extends VirtualClock {
  readonly fareId: number
  readonly vdue: number
  /** Null until the fare has joined the queue. */
  readonly rate: number | null
  /** Empty where the watches have changed since. */
  readonly rates: readonly number[]
  readonly lane: FastLane | null
  /** The shortest interval after its last check. */
  readonly intervalSeconds: number
  /** Whether a claim holds it that was made for the schedule: no check in a lane was due. */
  readonly isScheduledCheck: boolean
  readonly route: string | null
  /** The factor of its route's surprise that its time in the queue includes. */
  readonly surprise: number
  /** Null before the first check. */
  readonly changesPerDay: number | null
  readonly ratedState: RatedState | null
  readonly ratedAt: number | null
  readonly changedAt: number | null
  readonly availableChanges: number
  readonly availableExposure: number
  readonly availableValue: number
  readonly unavailableChanges: number
  readonly unavailableExposure: number
  readonly unavailableValue: number
  /** The resellers of its active watches, and for each the sum of their priorities. */
  readonly resellers: readonly number[]
  readonly weights: readonly number[]
  /** For each reseller the longest and the shortest interval that it asks for, or null. May be empty: none asks. */
  readonly longest: readonly (number | null)[]
  readonly shortest: readonly (number | null)[]
  /** What all its active watches allow; null where one of them sets nothing. */
  readonly minIntervalSeconds: number | null
}

const COLUMNS = sql`
  q.tracked_fare_id as "fareId", q.vdue, q.rate, q.rates, q.lane, q.interval_seconds as "intervalSeconds",
  q.claim_id is not null and (q.lane is null or q.lane_due_at > q.slot_at) as "isScheduledCheck", q.route, q.surprise,
  q.changes_per_day as "changesPerDay", q.rated_state as "ratedState", extract(epoch from q.rated_at)::float8 as "ratedAt",
  extract(epoch from q.changed_at)::float8 as "changedAt",
  q.available_changes as "availableChanges", q.available_exposure as "availableExposure", q.available_value as "availableValue",
  q.unavailable_changes as "unavailableChanges", q.unavailable_exposure as "unavailableExposure",
  q.unavailable_value as "unavailableValue",
  f.resellers, f.weights, f.max_delays as longest, f.min_intervals as shortest, f.min_interval_seconds as "minIntervalSeconds",
  c.v, c.speed
`

export async function readFares(
  db: Db,
  fareIds: readonly number[],
): Promise<ReadonlyMap<number, StoredFare>> {
  const { rows } = await sql<StoredFare>`${PREPARED}
    select ${COLUMNS}
      from fare_schedule q
      join tracked_fare f on f.id = q.tracked_fare_id
     cross join fare_schedule_clock c
     where q.tracked_fare_id = any(${fareIds}::bigint[])
  `.execute(db)
  return new Map(rows.map((row) => [row.fareId, row]))
}

/** What the schedule remembers of a fare. */
export function memoryOf(fare: StoredFare): FareMemory {
  return {
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

export function columnsOf({ state, countedAt, changedAt, rates, values }: FareMemory) {
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

/** The expected changes a day as of the last check; before it those of all fares. */
export function expectedChanges(model: RateModel, fare: StoredFare, at: number): number {
  return fare.changesPerDay ?? changesPerDay(model, memoryOf(fare), { at, route: null })
}

/** What a fare is worth to each of its resellers, and how often each wants it checked. */
interface FareRates {
  readonly scores: readonly number[]
  /** Empty where the pace of one of its resellers is not solved. */
  readonly rates: readonly number[]
  /** Their sum, as far as the shortest interval of the fare allows; null without rates. */
  readonly rate: number | null
}

interface RatesArgs {
  readonly memory: FareMemory
  readonly changesPerDay: number
  readonly paces: ReadonlyMap<number, Pace>
  readonly minRecheckSeconds: number
}

export function ratesOf(fare: StoredFare, args: RatesArgs): FareRates {
  const own = fare.resellers.map((_, i) => ownRateOf(fare, i, args))
  const scores = own.map(({ score }) => score)
  const rates = own.flatMap(({ rate }) => rate ?? [])
  if (rates.length === 0 || rates.length < scores.length) return { scores, rates: [], rate: null }
  const sum = rates.reduce((a, b) => a + b, 0)
  return { scores, rates, rate: Math.min(sum, 1 / shortestOf(fare, args.minRecheckSeconds)) }
}

/**
 * What a fare is worth to the reseller at a place of `resellers`, and what that spends on it; null until its pace
 * is solved. It depends on no other reseller of the fare.
 */
export function ownRateOf(
  fare: StoredFare,
  i: number,
  { memory, changesPerDay, paces, minRecheckSeconds }: RatesArgs,
): { readonly score: number; readonly rate: number | null } {
  const pace = paces.get(fare.resellers[i] ?? 0)
  const worth = {
    weight: fare.weights[i] ?? 1,
    value: memory.values[memory.state ?? 'available'],
    changesPerDay,
  }
  const score = scoreOf(worth, pace?.mostChanges ?? Number.MAX_VALUE)
  const limits = limitsOf(fare, i, minRecheckSeconds)
  return { score, rate: pace === undefined ? null : rateFor(pace, { score, ...limits }) }
}

/** What the reseller at a place of `resellers` asks for. */
export function limitsOf(
  { longest, shortest }: Pick<StoredFare, 'longest' | 'shortest'>,
  i: number,
  minRecheckSeconds: number,
) {
  return {
    longestSeconds: longest[i] ?? null,
    shortestSeconds: Math.max(minRecheckSeconds, shortest[i] ?? 0, 1),
  }
}

/** The shortest interval between two checks of a fare. */
export function shortestOf(
  { minIntervalSeconds }: Pick<StoredFare, 'minIntervalSeconds'>,
  minRecheckSeconds: number,
): number {
  return Math.max(minRecheckSeconds, minIntervalSeconds ?? 0, 1)
}

interface PaceRow extends Pace {
  readonly resellerId: number
}

/** Reads the paces of resellers; of all that have one without `ids`. */
export async function readPaces(db: Db, ids?: readonly number[]): Promise<Map<number, Pace>> {
  const { rows } = await sql<PaceRow>`${PREPARED}
    select reseller_id as "resellerId", per_score as "perScore", least_score as "leastScore", most_changes as "mostChanges", kept
      from fare_schedule_reseller
     where per_score > 0 and (${ids === undefined} or reseller_id = any(${ids ?? []}::bigint[]))
  `.execute(db)
  return new Map(rows.map(({ resellerId, ...pace }) => [resellerId, pace]))
}
