import { appendAvailabilityChanges } from '../../changes/availability-feed.ts'
import { type Db, sql, type Tx } from '../../db/database.ts'
import { inTransaction } from '../../db/transaction.ts'
import { notifyWatches } from '../../watch/notify-watches.ts'
import { HAS_DEPARTED, syncTrackedFares } from '../../watch/sync-tracked-fares.ts'
import { parseFareState } from '../decide/parse-fare-state.ts'
import { expiryOf, inBatches } from './expiry.ts'

const BATCH = 500

interface EndedFare {
  readonly fareId: number
  readonly state: object
  readonly now: Date
}

/**
 * Ends fares that can no longer be bought: the departure has passed everywhere on earth (the local time read as
 * UTC−12), the imported `departs_on` of all its watches has, or 30 days passed since the last of them began without
 * the fare ever being available. From then on they cost nothing. A fare without a recorded check does not expire: its
 * watches end one by one (end-watches-job.ts). Returns how many. Safe to run twice: an expired fare is not scheduled and is
 * not found again.
 */
export async function expireFares(db: Db, signal?: AbortSignal): Promise<number> {
  return inBatches(BATCH, (limit) => expireSome(db, limit), signal)
}

async function expireSome(db: Db, limit: number): Promise<number> {
  return inTransaction(db, async (tx) => {
    const ended = await lockEnded(tx, limit)
    if (ended.length === 0) return 0
    const fareIds = ended.map((fare) => fare.fareId)
    await endBeliefs(tx, fareIds)
    const drafts = ended.map(({ fareId, state, now }) => {
      const provenance = { source: 'expiry' }
      return { fareId, ...expiryOf(parseFareState(state), now), evidenceHash: null, provenance }
    })
    const appended = await appendAvailabilityChanges(tx, drafts)
    await notifyWatches(tx, { changeSeqs: appended.map((change) => change.seq) })
    await endTheirWatches(tx, fareIds)
    return ended.length
  })
}

/** Nothing is believed of an expired fare: its history ends here, and so do its checks. */
async function endBeliefs(tx: Tx, fareIds: readonly number[]): Promise<void> {
  await sql`
    update fare_state
       set expired_at = clock_timestamp(), pair = 'not_bookable', price = null, currency = null
     where tracked_fare_id = any(${fareIds}::bigint[])
  `.execute(tx)
  await sql`delete from fare_schedule where tracked_fare_id = any(${fareIds}::bigint[])`.execute(tx)
  await sql`
    update fare_belief_version set valid_to = greatest(clock_timestamp(), valid_from + interval '1 millisecond')
     where tracked_fare_id = any(${fareIds}::bigint[]) and valid_to is null
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

async function lockEnded(tx: Tx, limit: number): Promise<EndedFare[]> {
  const { rows } = await sql<EndedFare>`
    select s.tracked_fare_id as "fareId", s.state, clock_timestamp() as now
      from fare_state s
      join fare_schedule q using (tracked_fare_id)
      join tracked_fare f on f.id = s.tracked_fare_id
     where s.state <> '{}'
       and (${HAS_DEPARTED}
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
