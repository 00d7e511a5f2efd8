import { type Db, sql, type Tx } from '../../src/platform/db/database.ts'
import { inTransaction } from '../../src/platform/db/transaction.ts'
import {
  type DispatchDeps,
  dispatchChecks,
  findTurns,
  findUrgent,
  saveClaims,
} from '../../src/schedule/claim.ts'
import { addPlaced, type CheckRating, type CompletedCheck, place } from '../../src/schedule/due.ts'

export interface NewFare {
  readonly vdue?: number
  readonly lane?: 'max_delay' | 'confirmation' | 'first_check' | 'retry' | null
  /** Seconds from now; an hour ago where missing. */
  readonly notBefore?: number
  readonly minIntervalSeconds?: number | null
  /** Its resellers, by number; the first alone where missing. */
  readonly resellers?: readonly number[]
  /** The sums of their priorities; 1 each where missing. */
  readonly weights?: readonly number[]
  /** What each of them asks for, or the first alone. */
  readonly maxDelays?: readonly (number | null)[]
  readonly maxDelaySeconds?: number | null
  /** For each of them the minimum interval that it asks for. */
  readonly minIntervals?: readonly (number | null)[]
  /** The score of each of its turns. */
  readonly score?: number
  readonly laneReseller?: number | null
}

/** Tracked fares on the schedule, all due; in the order given. */
export async function trackFares(db: Db, fares: readonly NewFare[]): Promise<number[]> {
  const next = await countFares(db)
  const rows = fares.map((fare, i) => {
    const { lane = null, resellers = [1], maxDelaySeconds = null, minIntervals = [] } = fare
    const { maxDelays = maxDelaySeconds === null ? [] : [maxDelaySeconds] } = fare
    const {
      vdue = 0,
      notBefore = -3_600,
      minIntervalSeconds = null,
      weights = resellers.map(() => 1),
      score = 1,
      laneReseller = lane === 'first_check' ? (resellers[0] ?? null) : null,
    } = fare
    const limits = { minIntervalSeconds, minIntervals, maxDelays, weights }
    return {
      flight: `F${next + i}`,
      vdue,
      lane,
      notBefore,
      resellers,
      score,
      laneReseller,
      ...limits,
    }
  })
  const { rows: made } = await sql<{ id: number }>`
    with given as materialized (
      select * from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb)
        as g (flight text, vdue float8, lane text, "notBefore" float8, "minIntervalSeconds" int,
              resellers bigint[], weights float8[], "maxDelays" int[], "minIntervals" int[], score float8,
              "laneReseller" bigint)
    ), known as (
      insert into reseller (id, name) overriding system value
      select distinct id, 'reseller-' || id from given cross join unnest(resellers) id
          on conflict do nothing
    ), fare as (
      insert into tracked_fare (flight_id, residents_adults, residents_children, residents_infants,
                                non_residents_adults, non_residents_children, non_residents_infants, min_interval_seconds,
                                max_delay_seconds, watchers)
      select flight, 0, 0, 0, 1, 0, 0, "minIntervalSeconds", (select min(asked) from unnest("maxDelays") asked), cardinality(resellers)
        from given
      returning id, flight_id
    ), scheduled as (
      insert into fare_schedule (tracked_fare_id, lane, lane_reseller, lane_due_at, not_before, rate)
      select id, lane, "laneReseller", case when lane is not null then clock_timestamp() end,
             clock_timestamp() + make_interval(secs => "notBefore"), score
        from given join fare on flight = flight_id
    ), turns as (
      insert into turn (tracked_fare_id, reseller_id, weight, min_seconds, max_seconds, promised, score, vdue)
      select fare.id, r.id, coalesce(g.weights[r.at], 1), g."minIntervals"[r.at], g."maxDelays"[r.at],
             coalesce(1.0::float8 / g."maxDelays"[r.at], 0), g.score, g.vdue
        from given g join fare on flight = flight_id
       cross join lateral unnest(g.resellers) with ordinality r (id, at)
      returning reseller_id, score, promised
    ), queued as (
      insert into reseller_queue (reseller_id, fares, scores, promised)
      select reseller_id, count(*), sum(score), sum(promised) from turns group by reseller_id
          on conflict (reseller_id) do update
         set fares = reseller_queue.fares + excluded.fares, scores = reseller_queue.scores + excluded.scores,
             promised = reseller_queue.promised + excluded.promised
    )
    select id from fare
  `.execute(db)
  return made.map(({ id }) => id).sort((a, b) => a - b)
}

async function countFares(db: Db): Promise<number> {
  const { rows } = await sql<{ n: number }>`select count(*) as n from tracked_fare`.execute(db)
  return rows[0]?.n ?? 0
}

export type Queue = DispatchDeps['queue']

export const idleQueue: Queue = { enqueue: async () => undefined }

