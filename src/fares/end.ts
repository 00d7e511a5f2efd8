import { appendAvailabilityChanges, insertWatchEnds } from '../feeds/append-records.ts'
import type { BeliefState, EndReason } from '../platform/base/kinds.ts'
import type { Logger } from '../platform/base/logger.ts'
import { type Db, PREPARED, type RawBuilder, sql, type Tx } from '../platform/db/database.ts'
import { affected, inTransaction, selectOne } from '../platform/db/transaction.ts'
import type { Metrics } from '../platform/metrics/metrics.ts'
import { changeQueues, expedite, type QueueChange, unfollow } from '../schedule/queues.ts'
import { notifyWatches } from '../watches/notify-watches.ts'
import { hasPassed, lockTrackedFares, syncTrackedFares } from '../watches/sync-tracked-fares.ts'
import { KEPT, STATE_COLUMNS } from './beliefs.ts'
import type { DecisionRules } from './decide.ts'
import { findMasses, type IncidentTransition, reportIncidents } from './incidents.ts'
import { endedView, type FareState, type StateRow, stateOfRow } from './state.ts'

const BATCH = 500
/** The fares in so many pages, about 20,000, are looked at for their end in a minute: one run never reads millions. */
const PAGES_AT_ONCE = 200

/**
 * Any of the fares that are looked at in that minute. Each bound is a subquery, so that only the pages between them are
 * read, and the ids are an array: of a part of a table the planner knows nothing, and would read all fares in their order.
 */
function anySeenIn(minute: number) {
  const part = sql`
    ${Math.floor(minute)}::bigint % (1 + pg_relation_size('tracked_fare') / (${PAGES_AT_ONCE} * current_setting('block_size')::int))
  `
  const page = (next: number) => sql`
    (select format('(%s,0)', ${PAGES_AT_ONCE} * (${next}::int + ${part}))::tid)
  `
  return sql`any(array(select id from tracked_fare where ctid >= ${page(0)} and ctid < ${page(1)}))`
}

interface EndedWatch extends StateRow {
  readonly watchId: string
  readonly reseller: string
  readonly list: string
  readonly reference: string
  readonly fareId: number
  /** Null where the question names one flight twice. */
  readonly reason: EndReason | null
  /** Null if the fare had no check or has expired. */
  readonly state: object | null
  readonly now: Date
}

interface EndWatchesDeps {
  readonly db: Db
  readonly log: Logger
}

/**
 * Looks at the fares of one minute, and ends watches whose fare may go on for others: their own `departs_on` has passed
 * everywhere on earth, the fare was not available in the 30 days since they began, it had departed and expired already
 * when they began, or their question names one flight twice, which was not refused before. Each receives one `expired`,
 * its last record. Returns how many. Safe to run twice: a watch ends once.
 * @param minute since 1970. Every part of the fares has its minute, and the first part follows the last one.
 */
export async function endWatches(
  { db, log }: EndWatchesDeps,
  signal?: AbortSignal,
  minute = Date.now() / 60_000,
): Promise<number> {
  const endSome = async () => {
    const ended = await inTransaction(db, (tx) => endLocked(tx, minute))
    for (const { reseller, list, reference } of ended.filter(({ reason }) => reason === null)) {
      log.warn(
        { reseller, list, reference },
        'watch ended: its return flight is its outbound flight',
      )
    }
    return ended.length
  }
  return inBatches(BATCH, endSome, signal)
}

async function endLocked(tx: Tx, minute: number): Promise<EndedWatch[]> {
  const fareIds = await lockFaresOfEnded(tx, minute)
  if (fareIds.length === 0) return []
  const ended = await findEnded(tx, fareIds)
  const eventOf = await insertEnds(tx, ended)
  const ends = ended.flatMap(({ watchId, ...watch }) => {
    const eventId = eventOf.get(eventKey(watch))
    return eventId === undefined ? [] : [{ watchId, eventId }]
  })
  await notifyWatches(tx, { ends })
  await sql`
    update watch set ended_at = clock_timestamp() where id = any(${ended.map((one) => one.watchId)}::uuid[])
  `.execute(tx)
  await syncTrackedFares(tx, fareIds)
  return ended
}

