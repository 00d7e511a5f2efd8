import { appendAvailabilityChanges } from '../../feeds/append-records.ts'
import type { EndReason, PairState } from '../../platform/base/kinds.ts'
import type { Logger } from '../../platform/base/logger.ts'
import { type Db, PREPARED, sql, type Tx } from '../../platform/db/database.ts'
import { inTransaction, selectOne } from '../../platform/db/transaction.ts'
import type { Metrics } from '../../platform/metrics/metrics.ts'
import { expedite, unfollow } from '../../schedule/follow.ts'
import { notifyWatches } from '../../watches/notify-watches.ts'
import { hasPassed, syncTrackedFares } from '../../watches/sync-tracked-fares.ts'
import { STATE_COLUMNS } from '../check/belief-store.ts'
import type { DecisionRules } from '../decide/confirmations.ts'
import { type StateRow, stateOfRow } from '../decide/fare-state.ts'
import { findMasses, type IncidentTransition, reportIncidents } from '../hold/incidents.ts'
import { expiryOf, inBatches } from './end-watches.ts'

const BATCH = 500

interface ExpiryDeps {
  readonly db: Db
  readonly log: Logger
  readonly metrics: Pick<Metrics, 'availabilityChanges'>
  readonly rules: Pick<DecisionRules, 'massHoldMs'>
}

/**
 * Ends the fares that have departed, whether or not they are watched. From then on they are not checked. A mass of
 * departures is held and checked first. Returns how many ended or are held. Safe to run twice: neither is found again.
 */
export async function endDeparted(deps: ExpiryDeps, signal?: AbortSignal): Promise<number> {
  return inBatches(BATCH, (limit) => expireSome(deps, lockDeparted, limit), signal)
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
 * Ends the fares whose watches have a `departs_on` that has passed everywhere on earth, and those that were not
 * available in the 30 days since the last of their watches began. A fare whose answers showed a past departure for
 * three days has departed. A fare without a recorded check does not expire: its watches end one by one
 * (end-watches.ts). Returns how many. Safe to run twice: an expired fare is not scheduled and is not found
 * again.
 */
export async function expireFares(deps: ExpiryDeps, signal?: AbortSignal): Promise<number> {
  return inBatches(BATCH, (limit) => expireSome(deps, lockOutdated, limit), signal)
}

interface EndedFare extends StateRow {
  readonly fareId: number
  readonly reason: EndReason
  /** Whether its end needs no guard: an incident has held it before, or no answer gave its date. */
  readonly isConfirmed: boolean
  /** Since when a mass held its end; null if none did. */
  readonly heldSince: Date | null
  readonly pair: PairState
  readonly intervalSeconds: number
  readonly now: Date
}

async function expireSome(
  { db, log, metrics, rules }: ExpiryDeps,
  lockEnded: (tx: Tx, limit: number) => Promise<EndedFare[]>,
  limit: number,
): Promise<number> {
  const { found, ended, transitions } = await inTransaction(db, async (tx) => {
    const fares = await lockEnded(tx, limit)
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
  await endBeliefs(tx, fareIds)
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
}

/** Nothing is believed of an expired fare: its history ends here, and so do its checks. */
async function endBeliefs(tx: Tx, fareIds: readonly number[]): Promise<void> {
  await sql`
    update fare_state
       set expired_at = clock_timestamp(), outbound = 'unavailable',
           return = case when return is not null then 'unavailable' end,
           pair = 'not_bookable', price = null, currency = null,
           hidden = null, held = null, held_since = null, contradicted_since = null, unusable = 0, unusable_since = null
     where tracked_fare_id = any(${fareIds}::bigint[])
  `.execute(tx)
  await unfollow(tx, fareIds)
  await sql`
    update fare_belief_version v
       set valid_to = greatest(clock_timestamp(), v.valid_from + interval '1 millisecond'),
           price_checked_at = s.price_checked_at, price_reason = s.price_reason, flights_id = s.flights_id,
           written_in = pg_current_xact_id()
      from fare_state s
     where s.tracked_fare_id = v.tracked_fare_id
       and v.tracked_fare_id = any(${fareIds}::bigint[]) and v.valid_to is null
  `.execute(tx)
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
async function lockDeparted(tx: Tx, limit: number): Promise<EndedFare[]> {
  const { rows } = await sql<EndedFare>`
    with departed as materialized (
           select f.id
             from fare_state s
             join tracked_fare f on f.id = s.tracked_fare_id
            where s.departs_at <= clock_timestamp() and s.expired_at is null
            limit ${limit}
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

async function lockOutdated(tx: Tx, limit: number): Promise<EndedFare[]> {
  const { rows } = await sql<EndedFare>`
    select ${STATE_COLUMNS}, s.pair, clock_timestamp() as now, true as "isConfirmed", null as "heldSince",
           case when ${IS_PAST_FOR_DAYS} then 'departed'
                when ${hasPassed(sql`f.departs_on`)} then 'departs_on_passed' else 'never_available' end as reason
      from fare_state s
      join fare_schedule q using (tracked_fare_id)
      join tracked_fare f on f.id = s.tracked_fare_id
     where s.state <> '{}' and s.expired_at is null
       and (${IS_PAST_FOR_DAYS}
            or ${hasPassed(sql`f.departs_on`)}
            or (s.ever_available_at is null
                and f.created_at < clock_timestamp() - interval '30 days'
                and coalesce((select max(w.began_at) from watch w
                               where w.tracked_fare_id = f.id and w.paused_at is null), f.created_at)
                    < clock_timestamp() - interval '30 days'))
     order by s.tracked_fare_id
     limit ${limit}
       for no key update of f skip locked
       for update of s, q skip locked
  `.execute(tx)
  return rows
}