/** One dispatch. Returns the fares in the order of their slots. */
export async function dispatch(
  db: Db,
  requestsPerSecond: number,
  queue: Queue = idleQueue,
): Promise<number[]> {
  const checks = await dispatchChecks({ db, queue, requestsPerSecond, minRecheckSeconds: 60 })
  return checks
    .toSorted((a, b) => a.slotAt.getTime() - b.slotAt.getTime())
    .map((check) => check.fareId)
}

/** Moves slots, leases and due times as if so much time had passed. */
export async function pass(db: Db, seconds: number): Promise<void> {
  const by = sql`make_interval(secs => ${seconds})`
  await sql`
    update upstream_budget set next_slot_at = next_slot_at - ${by}, next_lane_at = next_lane_at - ${by}
  `.execute(db)
  await sql`
    update fare_schedule
       set not_before = not_before - ${by}, leased_until = leased_until - ${by},
           lane_due_at = lane_due_at - ${by}, slot_at = slot_at - ${by}, rated_at = rated_at - ${by}
  `.execute(db)
  await sql`update reseller_queue set moved_at = moved_at - ${by}`.execute(db)
}

/** What a check shows of an available fare that has not changed. */
export const UNCHANGED: CheckRating = {
  state: 'available',
  changed: false,
  value: 0,
  route: null,
  counts: true,
}

export function complete(
  db: Db,
  checks: readonly CompletedCheck[],
  rules = { requestsPerSecond: 10, minRecheckSeconds: 60 },
): Promise<void> {
  return inTransaction(db, async (tx) => addPlaced(tx, await place(tx, checks, rules)))
}

/** Claims the next checks, urgent ones first, whatever the slots. Their lease has ended already. */
export async function claimNext(tx: Tx, limit: number, requestsPerSecond = 1): Promise<number[]> {
  const urgent = (await findUrgent(tx, requestsPerSecond)).slice(0, limit)
  const without = urgent.map(({ fareId }) => fareId)
  const turns = await findTurns(tx, { limit: limit - urgent.length, without })
  const claim = { claimId: '00000000-0000-4000-8000-000000000001', slotAt: new Date(0) }
  const checks = [...urgent, ...turns].map((fare) => ({ ...fare, ...claim }))
  await saveClaims(tx, checks, { budget: requestsPerSecond, minRecheckSeconds: 0 })
  return checks.map(({ fareId }) => fareId)
}

interface RunArgs {
  readonly requestsPerSecond?: number
  /** As many seconds pass between two claims. */
  readonly step?: number
  /** What a check shows of a fare. */
  readonly rate?: (fareId: number) => CheckRating | undefined
}

/**
 * Runs the schedule without a minimum interval of its own. Time passes in steps, of which the time that the machine takes
 * is a part: a slow one changes nothing. Returns when each fare was checked, in seconds from the start.
 */
export async function runSchedule(
  db: Db,
  seconds: number,
  { requestsPerSecond = 1, step = 10, rate = () => undefined }: RunArgs = {},
): Promise<(fare: number) => readonly number[]> {
  const rules = { requestsPerSecond, minRecheckSeconds: 0 }
  const checks = new Map<number, number[]>()
  let askedAt = new Date()
  for (let at = step; at <= seconds; at += step) {
    const now = new Date()
    await pass(db, step - (now.getTime() - askedAt.getTime()) / 1_000)
    askedAt = now
    await inTransaction(db, async (tx) => {
      const done = await claimNext(tx, step * requestsPerSecond, requestsPerSecond)
      for (const fare of done) checks.set(fare, [...(checks.get(fare) ?? []), at])
      const placed = done.map((fareId) => {
        return { fareId, askedAt, next: 'normal' as const, rating: rate(fareId) }
      })
      await addPlaced(tx, await place(tx, placed, rules))
    })
  }
  return (fare) => checks.get(fare) ?? []
}

export interface ScheduleRow {
  readonly lane: string | null
  readonly claimId: string | null
  readonly rate: number | null
  /** Its turns, in the order of the resellers. */
  readonly turns: readonly {
    readonly reseller: number
    readonly vdue: number
    readonly score: number
  }[]
  /** Seconds from now. */
  readonly notBefore: number
  readonly laneDue: number | null
}

export async function scheduleOf(db: Db, fareId: number): Promise<ScheduleRow> {
  const { rows } = await sql<ScheduleRow>`
    select lane, claim_id as "claimId", rate,
           (select coalesce(jsonb_agg(jsonb_build_object('reseller', reseller_id, 'vdue', vdue, 'score', score) order by reseller_id), '[]')
              from turn t where t.tracked_fare_id = q.tracked_fare_id) as turns,
           extract(epoch from not_before - clock_timestamp())::float8 as "notBefore",
           extract(epoch from lane_due_at - clock_timestamp())::float8 as "laneDue"
      from fare_schedule q where tracked_fare_id = ${fareId}
  `.execute(db)
  const row = rows[0]
  if (row === undefined) throw new Error(`fare ${fareId} is not scheduled`)
  return row
}
