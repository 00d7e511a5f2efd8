import { type Db, sql, type Tx } from '../db/database.ts'
import { takeTransactionLock } from '../db/session-lock.ts'
import { inTransaction } from '../db/transaction.ts'
import { nameFault } from './rows/text-rules.ts'
import {
  DuplicateResellerError,
  InvalidResellerNameError,
  ResellerDisabledError,
  UnknownResellerError,
} from './rows/watch-errors.ts'
import {
  lockTrackedFares,
  syncTrackedFares,
  type TrackedFaresEffect,
} from './sync-tracked-fares.ts'
import { findReseller, type Reseller } from './watch-queries.ts'

/** Throws DuplicateResellerError where the name is taken, InvalidResellerNameError where it is none. */
export async function createReseller(db: Db, name: string): Promise<Reseller> {
  const fault = nameFault(name)
  if (fault !== undefined) throw new InvalidResellerNameError(name, fault)
  const { rows } = await sql<Reseller>`
    insert into reseller (name) values (${name})
        on conflict (name) do nothing
    returning id, name, created_at as "createdAt", disabled_at as "disabledAt"
  `.execute(db)
  const [created] = rows
  if (created === undefined) throw new DuplicateResellerError(name)
  return created
}

/** The reseller of a name; throws UnknownResellerError where there is none. */
export async function requireReseller(db: Db, name: string): Promise<Reseller> {
  const found = await findReseller(db, name)
  if (found === undefined) throw new UnknownResellerError(name)
  return found
}

/**
 * Stops a reseller's watches, as if each were paused; its watch lists and its feed stay. Doing it again changes
 * nothing.
 */
export async function disableReseller(db: Db, resellerId: number): Promise<TrackedFaresEffect> {
  return inTransaction(db, async (tx) => {
    await lockWatchesOf(tx, resellerId)
    const fareIds = await findTrackedFaresOf(tx, resellerId)
    await lockTrackedFares(tx, fareIds)
    await sql`
      update reseller set disabled_at = clock_timestamp()
       where id = ${resellerId} and disabled_at is null
    `.execute(tx)
    return syncTrackedFares(tx, fareIds)
  })
}

async function findTrackedFaresOf(tx: Tx, resellerId: number): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`
    select distinct tracked_fare_id as id from watch where reseller_id = ${resellerId}
  `.execute(tx)
  return rows.map((row) => row.id)
}

/**
 * Two changes to the watches of one reseller take turns. It is not the reseller's row that is locked: its feed's
 * numbers are given under that lock, and a large import must not hold up the records of changes.
 */
export async function lockWatchesOf(tx: Tx, resellerId: number): Promise<void> {
  await takeTransactionLock(tx, `watches of reseller ${resellerId}`)
}

/** Throws ResellerDisabledError. Asked under the lock, so that nothing begins once the reseller is disabled. */
export async function assertEnabled(tx: Tx, resellerId: number): Promise<void> {
  const { rows } = await sql<{ name: string; disabled: boolean }>`
    select name, disabled_at is not null as disabled from reseller where id = ${resellerId}
  `.execute(tx)
  const [reseller] = rows
  if (reseller === undefined) throw new Error(`there is no reseller with id ${resellerId}`)
  if (reseller.disabled) throw new ResellerDisabledError(reseller.name)
}
