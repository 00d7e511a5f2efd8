import { insertOwnChanges } from '../changes/watch-feed.ts'
import { type Db, sql, type Tx } from '../db/database.ts'
import { inTransaction } from '../db/transaction.ts'
import { syncTrackedFares } from '../watch/sync-tracked-fares.ts'
import { fanOutChanges } from './checks/fan-out-changes.ts'
import { expiryOf } from './decide/expiry.ts'
import { type FareState, fromJson, initialState } from './decide/fare-state.ts'

const BATCH = 500

interface EndedWatch {
  readonly watchId: string
  readonly fareId: number
  readonly state: object
  /** Whether its fare was asked since it began. */
  readonly isTold: boolean
  readonly hasLooked: boolean
  readonly now: Date
}

/**
 * Ends watches whose fare goes on for others: their own `departs_on` has passed everywhere on earth, or 30 days went
 * by since they began without the fare ever being available. They are told so, as the last that they are told.
 * Returns how many. Safe to run twice: a watch ends once.
 */
export async function endWatches(db: Db): Promise<number> {
  return inTransaction(db, async (tx) => {
    const ended = await lockEnded(tx)
    if (ended.length === 0) return 0
    const told = ended.filter(({ isTold }) => isTold)
    const ids = await insertOwnChanges(
      tx,
      told.map((one) => ({ fareId: one.fareId, ...expiryOf(stateSeenBy(one), one.now) })),
    )
    await fanOutChanges(tx, {
      seqs: [],
      own: told.map(({ watchId }, i) => ({ watchId, ownChangeId: ids[i] ?? '' })),
    })
    await sql`
      update watch set ended_at = clock_timestamp() where id = any(${ended.map((one) => one.watchId)}::uuid[])
    `.execute(tx)
    await syncTrackedFares(tx, [...new Set(ended.map(({ fareId }) => fareId))])
    return ended.length
  })
}

/** Fares and turns first: who changes watches, or records a check, takes their locks before anything else. */
async function lockEnded(tx: Tx): Promise<EndedWatch[]> {
  const { rows } = await sql<EndedWatch>`
    select w.id as "watchId", w.tracked_fare_id as "fareId", s.state, clock_timestamp() as now,
           coalesce(s.asked_at >= w.began_at, false) as "isTold", w.looked_at is not null as "hasLooked"
      from tracked_fare f
      join fare_schedule q on q.tracked_fare_id = f.id
      join watch w on w.tracked_fare_id = f.id
      join reseller r on r.id = w.reseller_id
      left join fare_state s on s.tracked_fare_id = f.id
     where w.ended_at is null and w.paused_at is null and r.disabled_at is null
       and (w.departs_on + interval '36 hours' < clock_timestamp() at time zone 'UTC'
            or s.ever_available_at is null and w.began_at < clock_timestamp() - interval '30 days')
     order by w.tracked_fare_id, w.id
     limit ${BATCH}
       for no key update of f skip locked
       for update of q skip locked
  `.execute(tx)
  return rows
}

/** What was known before a watch had its first look is not told at its end either. */
function stateSeenBy({ state, hasLooked }: EndedWatch): FareState {
  const held = fromJson(state)
  if (hasLooked) return held
  return { ...initialState(held.return !== null), lastGoodCheckAt: held.lastGoodCheckAt }
}
