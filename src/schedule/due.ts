import type { FastLane, FollowUp, RatedState } from '../platform/base/kinds.ts'
import { type Db, PREPARED, sql, type Tx } from '../platform/db/database.ts'
import { inTransaction, selectOne } from '../platform/db/transaction.ts'
import { reserveSlots } from '../upstream/budget/reserve-slots.ts'
import {
  addLessons,
  bringNeighbours,
  changeQueues,
  dueAfter,
  longestDelays,
  QUEUES,
  type QueueChange,
  readAllFares,
  scoreOf,
} from './queues.ts'
import {
  type AllFares,
  changesPerDay,
  type FareMemory,
  learn,
  NOTHING_KNOWN,
  sumLessons,
} from './score.ts'

/** How the budget is spent on checks. Rates are in requests a second, times in seconds. */
export interface ScheduleRules {
  readonly requestsPerSecond: number
  /** The minimum interval between two checks of a fare, unless its watches ask for a longer one. */
  readonly minRecheckSeconds: number
}

/** A claim whose results are not recorded by then ends: more than twice the timeout of a call to the upstream. */
export const LEASE_SECONDS = 60
export const RETRY_AFTER_SECONDS = 30
/**
 * The age of the last good check from which a belief may be stale: after six intervals, if that is longer. `fresh_for`
 * has the rule in SQL.
 */
export const STALE_SECONDS = 600
/** How far ahead slots of the budget can be reserved; this bounds the size of a claim. */
export const HORIZON_SECONDS = 5
/**
 * One claim is one job and one transaction: about a second of the budget, and no more fares than are read and
 * written in some tens of milliseconds.
 */
export const CLAIM_SECONDS = 1
export const CLAIM_FARES = 500
/** Shares of the budget for the lanes of new watches and of retries. All lanes together have 40 %. */
export const NEW_WATCH_SHARE = 0.2
export const RETRY_SHARE = 0.1

/** How many slots of the budget can be reserved at one moment. */
export function horizonCalls(requestsPerSecond: number): number {
  return Math.floor(requestsPerSecond * HORIZON_SECONDS) + 1
}

/** What a check showed of the fare's rate of change. */
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
 * Moves each checked fare to its next place in all the queues that it stands in, also where another reseller paid for the
 * check, and releases its claim. The caller holds the locks of the rows (`hold`).
 *
 * `not_before` keeps the minimum interval from request to request: counted from now, every interval would be longer by
 * the time that the batch took. A failure has one early retry. A retry that fails again waits for its turn: otherwise
 * ids that never answer would hold up the queue.
 */
export async function place(
  tx: Tx,
  checks: readonly CompletedCheck[],
  rules: ScheduleRules,
): Promise<Placed> {
  if (checks.length === 0) return { changes: [], lesson: NOTHING_KNOWN }
  const fares = await readFares(
    tx,
    checks.map(({ fareId }) => fareId),
  )
  const all = await readAllFares(tx)
  const placed = checks.flatMap((check) => {
    const fare = fares.get(check.fareId)
    return fare === undefined ? [] : [placedCheck(fare, check, { all, rules })]
  })
  const moved = await savePlaced(
    tx,
    placed.map(({ row }) => row),
  )
  const changed = checks.filter(({ rating }) => rating?.changed)
  const neighbours = await bringNeighbours(
    tx,
    changed.flatMap(({ rating }) => rating?.route ?? []),
  )
  return {
    changes: [...moved, ...neighbours],
    lesson: sumLessons(placed.map(({ lesson }) => lesson)),
  }
}

/** What checks add to the queues and to what all fares show. */
interface Placed {
  readonly changes: readonly QueueChange[]
  readonly lesson: AllFares
}

/** The last statements of their transaction: claims and records wait for the rows that they lock. */
export async function addPlaced(tx: Tx, { changes, lesson }: Placed): Promise<void> {
  await changeQueues(tx, changes)
  await addLessons(tx, lesson)
}

/** A fare as the schedule knows it. */
interface StoredFare {
  readonly fareId: number
  readonly memory: FareMemory
  readonly route: string | null
  readonly lane: FastLane | null
  /** What all its active watches allow; null where one of them sets nothing. */
  readonly minSeconds: number | null
  /** The longest delay that a watch asks for, stretched where its reseller's part does not suffice; null where none asks. */
  readonly maxSeconds: number | null
  /** Checks a second: one in the usual time; null before the first. */
  readonly rate: number | null
}

interface FareRow extends Omit<StoredFare, 'memory'> {
  readonly state: RatedState | null
  readonly countedAt: number | null
  readonly changedAt: number | null
  readonly availableChanges: number
  readonly availableExposure: number
  readonly availableValue: number
  readonly unavailableChanges: number
  readonly unavailableExposure: number
  readonly unavailableValue: number
}

