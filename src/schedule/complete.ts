import type { RatedState } from '../platform/base/kinds.ts'
import { PREPARED, sql, type Tx } from '../platform/db/database.ts'
import {
  columnsOf,
  memoryOf,
  ratesOf,
  readFares,
  readPaces,
  type StoredFare,
  shortestOf,
} from './fare-memory.ts'
import { pullRoutes, surprisingRoutes } from './follow.ts'
import { learnCheck } from './policy/learn-check.ts'
import { FIRST_RATE, type Pace } from './policy/pace.ts'
import { changesPerDay, type FareMemory, surpriseAt } from './policy/rate-model.ts'
import { dueAfterCheck, dueAtRate } from './policy/virtual-time.ts'
import { RETRY_AFTER_SECONDS, type ScheduleRules } from './schedule-rules.ts'

/**
 * What follows a check: the next one by the schedule, a confirmation at an instant, one early retry, or the next
 * one after a pause.
 */
export type FollowUp =
  | 'normal'
  | 'retry'
  | { readonly confirmAt: Date }
  | { readonly pauseSeconds: number }

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

export interface CompletedCheck {
  readonly fareId: number
  /** When its request began, by the database's clock. */
  readonly askedAt: Date
  readonly next: FollowUp
  /** Missing where the check shows nothing of the rate of change: it failed, or awaits its confirmation. */
  readonly rating?: CheckRating | undefined
}

/**
 * Sets when each checked fare is due again, with its new rate, and releases its claim. The caller holds the locks
 * of the rows (`hold`).
 *
 * `not_before` keeps the shortest interval from request to request: counted from now, every interval would be longer by
 * the time that the batch took. A failure has one early retry. A retry that fails again waits for the next check by the
 * schedule: otherwise ids that never answer would hold up the queue.
 */
export async function complete(
  tx: Tx,
  checks: readonly CompletedCheck[],
  rules: ScheduleRules,
): Promise<void> {
  if (checks.length === 0) return
  const fares = await readFares(
    tx,
    checks.map(({ fareId }) => fareId),
  )
  const resellers = [...fares.values()].flatMap((fare) => fare.resellers)
  const paces = await readPaces(tx, [...new Set(resellers)])
  const learning = await learn(tx, checks, fares, rules)
  const rows = checks.flatMap((check) => {
    const fare = fares.get(check.fareId)
    const learned = learning.get(check.fareId)
    if (fare === undefined || learned === undefined) return []
    return [completedRow(fare, check, { ...learned, paces, rules })]
  })
  await saveCompleted(tx, rows)
  if (rules.rates) await pullSurprised(tx, checks, rules)
}

interface Learned {
  readonly memory: FareMemory
  /** Null before the first rating. */
  readonly changesPerDay: number | null
  readonly surprise: number
  readonly route: string | null
}

/** What each check shows of the rate of change. One without a rating shows nothing. */
async function learn(
  tx: Tx,
  checks: readonly CompletedCheck[],
  fares: ReadonlyMap<number, StoredFare>,
  { rates }: ScheduleRules,
): Promise<ReadonlyMap<number, Learned>> {
  const isRated = rates !== undefined && checks.some(({ rating }) => rating !== undefined)
  const model = isRated ? await rates.read(tx) : undefined
  return new Map(
    checks.flatMap(({ fareId, askedAt, rating }) => {
      const fare = fares.get(fareId)
      if (fare === undefined) return []
      if (model === undefined || rating === undefined) return [[fareId, unchanged(fare)] as const]
      const { counts, ...check } = rating
      const at = { at: askedAt.getTime() / 1_000, route: rating.route }
      const before = memoryOf(fare)
      const memory = learnCheck(model, counts ? before : { ...before, state: null }, {
        ...at,
        ...check,
      })
      const learned = {
        memory,
        changesPerDay: changesPerDay(model, memory, at),
        surprise: surpriseAt(model, memory, at),
        route: rating.route ?? fare.route,
      }
      return [[fareId, learned] as const]
    }),
  )
}

/** The check has used what its route had made it sooner by. */
function unchanged(fare: StoredFare): Learned {
  const { changesPerDay, route } = fare
  return { memory: memoryOf(fare), changesPerDay, surprise: 1, route }
}

interface CompleteArgs extends Learned {
  readonly paces: ReadonlyMap<number, Pace>
  readonly rules: ScheduleRules
}

