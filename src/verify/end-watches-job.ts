import { insertOwnChanges } from '../changes/watch-feed.ts'
import { type Db, sql, type Tx } from '../db/database.ts'
import { inTransaction } from '../db/transaction.ts'
import { lockTrackedFares, syncTrackedFares } from '../watch/sync-tracked-fares.ts'
import { fanOutChanges } from './checks/fan-out-changes.ts'
import { expiryOf } from './decide/expiry.ts'
import { type FareState, fromJson, initialState } from './decide/fare-state.ts'
import { inBatches } from './in-batches.ts'

const BATCH = 500

interface EndedWatch {
  readonly watchId: string
  readonly fareId: number
  readonly hasReturn: boolean
  /** Of its fare; null where that was never asked about. */
  readonly state: object | null
  readonly hasLooked: boolean
  /** What it learned until then; null where that was nothing. */
  readonly ownState: object | null
  readonly now: Date
}

/**
 * Ends watches by themselves: their own `departs_on` has passed everywhere on earth, 30 days went by since they began
 * without the fare ever being available, or the fare had departed and expired already when they began. Their fare may go
 * on for others. They are told so, as the last that they are told. Returns how many. Safe to run twice: a watch ends once.
 */
export async function endWatches(db: Db, signal?: AbortSignal): Promise<number> {
  return inBatches(BATCH, (limit) => endSome(db, limit), signal)
}

async function endSome(db: Db, limit: number): Promise<number> {
  return inTransaction(db, async (tx) => {
    const fareIds = await lockFaresOfEnded(tx, limit)
    if (fareIds.length === 0) return 0
    const ended = await findEnded(tx, fareIds, limit)
    const ids = await insertOwnChanges(
      tx,
      ended.map((one) => ({ fareId: one.fareId, ...expiryOf(stateSeenBy(one), one.now) })),
    )
    await fanOutChanges(tx, {
      seqs: [],
      own: ended.map(({ watchId }, i) => ({ watchId, ownChangeId: ids[i] ?? '' })),
    })
    await sql`
      update watch set ended_at = clock_timestamp() where id = any(${ended.map((one) => one.watchId)}::uuid[])
    `.execute(tx)
    await syncTrackedFares(tx, fareIds)
    return ended.length
  })
}

/**
 * Whether watch `w` saw its fare `s` available: that others had before it began is none of its knowledge. Most fares that are
 * as old are bookable now, or never were, and need no look at their intervals.
 */
const WAS_SEEN_AVAILABLE = sql`
  (w.looked_at is not null and s.ever_available_at is not null
   and (s.pair = 'bookable'
        or exists (select from fare_belief_version v
                    where v.tracked_fare_id = w.tracked_fare_id and v.pair = 'bookable' and v.valid_to > w.looked_at))
   or coalesce(w.own_state ->> 'everAvailableAt', '') <> '')
`

/** Of watch `w` of reseller `r`, and of the state `s` of its fare, which may have none. */
const IS_OVER = sql`
  w.ended_at is null and w.paused_at is null and r.disabled_at is null
       and (s.expired_at is not null
            or w.departs_on + interval '36 hours' < clock_timestamp() at time zone 'UTC'
            or w.began_at < clock_timestamp() - interval '30 days' and not ${WAS_SEEN_AVAILABLE})
`

/** Fares and turns first: who changes watches, or records a check, takes their locks before anything else. */
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

/** Read under the locks: until then a check may have recorded something, or a watch have been paused. */
async function findEnded(tx: Tx, fareIds: readonly number[], limit: number): Promise<EndedWatch[]> {
  const { rows } = await sql<EndedWatch>`
    select w.id as "watchId", w.tracked_fare_id as "fareId", f.return_flight_id is not null as "hasReturn",
           nullif(s.state, '{}') as state, w.looked_at is not null as "hasLooked",
           w.own_state as "ownState", clock_timestamp() as now
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

/** What was known before a watch had its first look is not told at its end either. */
function stateSeenBy({ state, hasLooked, hasReturn, ownState }: EndedWatch): FareState {
  const seen = hasLooked ? state : ownState
  return seen === null ? initialState(hasReturn) : fromJson(seen)
}