/** One event for all watches of a fare that end for one reason. Returns the events' ids by `eventKey`. */
async function insertEnds(tx: Tx, ended: readonly EndedWatch[]): Promise<Map<string, string>> {
  const events = [...new Map(ended.map((watch) => [eventKey(watch), watch])).values()]
  const drafts = events.map((watch) => {
    const { fareId, reason, now } = watch
    return { fareId, ...expiryOf(stateOfRow(watch), reason, now) }
  })
  const ids = await insertWatchEnds(tx, drafts)
  return new Map(ids.flatMap((id, i) => events.slice(i, i + 1).map((one) => [eventKey(one), id])))
}

function eventKey({ fareId, reason }: Pick<EndedWatch, 'fareId' | 'reason'>): string {
  return `${fareId} ${reason}`
}

/**
 * Whether the fare of watch `w`, with state `s`, was bookable at any time since the watch began. Most fares as old
 * as that are bookable now, or never were: their intervals need not be read.
 */
const WAS_BOOKABLE = sql`
  (s.ever_available_at is not null
   and (s.pair = 'bookable'
        or exists (select from fare_belief_version v
                    where v.tracked_fare_id = w.tracked_fare_id and v.pair = 'bookable' and v.valid_to > w.began_at)))
`

/** Whether watch `w` of reseller `r` and fare `f` is to end; the fare has the state `s`, or none. */
const IS_OVER = sql`
  w.ended_at is null and w.paused_at is null and r.disabled_at is null
       and (s.expired_at is not null
            or ${hasPassed(sql`w.departs_on`)}
            or f.return_flight_id = f.flight_id
            or w.began_at < clock_timestamp() - interval '30 days' and not coalesce(${WAS_BOOKABLE}, false))
`

/** Locks fares and their schedule first, as every transaction does that changes watches or records a check. */
async function lockFaresOfEnded(tx: Tx, minute: number): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`
    select f.id
      from tracked_fare f
     where f.id = ${anySeenIn(minute)}
       and exists (select from watch w
                     join reseller r on r.id = w.reseller_id
                     left join fare_state s on s.tracked_fare_id = w.tracked_fare_id
                    where w.tracked_fare_id = f.id and ${IS_OVER})
     order by f.id
     limit ${BATCH}
       for no key update of f skip locked
  `.execute(tx)
  const fareIds = rows.map(({ id }) => id)
  if (fareIds.length > 0) await lockTrackedFares(tx, fareIds)
  return fareIds
}

/** Reads under the locks: before them a check may have been recorded, or a watch paused. */
async function findEnded(tx: Tx, fareIds: readonly number[]): Promise<EndedWatch[]> {
  const { rows } = await sql<EndedWatch>`
    select w.id as "watchId", w.tracked_fare_id as "fareId", f.return_flight_id is not null as "hasReturn",
           r.name as reseller, l.name as list, w.reference,
           case when f.return_flight_id = f.flight_id then null
                when s.departs_at <= clock_timestamp() then 'departed'
                when ${hasPassed(sql`w.departs_on`)} then 'departs_on_passed'
                else 'never_available' end as reason,
           case when s.expired_at is null then s.state end as state, clock_timestamp() as now,
           s.last_good_check_at as "lastGoodCheckAt", s.price_checked_at as "priceCheckedAt",
           nullif(s.price_reason, 'held') as "priceReason", s.ever_available_at as "everAvailableAt"
      from watch w
      join tracked_fare f on f.id = w.tracked_fare_id
      join watch_list l on l.id = w.watch_list_id
      join reseller r on r.id = w.reseller_id
      left join fare_state s on s.tracked_fare_id = w.tracked_fare_id
     where w.tracked_fare_id = any(${fareIds}::bigint[]) and ${IS_OVER}
     order by w.tracked_fare_id, w.id
     limit ${BATCH}
  `.execute(tx)
  return rows
}

/**
 * The record of a fare or a watch that has ended: the fare cannot be bought any more. A last check that lies ahead
 * of `now`, because the clock was set back, is not shown: the end would seem to have been detected before it.
 */
function expiryOf(state: FareState, reason: EndReason | null, now: Date) {
  const { lastGoodCheckAt } = state
  const isAhead = Date.parse(lastGoodCheckAt ?? '') > now.getTime()
  return {
    kind: 'expired' as const,
    reason,
    before: state.belief,
    after: endedView(state.belief.return !== null),
    lastGoodCheckAt: isAhead ? null : lastGoodCheckAt,
    detectedAt: now.toISOString(),
  }
}

/**
 * Repeats a step until it handles fewer than `limit`, or the signal aborts. All ends of a day can come at one
 * moment: at one batch a run they would take hours, and in one transaction they would block the checks. Returns
 * the sum.
 */
