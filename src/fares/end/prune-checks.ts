import { type Db, sql } from '../../platform/db/database.ts'
import { affected } from '../../platform/db/transaction.ts'
import { unfollow } from '../../schedule/follow.ts'
import { inBatches } from './end-watches.ts'

const BATCH = 2_000

/**
 * Deletes the counts of checks by minute that are older than two days, because `status` asks for a day, and those of
 * calls that are older than two hours, because the page asks for one.
 */
export async function pruneMinutes(db: Db, signal?: AbortSignal): Promise<number> {
  const deleteSome = (limit: number) =>
    affected(
      sql`
        delete from check_minute
         where minute in (select minute from check_minute
                           where minute < clock_timestamp() - interval '2 days' order by minute limit ${limit})
      `,
      db,
    )
  const deleteCalls = (limit: number) =>
    affected(
      sql`
        delete from call_minute
         where ctid = any(array(select ctid from call_minute
                                 where minute < clock_timestamp() - interval '2 hours' limit ${limit}))
      `,
      db,
    )
  return (
    (await inBatches(BATCH, deleteSome, signal)) + (await inBatches(BATCH, deleteCalls, signal))
  )
}

/**
 * Deletes the answers behind changes that no change has cited for 90 days. The changes keep the hashes. Safe to run
 * while checks are recorded: a change that cites an answer writes its row, so one of the two transactions waits for
 * the other.
 */
export async function pruneEvidence(db: Db, signal?: AbortSignal): Promise<number> {
  return inBatches(
    BATCH,
    (limit) =>
      affected(
        sql`
          delete from evidence
           where created_at < clock_timestamp() - interval '90 days'
             and hash in (select hash from evidence
                           where created_at < clock_timestamp() - interval '90 days' order by created_at limit ${limit})
        `,
        db,
      ),
    signal,
  )
}

/**
 * Deletes the tracked fares that ended 30 days ago and have neither a watch nor a history: questions that were never
 * answered. Nothing refers to them any more.
 */
export async function pruneFares(db: Db, signal?: AbortSignal): Promise<number> {
  return inBatches(BATCH, (limit) => deleteFares(db, limit), signal)
}

async function deleteFares(db: Db, limit: number): Promise<number> {
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
       limit ${limit}
         for update skip locked
    `.execute(tx)
    const fareIds = rows.map(({ id }) => id)
    await unfollow(tx, fareIds)
    const ids = sql`any(${fareIds}::bigint[])`
    await sql`delete from fare_state where tracked_fare_id = ${ids}`.execute(tx)
    await sql`delete from fare_flights where tracked_fare_id = ${ids}`.execute(tx)
    await sql`delete from tracked_fare where id = ${ids}`.execute(tx)
    return rows.length
  })
}