export async function readFares(
  db: Db,
  fareIds: readonly number[],
): Promise<ReadonlyMap<number, StoredFare>> {
  const { rows } = await sql<FareRow>`${PREPARED}
    select q.tracked_fare_id as "fareId", q.lane, q.route, q.rate,
           q.rated_state as state, extract(epoch from q.rated_at)::float8 as "countedAt",
           extract(epoch from q.changed_at)::float8 as "changedAt",
           q.available_changes as "availableChanges", q.available_exposure as "availableExposure",
           q.available_value as "availableValue", q.unavailable_changes as "unavailableChanges",
           q.unavailable_exposure as "unavailableExposure", q.unavailable_value as "unavailableValue",
           f.min_interval_seconds as "minSeconds", m.seconds as "maxSeconds"
      from fare_schedule q
      join tracked_fare f on f.id = q.tracked_fare_id
      left join (${longestDelays(fareIds)}) m on m.tracked_fare_id = q.tracked_fare_id
     where q.tracked_fare_id = any(${fareIds}::bigint[])
  `.execute(db)
  return new Map(rows.map((row) => [row.fareId, { ...row, memory: memoryOf(row) }]))
}

function memoryOf(row: FareRow): FareMemory {
  const { changedAt, state, countedAt } = row
  return {
    changedAt,
    state,
    countedAt,
    rates: {
      available: { changes: row.availableChanges, exposure: row.availableExposure },
      unavailable: { changes: row.unavailableChanges, exposure: row.unavailableExposure },
    },
    values: { available: row.availableValue, unavailable: row.unavailableValue },
  }
}

interface PlaceArgs {
  readonly all: AllFares
  readonly rules: ScheduleRules
}

function placedCheck(
  fare: StoredFare,
  { fareId, askedAt, next, rating }: CompletedCheck,
  { all, rules: { minRecheckSeconds } }: PlaceArgs,
) {
  const at = askedAt.getTime() / 1_000
  const before = rating?.counts === false ? { ...fare.memory, state: null } : fare.memory
  const { memory, lesson } =
    rating === undefined
      ? { memory: fare.memory, lesson: NOTHING_KNOWN }
      : learn(all, before, { at, ...rating })
  const { state, countedAt, changedAt, rates, values } = memory
  const pause = typeof next === 'object' && 'pauseSeconds' in next ? next.pauseSeconds : 0
  const seconds = Math.max(minRecheckSeconds, fare.minSeconds ?? 0, 1, Math.round(pause))
  const row = {
    fareId,
    askedAt,
    seconds,
    ...urgentAfter(fare, { askedAt, next }, seconds),
    route: rating?.route ?? fare.route,
    changesPerDay: changesPerDay(all, memory, at),
    value: values[state ?? 'available'],
    state,
    countedAt,
    changedAt,
    availableChanges: rates.available.changes,
    availableExposure: rates.available.exposure,
    availableValue: values.available,
    unavailableChanges: rates.unavailable.changes,
    unavailableExposure: rates.unavailable.exposure,
    unavailableValue: values.unavailable,
  }
  return { row, lesson }
}

interface Urgent {
  readonly lane: FastLane | null
  /** From the request of the check. */
  readonly laneSeconds: number | null
}

/** Why and when the fare is urgent after a check: the earliest counts. */
function urgentAfter(
  { lane, maxSeconds }: StoredFare,
  { askedAt, next }: Pick<CompletedCheck, 'askedAt' | 'next'>,
  leastSeconds: number,
): Urgent {
  const longest =
    maxSeconds === null ? Number.POSITIVE_INFINITY : Math.max(maxSeconds, leastSeconds)
  const confirmSeconds =
    typeof next === 'object' && 'confirmAt' in next
      ? (next.confirmAt.getTime() - askedAt.getTime()) / 1_000
      : Number.POSITIVE_INFINITY
  const retrySeconds =
    next === 'retry' && lane !== 'retry' ? RETRY_AFTER_SECONDS : Number.POSITIVE_INFINITY
  if (confirmSeconds < longest) return { lane: 'confirmation', laneSeconds: confirmSeconds }
  if (retrySeconds < longest) return { lane: 'retry', laneSeconds: retrySeconds }
  return maxSeconds === null
    ? { lane: null, laneSeconds: null }
    : { lane: 'max_delay', laneSeconds: longest }
}

type PlacedRow = ReturnType<typeof placedCheck>['row']