async function inBatches(
  limit: number,
  step: () => Promise<number>,
  signal?: AbortSignal,
): Promise<number> {
  let total = 0
  for (;;) {
    const done = await step()
    total += done
    if (done < limit || signal?.aborted) return total
  }
}

interface ExpiryDeps extends EndWatchesDeps {
  readonly metrics: Pick<Metrics, 'availabilityChanges'>
  readonly rules: Pick<DecisionRules, 'massHoldMs'>
}

/**
 * Ends the fares that have departed, whether or not they are watched. From then on they are not checked. A mass of
 * departures is held and checked first. Returns how many ended or are held. Safe to run twice: neither is found again.
 */
export async function endDeparted(deps: ExpiryDeps, signal?: AbortSignal): Promise<number> {
  return inBatches(BATCH, () => expireSome(deps, lockDeparted), signal)
}

/** In how many milliseconds the next fare departs; undefined if no departure is known. */
export async function nextDepartureMs(db: Db): Promise<number | undefined> {
  const { ms } = await selectOne(
    sql<{ ms: number | null }>`${PREPARED}
      select (extract(epoch from min(departs_at) - clock_timestamp()) * 1000)::float8 as ms
        from fare_state
       where expired_at is null
    `,
    db,
  )
  return ms ?? undefined
}

/**
 * Looks at the fares of one minute, and ends those whose watches have a `departs_on` that has passed everywhere on earth,
 * and those that were not available in the 30 days since the last of their watches began. A fare whose answers showed a
 * past departure for three days has departed. A fare without a recorded check does not expire: its watches end one by
 * one. Returns how many. Safe to run twice: an expired fare is not found again.
 * @param minute as for `endWatches`
 */
export async function expireFares(
  deps: ExpiryDeps,
  signal?: AbortSignal,
  minute = Date.now() / 60_000,
): Promise<number> {
  return inBatches(BATCH, () => expireSome(deps, (tx) => lockOutdated(tx, minute)), signal)
}

interface EndedFare extends StateRow {
  readonly fareId: number
  readonly reason: EndReason
  /** Whether its end needs no guard: an incident has held it before, or no answer gave its date. */
  readonly isConfirmed: boolean
  /** Since when a mass held its end; null if none did. */
  readonly heldSince: Date | null
  readonly pair: BeliefState
  readonly intervalSeconds: number
  readonly now: Date
}

async function expireSome(
  { db, log, metrics, rules }: ExpiryDeps,
  lockEnded: (tx: Tx) => Promise<EndedFare[]>,
): Promise<number> {
  const { found, ended, transitions } = await inTransaction(db, async (tx) => {
    const fares = await lockEnded(tx)
    const departing = fares.filter(
      ({ reason, isConfirmed }) => reason === 'departed' && !isConfirmed,
    )
    const guarded = await holdMassOfEnds(tx, departing, rules.massHoldMs)
    const over = guarded.areHeld ? fares.filter((fare) => !departing.includes(fare)) : fares
    if (over.length > 0) await expire(tx, over)
    return { found: fares.length, ended: over, transitions: guarded.transitions }
  })
  for (const { reason } of ended) metrics.availabilityChanges.inc({ kind: 'expired', reason })
  reportIncidents({ log }, transitions)
  return found
}

/**
 * Holds the end of fares that depart as a mass: their dates may be wrong. Each is asked again at once, and ends
 * with its hold, unless the answers show another departure by then. A fare is held once, so the caller leaves out
 * those that were. The caller holds the locks of the fares.
 */
async function holdMassOfEnds(
  tx: Tx,
  departing: readonly EndedFare[],
  massHoldMs: number,
): Promise<{ readonly areHeld: boolean; readonly transitions: readonly IncidentTransition[] }> {
  if (departing.length === 0) return { areHeld: false, transitions: [] }
  const asked = departing.map(({ fareId, pair, intervalSeconds, now }) => ({
    fareId,
    leg: 'outbound' as const,
    isAvailable: pair === 'bookable',
    shows: 'expired' as const,
    isReturn: false,
    askedAt: now,
    since: now.toISOString(),
    intervalSeconds,
    airline: null,
    numbers: null,
    differences: [],
  }))
  const { context, transitions } = await findMasses(tx, asked)
  const areHeld = context.masses.some(({ kind }) => kind === 'expired')
  if (areHeld) await postpone(tx, departing, massHoldMs)
  return { areHeld, transitions }
}

