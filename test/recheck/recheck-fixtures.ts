import { type Db, sql, type Tx } from '../../src/db/database.ts'
import { inTransaction } from '../../src/db/transaction.ts'
import { chargeClaims, nextChecks } from '../../src/recheck/charge-claims.ts'
import { lockClock, saveClaims } from '../../src/recheck/claim-fares.ts'
import { type DispatchDeps, dispatchChecks } from '../../src/recheck/dispatch-checks-job.ts'
import { moveSharedFares } from '../../src/recheck/move-shared-fares.ts'
import { countQueues } from '../../src/recheck/payers.ts'
import type { CheckRating } from '../../src/recheck/rate-fares.ts'
import { type CompletedCheck, reschedule } from '../../src/recheck/reschedule.ts'

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
  /** The one in whose queue it is; the first where missing. */
  readonly payer?: number
}

/** Tracked fares on the schedule, all due; in the order given. */
export async function trackFares(db: Db, fares: readonly NewFare[]): Promise<number[]> {
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
        payer = resellers[0] ?? 0,
      },
      i,
    ) => ({
      flight: `F${i}`,
      vdue,
      lane,
      notBefore,
      minIntervalSeconds,
      resellers,
      weights,
      maxDelays,
      payer,
    }),
  )
  const { rows: made } = await sql<{ id: number }>`
    with given as materialized (
      select * from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb)
        as g (flight text, vdue float8, lane text, "notBefore" float8, "minIntervalSeconds" int,
              resellers bigint[], weights float8[], "maxDelays" int[], payer bigint)
    ), queue as (
      insert into recheck_payer (reseller_id) select distinct unnest(resellers) from given
          on conflict do nothing
    ), fare as (
      insert into tracked_fare (flight_id, residents_adults, residents_children, residents_infants,
                                non_residents_adults, non_residents_children, non_residents_infants, min_interval_seconds,
                                resellers, weights, max_delay_seconds, max_delays)
      select flight, 0, 0, 0, 1, 0, 0, "minIntervalSeconds", resellers, weights,
             (select min(asked) from unnest("maxDelays") asked), "maxDelays"
        from given
      returning id, flight_id
    )
    insert into fare_schedule (tracked_fare_id, payer, vdue, lane, lane_due_at, not_before)
    select id, payer, vdue, lane, case when lane is not null then clock_timestamp() end,
           clock_timestamp() + make_interval(secs => "notBefore")
      from given join fare on flight = flight_id
    returning tracked_fare_id as id
  `.execute(db)
  return made.map(({ id }) => id).sort((a, b) => a - b)
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
    update recheck_clock
       set dispatched_at = dispatched_at - make_interval(secs => ${seconds}),
           counted_at = counted_at - make_interval(secs => ${seconds})
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
  return inTransaction(db, (tx) => reschedule(tx, checks, rules))
}

/** Claims the next fares of the schedule, whatever the time. Their lease has ended already. */
export async function claimNext(tx: Tx, limit: number): Promise<number[]> {
  const { pass: presentPass } = await lockClock(tx)
  const { due, accounts } = await nextChecks(tx, { inLanes: [], limit, presentPass })
  const claim = { claimId: '00000000-0000-4000-8000-000000000001', slotAt: new Date(0) }
  await saveClaims(
    tx,
    due.map((fare) => ({ ...fare, ...claim })),
  )
  await chargeClaims(tx, { inLanes: [], scheduled: due, accounts, presentPass })
  return due.map(({ fareId }) => fareId)
}

const STEP = 10

/**
 * Runs the schedule with one check a second and no minimum interval, so that the time that the machine takes changes nothing. Returns
 * when each fare was checked, in seconds from the start.
 */
export async function runSchedule(
  db: Db,
  seconds: number,
): Promise<(fare: number) => readonly number[]> {
  const rules = { requestsPerSecond: 1, minRecheckSeconds: 0 }
  const checks = new Map<number, number[]>()
  for (let at = 0; at < seconds; at += STEP) {
    await inTransaction(db, async (tx) => {
      if (at % 60 === 0) {
        await countQueues(tx, rules)
        await moveSharedFares(tx, rules)
      }
      const claimed = await claimNext(tx, STEP)
      for (const fare of claimed) checks.set(fare, [...(checks.get(fare) ?? []), at])
      const done = claimed.map((fareId) => {
        return { fareId, askedAt: new Date(), next: 'normal' as const }
      })
      await reschedule(tx, done, rules)
    })
  }
  return (fare) => checks.get(fare) ?? []
}

export interface ScheduleRow {
  readonly vdue: number
  readonly lane: string | null
  readonly claimId: string | null
  readonly payer: number
  /** Seconds from now. */
  readonly notBefore: number
  readonly laneDue: number | null
}

export async function scheduleOf(db: Db, fareId: number): Promise<ScheduleRow> {
  const { rows } = await sql<ScheduleRow>`
    select vdue, lane, claim_id as "claimId", payer,
           extract(epoch from not_before - clock_timestamp())::float8 as "notBefore",
           extract(epoch from lane_due_at - clock_timestamp())::float8 as "laneDue"
      from fare_schedule where tracked_fare_id = ${fareId}
  `.execute(db)
  const row = rows[0]
  if (row === undefined) throw new Error(`fare ${fareId} is not scheduled`)
  return row
}
