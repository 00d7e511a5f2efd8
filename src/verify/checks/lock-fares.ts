import { sql, type Tx } from '../../db/database.ts'

/** The belief of a fare as its history shows it. */
export interface ShownBelief {
  readonly outbound: string
  readonly return: string | null
  readonly pair: string
  readonly amount: string | null
  readonly currency: string | null
}

/** A fare whose state this transaction may change. */
export interface LockedFare extends ShownBelief {
  readonly fareId: number
  /** A FareState as JSON; an empty object before the first check. */
  readonly state: object
  readonly hasReturn: boolean
  /** Whether an active watch of it waits for a good check to start. */
  readonly hasUnstartedWatch: boolean
  /** When the request of the last counted answer began. */
  readonly askedAt: Date | null
}

/**
 * Locks the fares that the claim still holds, in the order of their ids. A claim whose lease has ended, or whose fares
 * have ended, may hold none.
 */
export async function lockClaimed(tx: Tx, claimId: string): Promise<LockedFare[]> {
  const rows = await tx
    .selectFrom('fare_schedule')
    .select('tracked_fare_id as id')
    .where('claim_id', '=', claimId)
    .orderBy('tracked_fare_id')
    .forUpdate()
    .execute()
  return lockStates(
    tx,
    rows.map((row) => row.id),
  )
}

/** Locks fares by their ids, whether or not a claim holds them. Leaves out expired fares: nothing is recorded of them. */
export async function lockFares(tx: Tx, fareIds: readonly number[]): Promise<LockedFare[]> {
  // The schedule before the states, as in `lockClaimed`: transactions that meet must take their locks in one order.
  await sql`
    select from fare_schedule
     where tracked_fare_id = any(${fareIds}::bigint[])
     order by tracked_fare_id
       for update
  `.execute(tx)
  return lockStates(tx, fareIds)
}

/** Inserts the states of fares that have their first check. */
async function lockStates(tx: Tx, fareIds: readonly number[]): Promise<LockedFare[]> {
  const locked = await lockExisting(tx, fareIds)
  if (locked.length === fareIds.length) return locked
  await insertMissing(tx, fareIds)
  return lockExisting(tx, fareIds)
}

async function insertMissing(tx: Tx, fareIds: readonly number[]): Promise<void> {
  await sql`
    insert into fare_state (tracked_fare_id, return, state)
    select id, case when return_flight_id is not null then 'unknown' end, '{}'
      from tracked_fare
     where id = any(${fareIds}::bigint[])
     order by id
        on conflict (tracked_fare_id) do nothing
  `.execute(tx)
}

async function lockExisting(tx: Tx, fareIds: readonly number[]): Promise<LockedFare[]> {
  const { rows } = await sql<LockedFare>`
    select tracked_fare_id as "fareId", state, asked_at as "askedAt", return is not null as "hasReturn",
           exists (select from watch w
                     join reseller r on r.id = w.reseller_id and r.disabled_at is null
                    where w.tracked_fare_id = s.tracked_fare_id and w.started_at is null
                      and w.paused_at is null and w.ended_at is null) as "hasUnstartedWatch",
           outbound, return, pair, price as amount, currency
      from fare_state s
     where tracked_fare_id = any(${fareIds}::bigint[]) and expired_at is null
     order by tracked_fare_id
       for update
  `.execute(tx)
  return rows
}