async function postpone(tx: Tx, fares: readonly EndedFare[], massHoldMs: number): Promise<void> {
  const fareIds = fares.map(({ fareId }) => fareId)
  await sql`
    update fare_state s
       set departs_at = h.until, held_until = h.until, held = 'expired', held_since = clock_timestamp(), hidden = 'held'
      from (select clock_timestamp() + make_interval(secs => ${massHoldMs / 1000}) as until) h
     where tracked_fare_id = any(${fareIds}::bigint[])
  `.execute(tx)
  await expedite(tx, fareIds)
}

async function expire(tx: Tx, ended: readonly EndedFare[]): Promise<void> {
  const fareIds = ended.map((fare) => fare.fareId)
  const changes = await endBeliefs(tx, fareIds)
  const drafts = ended.map((fare) => {
    const { fareId, reason, heldSince, now } = fare
    const end = expiryOf(stateOfRow(fare), reason, now)
    return {
      fareId,
      ...end,
      heldSince: heldSince?.toISOString() ?? null,
      evidenceHash: null,
      provenance: { source: 'expiry' },
    }
  })
  const appended = await appendAvailabilityChanges(tx, drafts)
  await notifyWatches(tx, { changeSeqs: appended.map((change) => change.seq) })
  await endTheirWatches(tx, fareIds)
  await changeQueues(tx, changes)
}

/** Nothing is believed of an expired fare: its history ends here, and so do its checks. */
async function endBeliefs(tx: Tx, fareIds: readonly number[]): Promise<readonly QueueChange[]> {
  await sql`
    update fare_state
       set expired_at = clock_timestamp(), outbound = 'unavailable',
           return = case when return is not null then 'unavailable' end,
           pair = 'not_bookable', price = null, currency = null,
           hidden = null, held = null, held_since = null, contradicted_since = null, unusable = 0, unusable_since = null
     where tracked_fare_id = any(${fareIds}::bigint[])
  `.execute(tx)
  const changes = await unfollow(tx, fareIds)
  await sql`
    update fare_belief_version v
       set valid_to = greatest(clock_timestamp(), v.valid_from + interval '1 millisecond'),
           ${KEPT}, written_in = pg_current_xact_id()
      from fare_state s
     where s.tracked_fare_id = v.tracked_fare_id
       and v.tracked_fare_id = any(${fareIds}::bigint[]) and v.valid_to is null
  `.execute(tx)
  return changes
}

/** After their records are written: a watch that has ended receives none. */
async function endTheirWatches(tx: Tx, fareIds: readonly number[]): Promise<void> {
  await sql`
    update watch set ended_at = clock_timestamp()
     where tracked_fare_id = any(${fareIds}::bigint[]) and ended_at is null
  `.execute(tx)
  await syncTrackedFares(tx, fareIds)
}

/**
 * Locks the fare, its row of the schedule if there is one, and its state, in the order of every transaction. A
 * check that is being recorded goes first.
 */
async function lockDeparted(tx: Tx): Promise<EndedFare[]> {
  const { rows } = await sql<EndedFare>`
    with departed as materialized (
           select f.id
             from fare_state s
             join tracked_fare f on f.id = s.tracked_fare_id
            where s.departs_at <= clock_timestamp() and s.expired_at is null
            limit ${BATCH}
              for no key update of f skip locked),
         unlocked as materialized (
           select tracked_fare_id as id
             from fare_schedule
            where tracked_fare_id in (select id from departed)
              for update skip locked)
    select ${STATE_COLUMNS}, s.pair, 'departed' as reason, s.held_until is not null as "isConfirmed", s.held_since as "heldSince",
           clock_timestamp() as now
      from departed d
      join fare_state s on s.tracked_fare_id = d.id
     where (d.id in (select id from unlocked)
            or not exists (select from fare_schedule q where q.tracked_fare_id = d.id))
     order by s.tracked_fare_id
       for update of s skip locked
  `.execute(tx)
  return rows
}

/**
 * For so long all good answers must have shown a departure that was past at first sight, until it is believed. A recent
 * answer must show it too: an upstream that is silent for three days confirms nothing, nor does a pause of the watches.
 */
const IS_PAST_FOR_DAYS = sql<boolean>`
  (s.past_since < clock_timestamp() - interval '3 days' and s.last_reason = 'contract_violation'
   and s.last_check_at > clock_timestamp() - interval '2 hours')
`

