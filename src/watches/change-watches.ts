import { AppError } from '../platform/base/errors.ts'
import { quote } from '../platform/base/text.ts'
import { type Db, sql, type Tenant, type Tx } from '../platform/db/database.ts'
import { affected, inTransaction } from '../platform/db/transaction.ts'
import { assertEnabled, lockWatchesOf } from '../resellers/resellers.ts'
import { fieldValue, questionFrom } from '../upstream/question.ts'
import { importWatchList } from './import/import-watch-list.ts'
import { activeWatchesOf, assertMaxDelays, readMaxDelayNeed } from './max-delays.ts'
import { rowsOf, type WatchEntry } from './rows/watch-row.ts'
import {
  hasPassed,
  lockTrackedFares,
  syncTrackedFares,
  type TrackedFaresEffect,
} from './sync-tracked-fares.ts'
import { type Cells, cellsOfInput, type WatchInput } from './watch-input.ts'
import {
  findWatch,
  requireWatchList,
  UnknownWatchListError,
  type Watch,
  type WatchPosition,
} from './watch-lists.ts'

/** A watch list, or some of its watches. */
export interface WatchSelection {
  readonly resellerId: number
  readonly list: string
  /** Without it, all watches of the list. */
  readonly references?: readonly string[] | undefined
}

export interface ChangeOutcome extends TrackedFaresEffect {
  /** How many watches were changed. The others were already in this state. */
  readonly watches: number
}

interface Selected {
  readonly listId: string
  readonly watchIds: readonly string[]
}

/**
 * Pauses watches: they receive no records and need no checks. Pauses none and throws UnknownWatchListError or
 * UnknownReferencesError if the list or one of the references does not exist.
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

/**
 * Resumes paused watches, and ended ones that are named: they begin again. Throws as `pauseWatches` does,
 * ResellerDisabledError or MaxDelayRefusedError.
 */
export async function resumeWatches(db: Db, selection: WatchSelection): Promise<ChangeOutcome> {
  return changeSelected(db, selection, async (tx, selected) => {
    const needNow = () => readMaxDelayNeed(tx, activeWatchesOf(selection.resellerId))
    await assertEnabled(tx, selection.resellerId)
    const before = await needNow()
    const resumed = await beginAgain(tx, selection, selected)
    await assertMaxDelays(tx, selection.resellerId, { before, after: await needNow() })
    return resumed
  })
}

/**
 * A watch whose departure date has passed stays ended. The known departure of an ended fare may be wrong: a fare whose
 * watch is named is asked again. The whole list may hold many fares that have departed, so there each keeps its
 * departure. Returns how many watches were changed.
 */
async function beginAgain(
  tx: Tx,
  { resellerId, references }: WatchSelection,
  { watchIds }: Selected,
): Promise<number> {
  const isNamed = references !== undefined
  const { rows } = await sql`
    with resumed as (
      update watch
         set paused_at = null, began_at = clock_timestamp(), started_at = null,
             ended_at = case when ${hasPassed(sql`departs_on`)} then ended_at end
       where id = any(${watchIds}::uuid[]) and reseller_id = ${resellerId}
         and (paused_at is not null or ${isNamed} and ended_at is not null and not ${hasPassed(sql`departs_on`)})
      returning tracked_fare_id as fare, ended_at
    ), forgotten as (
      update fare_state set departs_at = null
       where ${isNamed} and expired_at is not null
         and tracked_fare_id in (select fare from resumed where ended_at is null)
    )
    select from resumed
  `.execute(tx)
  return rows.length
}

