import { type Check, lockFares, type RecordedCheck } from '../../src/fares/beliefs.ts'
import type { DecisionRules } from '../../src/fares/decide.ts'
import { endDeparted, expireFares } from '../../src/fares/end.ts'
import { recordChecks } from '../../src/fares/record.ts'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { inTransaction, selectOne } from '../../src/platform/db/transaction.ts'
import { createMetrics } from '../../src/platform/metrics/metrics.ts'
import type { ScheduleRules } from '../../src/schedule/due.ts'
import type { LegObservation, Observation, ObservedFlight } from '../../src/upstream/observation.ts'
import { listIncidents, readHeld } from '../../src/views/incident-operations.ts'
import { fileMinute } from '../support/file-minute.ts'
import { silentLog } from '../support/silent-log.ts'

/** One answer confirms a gain, so that a story need not begin with two. */
export const RULES = {
  requestsPerSecond: 5,
  minRecheckSeconds: 60,
  lossConfirmations: 2,
  gainConfirmations: 1,
  massHoldMs: 600_000,
}

/** A scheduled fare, as an import would leave it. */
export async function trackFare(
  db: Db,
  {
    flightId = 'F1',
    returnFlightId = null,
  }: { flightId?: string; returnFlightId?: string | null } = {},
): Promise<number> {
  const [id = 0] = await insertFares(db, [flightId], returnFlightId)
  return id
}

/** Scheduled fares of the flights F0, F1 and so on. */
export function trackFares(db: Db, count: number): Promise<number[]> {
  return insertFares(
    db,
    Array.from({ length: count }, (_, i) => `F${i}`),
    null,
  )
}

async function insertFares(db: Db, flights: readonly string[], returnFlightId: string | null) {
  const { rows } = await sql<{ id: number }>`
    insert into tracked_fare (flight_id, return_flight_id, residents_adults, residents_children, residents_infants,
                              non_residents_adults, non_residents_children, non_residents_infants)
    select flight_id, ${returnFlightId}, 0, 0, 0, 1, 0, 0
      from unnest(${flights}::text[]) with ordinality f (flight_id, place) order by place
    returning id
  `.execute(db)
  const ids = rows.map(({ id }) => id)
  await sql`
    insert into fare_schedule (tracked_fare_id, rate) select id, 1 from unnest(${ids}::bigint[]) id
  `.execute(db)
  await giveTurns(db, ids)
  return ids
}

/** The reseller that has the turns of fares without a watch. */
const OWNER = { id: 1_000_000, name: 'owner' }

/** Puts scheduled fares into the queue of a reseller that needs no watch. */
export async function giveTurns(db: Db, fareIds: readonly number[]): Promise<void> {
  await sql`
    insert into reseller (id, name) overriding system value values (${OWNER.id}, ${OWNER.name}) on conflict do nothing
  `.execute(db)
  await sql`
    with queue as (
      insert into reseller_queue as q (reseller_id, fares, scores)
      values (${OWNER.id}, ${fareIds.length}, ${fareIds.length})
          on conflict (reseller_id) do update
         set fares = q.fares + excluded.fares, scores = q.scores + excluded.scores
      returning v
    )
    insert into turn (tracked_fare_id, reseller_id, weight, score, vdue)
    select id, ${OWNER.id}, 1, 1, v from unnest(${fareIds}::bigint[]) id cross join queue
  `.execute(db)
}

export interface WatchArgs {
  readonly reference?: string
  readonly amount?: string
  readonly percent?: string
}

/** A reseller with one watch on a fare. Returns the reseller's id. */
export async function watchFare(
  db: Db,
  name: string,
  fareId: number,
  watch: WatchArgs = {},
): Promise<number> {
  return watchFares(db, name, [fareId], watch)
}

