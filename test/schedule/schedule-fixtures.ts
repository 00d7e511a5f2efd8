import { type Db, sql, type Tx } from '../../src/platform/db/database.ts'
import { inTransaction } from '../../src/platform/db/transaction.ts'
import { findDue, saveClaims } from '../../src/schedule/claim.ts'
import {
  type CheckRating,
  type CompletedCheck,
  complete as completeChecks,
} from '../../src/schedule/complete.ts'
import { type DispatchDeps, dispatchChecks } from '../../src/schedule/dispatch-checks.ts'
import type { ScheduleRules } from '../../src/schedule/schedule-rules.ts'
import { updateRates } from '../../src/schedule/update-rates.ts'

export interface NewFare {
  readonly vdue?: number
  readonly lane?: 'confirmation' | 'new_watch' | 'retry' | null
  /** Seconds from now; an hour ago where missing. */
  readonly notBefore?: number
  readonly minIntervalSeconds?: number | null
  /** Its resellers, by number. */
  readonly resellers?: readonly number[]
  /** The sums of their priorities; 1 each where missing. */
  readonly weights?: readonly number[]
  /** What each of them asks for, or the first alone. */
  readonly maxDelays?: readonly (number | null)[]
  readonly maxDelaySeconds?: number | null
  /** For each of them the shortest interval that it asks for. */
  readonly minIntervals?: readonly (number | null)[]
  /** Checks a second; null for a fare that has not joined the queue. */
  readonly rate?: number | null
  readonly laneReseller?: number | null
}