function completedRow(
  fare: StoredFare,
  { askedAt, next }: CompletedCheck,
  { memory, surprise, route, paces, rules, ...learned }: CompleteArgs,
) {
  const shortest = shortestOf(fare, rules.minRecheckSeconds)
  const pause = typeof next === 'object' && 'pauseSeconds' in next ? next.pauseSeconds : 0
  const seconds = Math.max(shortest, Math.round(pause))
  const args = { memory, paces, minRecheckSeconds: rules.minRecheckSeconds }
  const computed = ratesOf(fare, { ...args, changesPerDay: learned.changesPerDay ?? FIRST_RATE })
  // A fare that has not joined the queue, or whose watches have changed, does so when the paces are solved with it.
  const isApplied = fare.rates.length > 0 && computed.rate !== null
  const rates = isApplied ? computed.rates : fare.rates
  const rate = isApplied ? computed.rate : fare.rate
  const lane = laneAfter(fare, next)
  return {
    fareId: fare.fareId,
    askedAt,
    seconds,
    lane,
    laneDueAt: confirmAtOf(next),
    vdue: String(dueAfter(fare, rate, seconds)),
    scores: computed.scores,
    rates,
    rate,
    route,
    surprise,
    changesPerDay: learned.changesPerDay,
    ...columnsOf(memory),
  }
}

function confirmAtOf(next: FollowUp): Date | null {
  return typeof next === 'object' && 'confirmAt' in next ? next.confirmAt : null
}

function laneAfter(fare: StoredFare, next: FollowUp): 'confirmation' | 'retry' | null {
  if (confirmAtOf(next) !== null) return 'confirmation'
  return next === 'retry' && fare.lane !== 'retry' ? 'retry' : null
}

/**
 * Only a check of the schedule is paid with the fare's turn: those in lanes and on demand are charged to their
 * resellers.
 */
function dueAfter(fare: StoredFare, rate: number | null, seconds: number): number {
  if (rate === null || fare.rate === null) return fare.vdue
  if (fare.isScheduledCheck) return dueAfterCheck({ vdue: fare.vdue, rate }, fare, seconds)
  const vdue = dueAtRate({ vdue: fare.vdue, rate: fare.rate }, rate, fare.v)
  return Math.max(vdue, fare.v + seconds * fare.speed)
}

type CompletedRow = ReturnType<typeof completedRow>

async function saveCompleted(tx: Tx, rows: readonly CompletedRow[]): Promise<void> {
  await sql`${PREPARED}
    update fare_schedule s
       set claim_id = null,
           slot_at = null,
           leased_until = '-infinity',
           not_before = least(i."askedAt", clock_timestamp()) + make_interval(secs => i.seconds),
           interval_seconds = i.seconds,
           vdue = i.vdue,
           lane = i.lane,
           lane_reseller = null,
           lane_due_at = case i.lane
             when 'confirmation' then i."laneDueAt"
             when 'retry' then clock_timestamp() + make_interval(secs => ${RETRY_AFTER_SECONDS})
           end,
           scores = i.scores,
           rates = i.rates,
           rate = i.rate,
           route = i.route,
           surprise = i.surprise,
           changes_per_day = i."changesPerDay",
           rated_state = i."ratedState",
           rated_at = to_timestamp(i."ratedAt"),
           changed_at = to_timestamp(i."changedAt"),
           available_changes = i."availableChanges",
           available_exposure = i."availableExposure",
           available_value = i."availableValue",
           unavailable_changes = i."unavailableChanges",
           unavailable_exposure = i."unavailableExposure",
           unavailable_value = i."unavailableValue"
      from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb)
        as i ("fareId" bigint, "askedAt" timestamptz, seconds int, lane text, "laneDueAt" timestamptz, vdue float8,
              scores float8[], rates float8[], rate float8, route text, surprise float8, "changesPerDay" float8,
              "ratedState" text, "ratedAt" float8, "changedAt" float8,
              "availableChanges" float8, "availableExposure" float8, "availableValue" float8,
              "unavailableChanges" float8, "unavailableExposure" float8, "unavailableValue" float8)
     where s.tracked_fare_id = i."fareId"
  `.execute(tx)
}

/** Pulls the other fares of routes forward whose changes surprise. */
async function pullSurprised(
  tx: Tx,
  checks: readonly CompletedCheck[],
  { rates }: ScheduleRules,
): Promise<void> {
  const changed = checks.filter(({ rating }) => rating?.changed)
  if (rates === undefined || changed.length === 0) return
  const at = Math.max(...changed.map(({ askedAt }) => askedAt.getTime())) / 1_000
  const routes = new Set(changed.flatMap(({ rating }) => rating?.route ?? []))
  await pullRoutes(tx, surprisingRoutes(await rates.read(tx), routes, at))
}
