import { type Db, type RawBuilder, sql, type Tx } from '../db/database.ts'
import { affected, inTransaction } from '../db/transaction.ts'
import { assertEnabled, lockWatchesOf } from '../resellers/resellers.ts'
import { UnknownReferencesError, UnknownWatchListError } from './rows/watch-errors.ts'
import {
  lockTrackedFares,
  syncTrackedFares,
  type TrackedFaresEffect,
} from './sync-tracked-fares.ts'

/** A whole watch list, or the watches of it that are named. */
export interface WatchSelection {
  readonly resellerId: number
  readonly list: string
  /** All of the list where missing. */
  readonly references?: readonly string[] | undefined
}

export interface ChangeOutcome extends TrackedFaresEffect {
  /** Watches that were changed; the others were so already. */
  readonly watches: number
}

interface Selected {
  readonly listId: string
  readonly watchIds: readonly string[]
}

/**
 * Watches that are paused are told nothing and ask nothing.
 * Throws UnknownWatchListError, or UnknownReferencesError and pauses none.
 */
export async function pauseWatches(db: Db, selection: WatchSelection): Promise<ChangeOutcome> {
  return changeSelected(db, selection, (tx, { watchIds }) =>
    affected(
      sql`
        update watch set paused_at = clock_timestamp()
         where id = any(${watchIds}::uuid[]) and reseller_id = ${selection.resellerId} and paused_at is null
      `,
      tx,
    ),
  )
}

/** Paused watches begin again. Throws ResellerDisabledError besides. */
export async function resumeWatches(db: Db, selection: WatchSelection): Promise<ChangeOutcome> {
  return changeSelected(db, selection, async (tx, { watchIds }) => {
    await assertEnabled(tx, selection.resellerId)
    return affected(
      sql`
        update watch
           set paused_at = null, began_at = clock_timestamp(), started_at = null,
               ended_at = case when departs_on + interval '36 hours' < clock_timestamp() at time zone 'UTC' then ended_at end
         where id = any(${watchIds}::uuid[]) and reseller_id = ${selection.resellerId} and paused_at is not null
      `,
      tx,
    )
  })
}

/** The records that a deleted watch was told stay in the reseller's feed. A whole list is deleted with its name. */
export async function deleteWatches(db: Db, selection: WatchSelection): Promise<ChangeOutcome> {
  const { resellerId, references } = selection
  return changeSelected(db, selection, async (tx, { listId, watchIds }) => {
    const deleted = await affected(
      sql`delete from watch where id = any(${watchIds}::uuid[]) and reseller_id = ${resellerId}`,
      tx,
    )
    if (references === undefined) {
      await sql`delete from watch_list where id = ${listId} and reseller_id = ${resellerId}`.execute(
        tx,
      )
    }
    return deleted
  })
}

async function changeSelected(
  db: Db,
  selection: WatchSelection,
  change: (tx: Tx, selected: Selected) => Promise<number>,
): Promise<ChangeOutcome> {
  return inTransaction(db, async (tx) => {
    await lockWatchesOf(tx, selection.resellerId)
    const listId = await findList(tx, selection)
    const found = await findWatches(tx, listId, selection)
    const fareIds = [...new Set(found.map((watch) => watch.fareId))]
    await lockTrackedFares(tx, fareIds)
    const watches = await change(tx, { listId, watchIds: found.map((watch) => watch.id) })
    return { watches, ...(await syncTrackedFares(tx, fareIds)) }
  })
}

async function findList(tx: Tx, { resellerId, list }: WatchSelection): Promise<string> {
  const { rows } = await sql<{ id: string }>`
    select id from watch_list where reseller_id = ${resellerId} and name = ${list}
  `.execute(tx)
  const [found] = rows
  if (found === undefined) throw new UnknownWatchListError(list)
  return found.id
}

interface FoundWatch {
  readonly id: string
  readonly reference: string
  readonly fareId: number
}

async function findWatches(
  tx: Tx,
  listId: string,
  { resellerId, list, references }: WatchSelection,
): Promise<FoundWatch[]> {
  const named: RawBuilder<unknown> =
    references === undefined ? sql`true` : sql`reference = any(${references}::text[])`
  const { rows } = await sql<FoundWatch>`
    select id, reference, tracked_fare_id as "fareId"
      from watch
     where watch_list_id = ${listId} and reseller_id = ${resellerId} and ${named}
  `.execute(tx)
  const found = new Set(rows.map((row) => row.reference))
  const missing = (references ?? []).filter((reference) => !found.has(reference))
  if (missing.length > 0) throw new UnknownReferencesError(list, missing)
  return rows
}
