import { insertWatchEnds } from '../../changes/watch-feed.ts'
import { type Db, sql, type Tx } from '../../db/database.ts'
import { inTransaction } from '../../db/transaction.ts'
import { notifyWatches } from '../../watch/notify-watches.ts'
import { lockTrackedFares, syncTrackedFares } from '../../watch/sync-tracked-fares.ts'
import { initialState } from '../decide/fare-state.ts'
import { parseFareState } from '../decide/parse-fare-state.ts'
import { expiryOf, inBatches } from './expiry.ts'

const BATCH = 500

interface EndedWatch {
  readonly watchId: string
  readonly fareId: number
  readonly hasReturn: boolean
  /** What is believed of its fare; null where that had no check, or has expired. */
  readonly state: object | null
  readonly now: Date
}

/**
 * Ends watches whose fare may go on for others: their own `departs_on` has passed everywhere on earth, the fare was not
 * available in the 30 days since they began, or it had departed and expired already when they began. Each receives one
 * `expired`, its last record. Returns how many. Safe to run twice: a watch ends once.
 */
export async function endWatches(db: Db, signal?: AbortSignal): Promise<number> {
  return inBatches(BATCH, (limit) => endSome(db, limit), signal)
}

async function endSome(db: Db, limit: number): Promise<number> {
  return inTransaction(db, async (tx) => {
    const fareIds = await lockFaresOfEnded(tx, limit)
    if (fareIds.length === 0) return 0
    const ended = await findEnded(tx, fareIds, limit)
    const eventOf = await insertEnds(tx, ended)
    const ends = ended.flatMap(({ watchId, fareId }) => {
      const eventId = eventOf.get(fareId)
      return eventId === undefined ? [] : [{ watchId, eventId }]
    })
    await notifyWatches(tx, { ends })
    await sql`
      update watch set ended_at = clock_timestamp() where id = any(${ended.map((one) => one.watchId)}::uuid[])
    `.execute(tx)
    await syncTrackedFares(tx, fareIds)
    return ended.length
  })
}

/** One event for all watches of a fare. Returns the events' ids by fare. */
async function insertEnds(tx: Tx, ended: readonly EndedWatch[]): Promise<Map<number, string>> {
  const fares = [...new Map(ended.map((watch) => [watch.fareId, watch])).values()]
  const drafts = fares.map(({ fareId, state, hasReturn, now }) => {
    const believed = state === null ? initialState(hasReturn) : parseFareState(state)
    return { fareId, ...expiryOf(believed, now) }
  })
  const ids = await insertWatchEnds(tx, drafts)
  return new Map(ids.flatMap((id, i) => fares.slice(i, i + 1).map(({ fareId }) => [fareId, id])))
}

/**
 * Whether the fare of watch `w`, with state `s`, was bookable at any time since the watch began. Most fares as old as that
 * are bookable now, or never were: their intervals need not be read.
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
            or w.departs_on + interval '36 hours' < clock_timestamp() at time zone 'UTC'
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
           case when s.expired_at is null then nullif(s.state, '{}') end as state, clock_timestamp() as now
      from watch w
      join tracked_fare f on f.id = w.tracked_fare_id
      join reseller r on r.id = w.reseller_id
      left join fare_state s on s.tracked_fare_id = w.tracked_fare_id
     where w.tracked_fare_id = any(${fareIds}::bigint[]) and ${IS_OVER}
     order by w.tracked_fare_id, w.id
     limit ${limit}
  `.execute(tx)
  return rows
}
