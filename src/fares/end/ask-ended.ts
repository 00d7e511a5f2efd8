import { type Db, PREPARED, sql, type Tx } from '../../platform/db/database.ts'
import { inTransaction } from '../../platform/db/transaction.ts'
import { expediteEnded, unfollow } from '../../schedule/follow.ts'
import {
  ENDED_WITH_FARE,
  lockTrackedFares,
  reopenWatches,
  syncTrackedFares,
} from '../../watches/sync-tracked-fares.ts'
import type { Check, ClaimRef } from '../check/check-fares.ts'
import { isPast } from '../decide/reading.ts'

/**
 * Schedules one check of each ended fare that is due for its daily one: it may have ended although it can be bought.
 * It is asked until the `departs_on` of a watch that ended with it, or for 30 days without one. Returns how many were
 * due, of `atMost`. Safe to run twice: the next check of each is due a day later.
 */
export async function askEnded(db: Db, atMost: number): Promise<number> {
  return inTransaction(db, (tx) => askSome(tx, atMost))
}

async function askSome(tx: Tx, limit: number): Promise<number> {
  const { rows } = await sql<{ id: number; isWatched: boolean }>`
    update fare_state s
       set ask_again_at = case when d."isWatched" then clock_timestamp() + interval '1 day' end
      from (select s.tracked_fare_id as id,
                   exists (select from watch w
                            where w.tracked_fare_id = s.tracked_fare_id and ${ENDED_WITH_FARE}
                              and (w.departs_on is not null or s.expired_at > clock_timestamp() - interval '30 days'))
                     as "isWatched"
              from fare_state s
             where s.ask_again_at <= clock_timestamp()
             order by s.ask_again_at
             limit ${limit}
               for update skip locked) d
     where s.tracked_fare_id = d.id
    returning d.id, d."isWatched"
  `.execute(tx)
  await expediteEnded(
    tx,
    rows.filter(({ isWatched }) => isWatched).map(({ id }) => id),
  )
  return rows.length
}

/**
 * Decides the checks of ended fares in a claim, before its fares are locked. A fare that can be bought revives: its
 * watches begin again, and the answer is recorded as that of a new fare. The others are not scheduled any more.
 * Which have ended is read once they are locked: a watch may have begun since the claim.
 */
export async function reviveEnded(
  tx: Tx,
  claim: ClaimRef,
  checks: readonly Check[],
): Promise<void> {
  const asked = checks.filter(({ why }) => why === 'ended').map(({ fareId }) => fareId)
  if (asked.length === 0) return
  await lockTrackedFares(tx, asked)
  const ended = await findEndedOf(tx, claim)
  const answered = checks.filter(({ fareId }) => ended.includes(fareId))
  if (answered.length === 0) return
  const alive = answered.filter(canBeBought).map(({ fareId }) => fareId)
  await reopenWatches(tx, alive, { begin: alive })
  await sql`update fare_state set departs_at = null where tracked_fare_id = any(${alive}::bigint[])`.execute(
    tx,
  )
  await syncTrackedFares(tx, alive)
  await unfollow(
    tx,
    answered.map(({ fareId }) => fareId).filter((id) => !alive.includes(id)),
  )
}

async function findEndedOf(tx: Tx, { claimId, fareIds }: ClaimRef): Promise<number[]> {
  const rows = await tx
    .selectFrom('fare_schedule as q')
    .innerJoin('fare_state as s', 's.tracked_fare_id', 'q.tracked_fare_id')
    .select('s.tracked_fare_id as id')
    .where(sql<boolean>`q.tracked_fare_id = any(${fareIds}::bigint[])`)
    .where('q.claim_id', '=', claimId)
    .where('s.expired_at', 'is not', null)
    .modifyEnd(PREPARED)
    .execute()
  return rows.map(({ id }) => id)
}

function canBeBought({ askedAt, observation: { outbound, return: back } }: Check): boolean {
  return [outbound, back].every(
    (leg) => leg === null || (leg.kind === 'available' && !isPast(leg.flight.flight, askedAt)),
  )
}