/** A reseller with one watch on each fare. Returns the reseller's id. */
export async function watchFares(
  db: Db,
  name: string,
  fareIds: readonly number[],
  watch: WatchArgs = {},
): Promise<number> {
  const { id } = await selectOne(
    sql<{ id: number }>`
      insert into reseller as r (name) values (${name})
          on conflict (name) do update set name = excluded.name
      returning id
    `,
    db,
  )
  await sql`
    insert into watch_list (reseller_id, name) values (${id}, 'list') on conflict do nothing
  `.execute(db)
  await sql`
    insert into watch (reseller_id, watch_list_id, reference, tracked_fare_id,
                       price_threshold_amount, price_threshold_percent)
    select ${id}, l.id, coalesce(${watch.reference ?? null}, 'w' || fare), fare,
           ${watch.amount ?? null}::numeric, ${watch.percent ?? null}::numeric
      from watch_list l, unnest(${fareIds}::bigint[]) fare where l.reseller_id = ${id}
  `.execute(db)
  return id
}

export function available(
  amount = '100.00',
  changes: Partial<Pick<ObservedFlight, 'identity' | 'itinerary' | 'price' | 'priceIsOdd'>> = {},
): LegObservation {
  return {
    kind: 'available',
    flight: {
      price: { amount, currency: 'EUR' },
      totalUnlikeSum: false,
      priceIsOdd: false,
      identity: 'VY|1|PMI-MAD|2027-01-10',
      itinerary: '08:00|3900',
      departsAt: '2027-01-10 08:00',
      flight: {
        from: 'PMI',
        to: 'MAD',
        airline: 'VY',
        numbers: [3900],
        departsAt: '2027-01-10 08:00',
        arrivesAt: '2027-01-10 09:20',
        stops: [],
      },
      ...changes,
    },
  }
}

export const gone: LegObservation = { kind: 'unavailable' }
export const silent: LegObservation = { kind: 'unknown', reason: 'timeout' }

export function observation(
  outbound: LegObservation,
  back: LegObservation | null = null,
): Observation {
  return {
    outbound,
    return: back,
    anomalies: [],
    ageSeconds: 0,
    evidence: {
      body: JSON.stringify(outbound),
      status: 200,
      latencyMs: 12,
      requestFingerprint: 'f'.repeat(64),
      parserVersion: 1,
    },
  }
}

const MINUTE_MS = 60_000

/** The instant of a test's n-th minute. The first is half an hour ago: none lies ahead of the database's clock. */
export function minute(n: number): Date {
  return new Date(fileMinute() + (n - 30) * MINUTE_MS)
}

/** Makes what all fares showed in the last day fresh: they are checked every four hours, and so they are after a check. */
export async function keepFresh(db: Db): Promise<void> {
  await sql`update fare_schedule set rate = 6 / 86400.0`.execute(db)
  await sql`
    update schedule_facts set requests_per_second = (select sum(fares) from reseller_queue) * 6 / 86400.0
  `.execute(db)
}

/** Records one answer for a fare by the path of an on-demand check. */
export async function record(
  db: Db,
  fareId: number,
  at: Date,
  outbound: LegObservation,
  back: LegObservation | null = null,
  rules: DecisionRules & ScheduleRules = RULES,
): Promise<RecordedCheck[]> {
  return recordAll(db, [fareId], at, outbound, back, rules)
}

/** Records the same answer for fares, in one batch. */
export function recordAll(
  db: Db,
  fareIds: readonly number[],
  at: Date,
  outbound: LegObservation,
  back: LegObservation | null = null,
  rules: DecisionRules & ScheduleRules = RULES,
): Promise<RecordedCheck[]> {
  const given = observation(outbound, back)
  return recordEach(
    db,
    fareIds.map((fareId) => ({ fareId, askedAt: at, observation: given })),
    rules,
  )
}

/** Records a batch of answers of different fares. */
export function recordEach(
  db: Db,
  answers: readonly Pick<Check, 'fareId' | 'askedAt' | 'observation'>[],
  rules: DecisionRules & ScheduleRules = RULES,
): Promise<RecordedCheck[]> {
  const checks = answers.map((answer) => ({ ...answer, why: 'on_demand' as const }))
  return inTransaction(db, async (tx) => {
    const locked = await lockFares(
      tx,
      checks.map(({ fareId }) => fareId),
    )
    const { recorded } = await recordChecks(tx, { checks, locked, rules, claimId: null })
    return [...recorded]
  })
}

/** The kinds of the open incidents, newest first. */
export async function openKinds(db: Db): Promise<string[]> {
  return (await listIncidents(db, { open: true, limit: 10 })).map(({ kind }) => kind)
}