async function lockOutdated(tx: Tx, minute: number): Promise<EndedFare[]> {
  const { rows } = await sql<EndedFare>`
    select ${STATE_COLUMNS}, s.pair, clock_timestamp() as now, true as "isConfirmed", null as "heldSince",
           case when ${IS_PAST_FOR_DAYS} then 'departed'
                when ${hasPassed(sql`f.departs_on`)} then 'departs_on_passed' else 'never_available' end as reason
      from fare_state s
      join fare_schedule q using (tracked_fare_id)
      join tracked_fare f on f.id = s.tracked_fare_id
     where s.tracked_fare_id = ${anySeenIn(minute)} and s.state <> '{}' and s.expired_at is null
       and (${IS_PAST_FOR_DAYS}
            or ${hasPassed(sql`f.departs_on`)}
            or (s.ever_available_at is null
                and f.created_at < clock_timestamp() - interval '30 days'
                and coalesce((select max(w.began_at) from watch w
                               where w.tracked_fare_id = f.id and w.paused_at is null), f.created_at)
                    < clock_timestamp() - interval '30 days'))
     order by s.tracked_fare_id
     limit ${BATCH}
       for no key update of f skip locked
       for update of s, q skip locked
  `.execute(tx)
  return rows
}

const ROWS_AT_ONCE = 2_000

/** Repeats a statement that deletes at most so many rows. */
function deleteAll(db: Db, deletion: RawBuilder<unknown>, signal?: AbortSignal): Promise<number> {
  return inBatches(ROWS_AT_ONCE, () => affected(deletion, db), signal)
}

/**
 * Deletes the counts of checks by minute that are older than two days, because `status` asks for a day, and those of
 * calls that are older than two hours, because the page asks for one.
 */
export async function pruneMinutes(db: Db, signal?: AbortSignal): Promise<number> {
  const checks = sql`
    delete from check_minute
     where minute in (select minute from check_minute
                       where minute < clock_timestamp() - interval '2 days' order by minute limit ${ROWS_AT_ONCE})
  `
  const calls = sql`
    delete from call_minute
     where ctid = any(array(select ctid from call_minute
                             where minute < clock_timestamp() - interval '2 hours' limit ${ROWS_AT_ONCE}))
  `
  return (await deleteAll(db, checks, signal)) + (await deleteAll(db, calls, signal))
}

/**
 * Deletes the answers behind changes that no change has cited for 90 days. The changes keep the hashes. Safe to run
 * while checks are recorded: a change that cites an answer writes its row, so one of the two transactions waits for
 * the other.
 */
export function pruneEvidence(db: Db, signal?: AbortSignal): Promise<number> {
  const answers = sql`
    delete from evidence
     where created_at < clock_timestamp() - interval '90 days'
       and hash in (select hash from evidence
                     where created_at < clock_timestamp() - interval '90 days' order by created_at limit ${ROWS_AT_ONCE})
  `
  return deleteAll(db, answers, signal)
}

/**
 * Deletes the tracked fares that ended 30 days ago and have neither a watch nor a history: questions that were never
 * answered. Nothing refers to them any more.
 */
export async function pruneFares(db: Db, signal?: AbortSignal): Promise<number> {
  return inBatches(ROWS_AT_ONCE, () => deleteFares(db), signal)
}

async function deleteFares(db: Db): Promise<number> {
  return db.transaction().execute(async (tx) => {
    const { rows } = await sql<{ id: number }>`
      select f.id
        from tracked_fare f
       where f.ended_at < clock_timestamp() - interval '30 days'
         and not exists (select from watch w where w.tracked_fare_id = f.id)
         and not exists (select from fare_belief_version v where v.tracked_fare_id = f.id)
         and not exists (select from availability_change c where c.tracked_fare_id = f.id)
         and not exists (select from watch_event e where e.tracked_fare_id = f.id)
       order by f.id
       limit ${ROWS_AT_ONCE}
         for update skip locked
    `.execute(tx)
    const fareIds = rows.map(({ id }) => id)
    const changes = await unfollow(tx, fareIds)
    const ids = sql`any(${fareIds}::bigint[])`
    await sql`delete from fare_state where tracked_fare_id = ${ids}`.execute(tx)
    await sql`delete from fare_flights where tracked_fare_id = ${ids}`.execute(tx)
    await sql`delete from tracked_fare where id = ${ids}`.execute(tx)
    await changeQueues(tx, changes)
    return rows.length
  })
}