/** Writes the rows of the fares and their turns. Returns what is to be added to the queues. */
async function savePlaced(tx: Tx, rows: readonly PlacedRow[]): Promise<QueueChange[]> {
  const { rows: moved } = await sql<QueueChange>`${PREPARED}
    with given as materialized (
      select *
        from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb)
          as g ("fareId" bigint, "askedAt" timestamptz, seconds int, lane text, "laneSeconds" float8, route text,
                "changesPerDay" float8, value float8, state text, "countedAt" float8, "changedAt" float8,
                "availableChanges" float8, "availableExposure" float8, "availableValue" float8,
                "unavailableChanges" float8, "unavailableExposure" float8, "unavailableValue" float8)
    ), next as materialized (
      select t.tracked_fare_id, t.reseller_id, n.score, p.speed, greatest(g.seconds, t.min_seconds) as seconds,
             t.max_seconds / p.kept as most,
             ${dueAfter(sql`n.score`, sql`g.seconds`, sql`t.min_seconds`)} as vdue
        from given g
        join turn t on t.tracked_fare_id = g."fareId"
        join (${QUEUES}) p using (reseller_id)
       cross join lateral (select ${scoreOf('g.changesPerDay', 'g.value')} as score) n
    ), placed as (
      update turn t
         set score = n.score, vdue = n.vdue
        from next n
       where t.tracked_fare_id = n.tracked_fare_id and t.reseller_id = n.reseller_id
      returning t.reseller_id, new.score - old.score as more
    ), usual as (
      select tracked_fare_id, max(1 / greatest(seconds, least(1 / (score * speed), most))) as rate
        from next
       where speed > 0
       group by tracked_fare_id
    ), saved as (
      update fare_schedule s
         set claim_id = null,
             slot_at = null,
             leased_until = '-infinity',
             not_before = n.began + make_interval(secs => g.seconds),
             interval_seconds = g.seconds,
             lane = g.lane,
             lane_reseller = null,
             lane_due_at = n.began + make_interval(secs => g."laneSeconds"),
             rate = coalesce(u.rate, s.rate),
             route = g.route,
             route_moved = false,
             changes_per_day = g."changesPerDay",
             rated_state = g.state,
             rated_at = to_timestamp(g."countedAt"),
             changed_at = to_timestamp(g."changedAt"),
             available_changes = g."availableChanges",
             available_exposure = g."availableExposure",
             available_value = g."availableValue",
             unavailable_changes = g."unavailableChanges",
             unavailable_exposure = g."unavailableExposure",
             unavailable_value = g."unavailableValue"
        from given g
        left join usual u on u.tracked_fare_id = g."fareId"
       -- The clock may have been set back since the request.
       cross join lateral (select least(g."askedAt", clock_timestamp()) as began) n
       where s.tracked_fare_id = g."fareId"
    )
    select reseller_id as id, sum(more) as scores from placed group by reseller_id
  `.execute(tx)
  return moved
}

/** Less is the difference between two readings of the clock. */
const SET_BACK_SECONDS = 10
/** One statement must end within its timeout. */
const BATCH = 50_000

/**
 * Corrects the times of the schedule if the clock of the database was set back since the last claim. Returns by how many
 * seconds at least, to one process alone; 0 if it was not.
 *
 * A time that lies further ahead than its fare's minimum interval ends now, and so does a lease. The slots of the budget
 * continue from now. Safe to run twice and in several processes: what is right stays.
 */
export async function correctSetBack(db: Db, requestsPerSecond: number): Promise<number> {
  if ((await readSetBack(db)) === 0) return 0
  while ((await correctTimes(db)) === BATCH);
  await inTransaction(db, (tx) => reserveSlots(tx, { requestsPerSecond, wanted: 0, lane: true }))
  return takeSetBack(db)
}

const IS_AHEAD = sql`claimed_at > clock_timestamp() + make_interval(secs => ${SET_BACK_SECONDS})`

async function readSetBack(db: Db): Promise<number> {
  const { seconds } = await selectOne(
    sql<{ seconds: number }>`${PREPARED}
      select case when ${IS_AHEAD} then extract(epoch from claimed_at - clock_timestamp())::float8 else 0 end as seconds
        from schedule_facts
    `,
    db,
  )
  return seconds
}

/** Returns how many rows were wrong. */
async function correctTimes(db: Db): Promise<number> {
  const mostLeased = sql`clock_timestamp() + make_interval(secs => ${LEASE_SECONDS + HORIZON_SECONDS})`
  const { rows } = await sql`
    with wrong as materialized (
      select q.tracked_fare_id as id, a.is_ahead
        from fare_schedule q
        left join fare_state s using (tracked_fare_id)
       cross join lateral (
             select q.not_before > clock_timestamp() + make_interval(secs => q.interval_seconds)
                    or q.lane_due_at > clock_timestamp() and s.last_check_at > clock_timestamp() as is_ahead) a
       where a.is_ahead or q.leased_until > ${mostLeased}
       limit ${BATCH}
         for update of q skip locked
    )
    update fare_schedule q
       set not_before = case when w.is_ahead then least(q.not_before, clock_timestamp()) else q.not_before end,
           lane_due_at = case when w.is_ahead and q.lane is not null then least(q.lane_due_at, clock_timestamp()) else q.lane_due_at end,
           leased_until = least(q.leased_until, ${mostLeased})
      from wrong w
     where q.tracked_fare_id = w.id
    returning q.tracked_fare_id
  `.execute(db)
  return rows.length
}

async function takeSetBack(db: Db): Promise<number> {
  const { rows } = await sql<{ seconds: number }>`
    update schedule_facts set claimed_at = clock_timestamp()
     where ${IS_AHEAD}
    returning extract(epoch from old.claimed_at - new.claimed_at)::float8 as seconds
  `.execute(db)
  return rows[0]?.seconds ?? 0
}