/** Tracked fares on the schedule, all due; in the order given. */
export async function trackFares(db: Db, fares: readonly NewFare[]): Promise<number[]> {
  const next = await countFares(db)
  const rows = fares.map(
    (
      {
        vdue = 0,
        lane = null,
        notBefore = -3_600,
        minIntervalSeconds = null,
        resellers = [],
        weights = resellers.map(() => 1),
        maxDelaySeconds = null,
        maxDelays = maxDelaySeconds === null ? [] : [maxDelaySeconds],
        minIntervals = [],
        rate = 1,
        laneReseller = lane === 'new_watch' ? (resellers[0] ?? 0) : null,
      },
      i,
    ) => ({
      flight: `F${next + i}`,
      vdue,
      lane,
      notBefore,
      minIntervalSeconds,
      resellers,
      weights,
      maxDelays,
      minIntervals,
      rate,
      rates: rate === null ? [] : resellers.map(() => rate / resellers.length),
      laneReseller,
    }),
  )
  const { rows: made } = await sql<{ id: number }>`
    with given as materialized (
      select * from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb)
        as g (flight text, vdue float8, lane text, "notBefore" float8, "minIntervalSeconds" int,
              resellers bigint[], weights float8[], "maxDelays" int[], "minIntervals" int[], rate float8, rates float8[],
              "laneReseller" bigint)
    ), known as (
      insert into reseller (id, name) overriding system value
      select distinct id, 'reseller-' || id from given cross join unnest(resellers) id
          on conflict do nothing
    ), spending as (
      insert into fare_schedule_reseller (reseller_id) select distinct unnest(resellers || coalesce("laneReseller", 0)) from given
          on conflict do nothing
    ), fare as (
      insert into tracked_fare (flight_id, residents_adults, residents_children, residents_infants,
                                non_residents_adults, non_residents_children, non_residents_infants, min_interval_seconds,
                                resellers, weights, max_delay_seconds, max_delays, min_intervals, watchers)
      select flight, 0, 0, 0, 1, 0, 0, "minIntervalSeconds", resellers, weights,
             (select min(asked) from unnest("maxDelays") asked), "maxDelays", "minIntervals", cardinality(resellers)
        from given
      returning id, flight_id
    )
    insert into fare_schedule (tracked_fare_id, vdue, lane, lane_reseller, lane_due_at, not_before, rate, rates, scores)
    select id, case when rate is null then 'infinity' else vdue end, lane, "laneReseller",
           case when lane is not null then clock_timestamp() end,
           clock_timestamp() + make_interval(secs => "notBefore"), rate, rates, rates
      from given join fare on flight = flight_id
    returning tracked_fare_id as id
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
  const checks = await dispatchChecks({ db, queue, requestsPerSecond })
  return checks
    .toSorted((a, b) => a.slotAt.getTime() - b.slotAt.getTime())
    .map((check) => check.fareId)
}

/** Moves slots, leases and due times as if so much time had passed. */
export async function pass(db: Db, seconds: number): Promise<void> {
  await sql`
    update upstream_budget
       set next_slot_at = next_slot_at - make_interval(secs => ${seconds}),
           next_lane_at = next_lane_at - make_interval(secs => ${seconds})
  `.execute(db)
  await sql`
    update fare_schedule
       set not_before = not_before - make_interval(secs => ${seconds}),
           leased_until = leased_until - make_interval(secs => ${seconds}),
           lane_due_at = lane_due_at - make_interval(secs => ${seconds}),
           slot_at = slot_at - make_interval(secs => ${seconds})
  `.execute(db)
  await sql`
    update fare_schedule_clock
       set solved_at = solved_at - make_interval(secs => ${seconds})
  `.execute(db)
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
  return inTransaction(db, (tx) => completeChecks(tx, checks, rules))
}

/** Claims the next fares of the schedule, whatever the time. Their lease has ended already. */
export async function claimNext(tx: Tx, limit: number): Promise<number[]> {
  const due = await findDue(tx, { limit, without: [] })
  const claim = { claimId: '00000000-0000-4000-8000-000000000001', slotAt: new Date(0) }
  await saveClaims(
    tx,
    due.map((fare) => ({ ...fare, ...claim })),
  )
  return due.map(({ fareId }) => fareId)
}

/** Solves the paces now, as if a minute had passed. */
export async function updateNow(db: Db, rules: ScheduleRules): Promise<void> {
  await sql`update fare_schedule_clock set solved_at = '-infinity'`.execute(db)
  await updateRates(db, rules)
}

const STEP = 10

/**
 * Runs the schedule with one check a second and no shortest interval, so that the time that the machine takes changes nothing. Returns
 * when each fare was checked, in seconds from the start.
 */
export async function runSchedule(
  db: Db,
  seconds: number,
): Promise<(fare: number) => readonly number[]> {
  const rules = { requestsPerSecond: 1, minRecheckSeconds: 0 }
  const checks = new Map<number, number[]>()
  for (let at = 0; at < seconds; at += STEP) {
    if (at % 60 === 0) await updateNow(db, rules)
    await inTransaction(db, async (tx) => {
      const claimed = await claimNext(tx, STEP)
      for (const fare of claimed) checks.set(fare, [...(checks.get(fare) ?? []), at])
      const done = claimed.map((fareId) => {
        return { fareId, askedAt: new Date(0), next: 'normal' as const }
      })
      await completeChecks(tx, done, rules)
    })
  }
  return (fare) => checks.get(fare) ?? []
}

export interface ScheduleRow {
  readonly vdue: number
  readonly lane: string | null
  readonly claimId: string | null
  readonly rate: number | null
  readonly rates: readonly number[]
  /** Seconds from now. */
  readonly notBefore: number
  readonly laneDue: number | null
}

export async function scheduleOf(db: Db, fareId: number): Promise<ScheduleRow> {
  const { rows } = await sql<ScheduleRow>`
    select vdue, lane, claim_id as "claimId", rate, rates,
           extract(epoch from not_before - clock_timestamp())::float8 as "notBefore",
           extract(epoch from lane_due_at - clock_timestamp())::float8 as "laneDue"
      from fare_schedule where tracked_fare_id = ${fareId}
  `.execute(db)
  const row = rows[0]
  if (row === undefined) throw new Error(`fare ${fareId} is not scheduled`)
  return row
}