/** Deletes watches, and the list itself if no references are given. Their records stay in the reseller's feed. */
export async function deleteWatches(db: Db, selection: WatchSelection): Promise<ChangeOutcome> {
  const { resellerId, references } = selection
  return changeSelected(db, selection, async (tx, { listId, watchIds }) => {
    const deleted = await affected(
      sql`delete from watch where id = any(${watchIds}::uuid[]) and reseller_id = ${resellerId}`,
      tx,
    )
    if (references === undefined) {
      await tx
        .deleteFrom('watch_list')
        .where('id', '=', listId)
        .where('reseller_id', '=', resellerId)
        .execute()
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
    const fareIds = [...new Set(found.flatMap((watch) => watch.fareId ?? []))]
    await lockTrackedFares(tx, fareIds)
    const watches = await change(tx, { listId, watchIds: found.map((watch) => watch.id) })
    return { watches, ...(await syncTrackedFares(tx, fareIds)) }
  })
}

/**
 * Disables a reseller: its watches stop as if each were paused. Its watch lists and its feed stay. Disabling it a
 * second time changes nothing.
 */
export async function disableReseller(db: Db, resellerId: number): Promise<TrackedFaresEffect> {
  return changeAll(db, resellerId, async (tx) => {
    await sql`
      update reseller set disabled_at = clock_timestamp() where id = ${resellerId} and disabled_at is null
    `.execute(tx)
  })
}

/**
 * Enables a disabled reseller: its watches that are neither paused nor ended begin again, as if each were resumed.
 * Enabling it a second time changes nothing. A reseller that is being deleted stays disabled.
 */
export async function enableReseller(db: Db, resellerId: number): Promise<TrackedFaresEffect> {
  return changeAll(db, resellerId, async (tx) => {
    await sql`
      with enabled as (
        update reseller set disabled_at = null
         where id = ${resellerId} and disabled_at is not null and deleted_at is null
        returning id
      )
      update watch set began_at = clock_timestamp(), started_at = null
       where reseller_id in (select id from enabled) and paused_at is null and ended_at is null
    `.execute(tx)
  })
}

/** Changes what all watches of a reseller follow from. */
async function changeAll(
  db: Db,
  resellerId: number,
  change: (tx: Tx) => Promise<void>,
): Promise<TrackedFaresEffect> {
  return inTransaction(db, async (tx) => {
    await lockWatchesOf(tx, resellerId)
    const watched = await tx
      .selectFrom('watch')
      .select('tracked_fare_id as id')
      .distinct()
      .where('reseller_id', '=', resellerId)
      .execute()
    const fareIds = watched.flatMap(({ id }) => id ?? [])
    await lockTrackedFares(tx, fareIds)
    await change(tx)
    return syncTrackedFares(tx, fareIds)
  })
}

/** Deletes up to `batch` watches of a disabled reseller, then its lists. Returns how many rows. */
export async function deleteListsOf(db: Db, resellerId: number, batch: number): Promise<number> {
  const watches = await affected(
    sql`
      delete from watch where id in (select id from watch where reseller_id = ${resellerId} limit ${batch})
    `,
    db,
  )
  if (watches > 0) return watches
  return affected(sql`delete from watch_list where reseller_id = ${resellerId}`, db)
}

async function findList(tx: Tx, { resellerId, list }: WatchSelection): Promise<string> {
  const found = await tx
    .selectFrom('watch_list')
    .select('id')
    .where('reseller_id', '=', resellerId)
    .where('name', '=', list)
    .executeTakeFirst()
  if (found === undefined) throw new UnknownWatchListError(list)
  return found.id
}

async function findWatches(
  tx: Tx,
  listId: string,
  { resellerId, list, references }: WatchSelection,
): Promise<{ readonly id: string; readonly reference: string; readonly fareId: number | null }[]> {
  let selected = tx
    .selectFrom('watch')
    .select(['id', 'reference', 'tracked_fare_id as fareId'])
    .where('watch_list_id', '=', listId)
    .where('reseller_id', '=', resellerId)
  if (references !== undefined) {
    selected = selected.where(sql<boolean>`reference = any(${references}::text[])`)
  }
  const watches = await selected.execute()
  const found = new Set(watches.map(({ reference }) => reference))
  const missing = (references ?? []).filter((reference) => !found.has(reference))
  if (missing.length > 0) throw new UnknownReferencesError(list, missing)
  return watches
}

const SHOWN_REFERENCES = 10

/** Some of the references are not in the list. The other watches are not changed either. */
export class UnknownReferencesError extends AppError {
  override readonly name = 'UnknownReferencesError'
  override readonly code = 'not_found'
  readonly missing = 'watch'
  readonly references: readonly string[]

  constructor(list: string, references: readonly string[]) {
    const shown = references.slice(0, SHOWN_REFERENCES).map(quote).join(', ')
    const more = references.length - SHOWN_REFERENCES
    super(
      `the watch list ${quote(list)} has no ${shown}${more > 0 ? ` and ${more} more` : ''}; nothing was changed`,
    )
    this.references = references
  }
}

/** Settings to change. Null clears one; what is not named stays. */
export type WatchChange = Partial<Omit<WatchInput, 'reference'>>

/**
 * Changes one watch by the rules of an import, and returns it. Throws UnknownWatchListError, UnknownReferencesError,
 * InvalidRowsError, ResellerDisabledError, MaxDelayRefusedError.
 */
export async function changeWatch(
  { db, resellerId }: Tenant & { readonly db: Db },
  position: WatchPosition,
  change: WatchChange,
): Promise<Watch> {
  return inTransaction(db, async (tx) => {
    await lockWatchesOf(tx, resellerId)
    const { list, reference } = position
    const owner = { db: tx, resellerId }
    const find = async () => {
      const watch = await findWatch(owner, position)
      if (watch === undefined) throw new UnknownReferencesError(list, [reference])
      return watch
    }
    await requireWatchList(owner, list)
    const { entry } = await find()
    await importWatchList(tx, {
      resellerId,
      list,
      source: rowsOf('the body', [changedCells(entry, change)]),
    })
    return find()
  })
}

function changedCells({ list, question, ...settings }: WatchEntry, change: WatchChange): Cells {
  // A watch that is of a route from now on keeps nothing of its question.
  const kept = change.route ? {} : (question ?? {})
  const changed = questionFrom((field) => {
    const value = fieldValue(change, field)
    return value === undefined ? (fieldValue(kept, field) ?? null) : value
  })
  return cellsOfInput(list, { ...settings, ...change, ...changed })
}