/** How many fares wait, by the kind of the change. */
export async function heldFares(db: Db): Promise<Record<string, number>> {
  return Object.fromEntries((await readHeld(db, RULES)).map(({ kind, fares }) => [kind, fares]))
}

/** How many records of a kind the feed has. */
export async function countChanges(db: Db, kind: string): Promise<number> {
  const { count } = await selectOne(
    sql<{ count: number }>`select count(*) as count from availability_change where kind = ${kind}`,
    db,
  )
  return count
}

export async function kinds(db: Db, fareId: number): Promise<string[]> {
  const { rows } = await sql<{ kind: string }>`
    select kind from farewatch.availability_changes where fare_id = ${fareId} order by seq
  `.execute(db)
  return rows.map((row) => row.kind)
}

export async function pairStates(db: Db, fareId: number): Promise<string[]> {
  const { rows } = await sql<{ pair: string }>`
    select state as pair from farewatch.fare_history where fare_id = ${fareId} order by valid_from
  `.execute(db)
  return rows.map((row) => row.pair)
}

/** The reseller's own feed: numbers and kinds. */
export async function watchFeed(db: Db, resellerId: number): Promise<[number, string][]> {
  const { rows } = await sql<{ seq: number; kind: string }>`
    select w.seq, coalesce(c.kind, e.kind) as kind
      from watch_change w
      left join availability_change c on c.id = w.change_id
      left join watch_event e on e.id = w.watch_event_id
     where w.reseller_id = ${resellerId} order by w.seq
  `.execute(db)
  return rows.map((row) => [row.seq, row.kind])
}

/** Ends the fares that have departed or expired. Returns how many. */
export async function endFares(db: Db): Promise<number> {
  const deps = { db, log: silentLog, metrics: createMetrics(), rules: RULES }
  return (await endDeparted(deps)) + (await expireFares(deps))
}

const INSTANT = /"(\d{4}-\d\d-\d\dT[^"]+Z)"/g

/** Moves all that is known of fares so many seconds into the past. Their departures stay. */
export async function passSeconds(db: Db, seconds: number): Promise<void> {
  const earlier = (column: string) =>
    sql.raw(`${column} = ${column} - interval '${seconds} seconds'`)
  const { rows } = await sql<{ id: number; state: object }>`
    select tracked_fare_id as id, state from fare_state
  `.execute(db)
  const states = JSON.stringify(rows).replaceAll(INSTANT, (_, at: string) =>
    JSON.stringify(new Date(Date.parse(at) - seconds * 1000)),
  )
  await sql`
    update fare_state s
       set state = b.state, ${earlier('asked_at')}, ${earlier('last_check_at')}, ${earlier('last_good_check_at')},
           ${earlier('price_checked_at')}, ${earlier('contradicted_since')}, ${earlier('held_since')},
           ${earlier('ever_available_at')}, ${earlier('dated_at')}
      from jsonb_to_recordset(${states}::jsonb) as b (id bigint, state jsonb)
     where b.id = s.tracked_fare_id
  `.execute(db)
  await sql`
    update availability_change
       set ${earlier('detected_at')}, ${earlier('last_good_check_at')}, ${earlier('recorded_at')}, ${earlier('held_since')}
  `.execute(db)
  await sql`
    update asked_flight set ${earlier('asked_at')}, ${earlier('since')}, ${earlier('counts_until')}
  `.execute(db)
  await sql`update incident set ${earlier('opened_at')}, ${earlier('closed_at')}`.execute(db)
  // In two steps: one row must not get the beginning that another one still has.
  for (const step of ["interval '1000 years'", `interval '-1000 years -${seconds} seconds'`]) {
    await sql`
      update fare_belief_version set valid_from = valid_from + ${sql.raw(step)}, valid_to = valid_to + ${sql.raw(step)}
    `.execute(db)
  }
  await sql`update watch set ${earlier('began_at')}, ${earlier('started_at')}`.execute(db)
}

/** The incident was closed at an instant of the test: its answers are of the last half hour. */
export async function closedAt(db: Db, at: Date): Promise<void> {
  await sql`
    update incident set opened_at = least(opened_at, ${at}), closed_at = ${at} where closed_at is not null
  `.execute(db)
}
