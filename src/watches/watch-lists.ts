import type { Db, Tenant } from '../platform/db/database.ts'
import { inTransaction } from '../platform/db/transaction.ts'
import { lockWatchesOf } from '../resellers/resellers.ts'
import { DuplicateWatchListError, UnknownWatchListError } from './rows/watch-errors.ts'

/** A watch list and its size. The name is its identity: it is unique among the lists of its reseller. */
export interface WatchList {
  readonly name: string
  readonly createdAt: Date
  readonly watches: number
  /** How many of the watches are paused. */
  readonly paused: number
  /** How many of the watches have expired and are not paused. */
  readonly ended: number
}

interface Owner {
  readonly db: Db
  readonly resellerId: number
}

export interface WatchListPage {
  /** The name of the last list on the previous page. */
  readonly after?: string | undefined
  readonly limit: number
}

/** Lists a reseller's watch lists by name. */
export async function listWatchLists(owner: Tenant, page: WatchListPage): Promise<WatchList[]> {
  return readWatchLists(owner, page)
}

/** Finds a reseller's watch list by its name. */
export async function findWatchList(owner: Owner, name: string): Promise<WatchList | undefined> {
  const [found] = await readWatchLists(owner, { name, limit: 1 })
  return found
}

/** Selects the lists first, so that only their watches are counted. */
async function readWatchLists(
  { db, resellerId }: Owner,
  { name, after = '', limit }: WatchListPage & { readonly name?: string },
): Promise<WatchList[]> {
  const lists = db
    .selectFrom('watch_list')
    .select(['id', 'name', 'created_at as createdAt'])
    .where('reseller_id', '=', resellerId)
    .where('name', name === undefined ? '>' : '=', name ?? after)
    .orderBy('name')
    .limit(limit)
  return db
    .selectFrom(lists.as('l'))
    .innerJoinLateral(
      (watches) =>
        watches
          .selectFrom('watch')
          .whereRef('watch.watch_list_id', '=', 'l.id')
          .select(({ fn }) => [
            fn.countAll<number>().as('watches'),
            fn.count<number>('paused_at').as('paused'),
            fn.count<number>('ended_at').filterWhere('paused_at', 'is', null).as('ended'),
          ])
          .as('w'),
      (join) => join.onTrue(),
    )
    .select(['l.name', 'l.createdAt', 'w.watches', 'w.paused', 'w.ended'])
    .orderBy('l.name')
    .execute()
}

/** Creates an empty watch list. The name must have passed `nameFault`. Throws DuplicateWatchListError. */
export async function createWatchList(
  { db, resellerId }: Tenant,
  name: string,
): Promise<WatchList> {
  return inTransaction(db, async (tx) => {
    // An import may add the same list at the same time.
    await lockWatchesOf(tx, resellerId)
    const created = await tx
      .insertInto('watch_list')
      .values({ reseller_id: resellerId, name })
      .onConflict((conflict) => conflict.columns(['reseller_id', 'name']).doNothing())
      .returning('id')
      .executeTakeFirst()
    if (created === undefined) throw new DuplicateWatchListError(name)
    return requireWatchList({ db: tx, resellerId }, name)
  })
}

/**
 * Renames a watch list. Its watches and their records stay; the name that it already has changes nothing.
 * Throws UnknownWatchListError, DuplicateWatchListError.
 */
export async function renameWatchList(
  { db, resellerId }: Tenant,
  { list, name }: { readonly list: string; readonly name: string },
): Promise<WatchList> {
  return inTransaction(db, async (tx) => {
    await lockWatchesOf(tx, resellerId)
    const owner = { db: tx, resellerId }
    await requireWatchList(owner, list)
    if (name !== list && (await findWatchList(owner, name)) !== undefined) {
      throw new DuplicateWatchListError(name)
    }
    await tx
      .updateTable('watch_list')
      .set({ name })
      .where('reseller_id', '=', resellerId)
      .where('name', '=', list)
      .execute()
    return requireWatchList(owner, name)
  })
}

/** Throws UnknownWatchListError. */
export async function requireWatchList(owner: Owner, name: string): Promise<WatchList> {
  const found = await findWatchList(owner, name)
  if (found === undefined) throw new UnknownWatchListError(name)
  return found
}
