import { insertWatchEnds } from '../../feeds/append-records.ts'
import type { EndReason } from '../../platform/base/kinds.ts'
import type { Logger } from '../../platform/base/logger.ts'
import { type Db, sql, type Tx } from '../../platform/db/database.ts'
import { inTransaction } from '../../platform/db/transaction.ts'
import { notifyWatches } from '../../watches/notify-watches.ts'
import { hasPassed, lockTrackedFares, syncTrackedFares } from '../../watches/sync-tracked-fares.ts'
import { endedView, type FareState, type StateRow, stateOfRow } from '../decide/fare-state.ts'

const BATCH = 500

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
 * Ends watches whose fare may go on for others: their own `departs_on` has passed everywhere on earth, the fare was not
 * available in the 30 days since they began, it had departed and expired already when they began, or their question
 * names one flight twice, which was not refused before. Each receives one `expired`, its last record. Returns how
 * many. Safe to run twice: a watch ends once.
 */
export async function endWatches(deps: EndWatchesDeps, signal?: AbortSignal): Promise<number> {
  return inBatches(BATCH, (limit) => endSome(deps, limit), signal)
}

async function endSome({ db, log }: EndWatchesDeps, limit: number): Promise<number> {
  const ended = await inTransaction(db, (tx) => endLocked(tx, limit))
  for (const { reseller, list, reference } of ended.filter(({ reason }) => reason === null)) {
    log.warn({ reseller, list, reference }, 'watch ended: its return flight is its outbound flight')
  }
  return ended.length
}

async function endLocked(tx: Tx, limit: number): Promise<EndedWatch[]> {
  const fareIds = await lockFaresOfEnded(tx, limit)
  if (fareIds.length === 0) return []
  const ended = await findEnded(tx, fareIds, limit)
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

/** Whether watch `w` of reseller `r` is to end; its fare has the state `s`, or none. */
const IS_OVER = sql`
  w.ended_at is null and w.paused_at is null and r.disabled_at is null
       and (s.expired_at is not null
            or ${hasPassed(sql`w.departs_on`)}
            or w.tracked_fare_id in (select id from tracked_fare where return_flight_id = flight_id)
            or w.began_at < clock_timestamp() - interval '30 days' and not coalesce(${WAS_BOOKABLE}, false))
`

/** Locks fares and their schedule first, as every transaction does that changes watches or records a check. */
async function lockFaresOfEnded(tx: Tx, limit: number): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`
    select f.id
      from tracked_fare f
     where f.id in (select w.tracked_fare_id
                      from watch w
                      join reseller r on r.id = w.reseller_id
                      left join fare_state s on s.tracked_fare_id = w.tracked_fare_id
                     where ${IS_OVER})
     order by f.id
     limit ${limit}
       for no key update of f skip locked
  `.execute(tx)
  const fareIds = rows.map(({ id }) => id)
  if (fareIds.length > 0) await lockTrackedFares(tx, fareIds)
  return fareIds
}

/** Reads under the locks: before them a check may have been recorded, or a watch paused. */
async function findEnded(tx: Tx, fareIds: readonly number[], limit: number): Promise<EndedWatch[]> {
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
     limit ${limit}
  `.execute(tx)
  return rows
}

/**
 * The record of a fare or a watch that has ended: the fare cannot be bought any more. A last check that lies ahead
 * of `now`, because the clock was set back, is not shown: the end would seem to have been detected before it.
 */
export function expiryOf(state: FareState, reason: EndReason | null, now: Date) {
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
 * moment: at one batch a tick they would take hours, and in one transaction they would block the checks. Returns
 * the sum.
 */
export async function inBatches(
  limit: number,
  step: (limit: number) => Promise<number>,
  signal?: AbortSignal,
): Promise<number> {
  let total = 0
  for (;;) {
    const done = await step(limit)
    total += done
    if (done < limit || signal?.aborted) return total
  }
}
