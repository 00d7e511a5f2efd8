import { sql, type Tenant, type Tx } from '../db/database.ts'
import { affected, inTransaction } from '../db/transaction.ts'
import { lockWatchesOf } from '../resellers/resellers.ts'
import { DuplicateWatchListError, UnknownWatchListError } from './rows/watch-errors.ts'
import { findWatchList, type WatchList } from './watch-list-queries.ts'

/** Makes an empty watch list; its name has passed `nameFault`. Throws DuplicateWatchListError. */
export async function createWatchList(
  { db, resellerId }: Tenant,
  name: string,
): Promise<WatchList> {
  return inTransaction(db, async (tx) => {
    // An import adds lists too.
    await lockWatchesOf(tx, resellerId)
    const made = await affected(
      sql`
        insert into watch_list (reseller_id, name) values (${resellerId}, ${name})
            on conflict (reseller_id, name) do nothing
      `,
      tx,
    )
    if (made === 0) throw new DuplicateWatchListError(name)
    return mustFind(tx, resellerId, name)
  })
}

/**
 * Gives a watch list another name; its watches, and all that they were told, stay. The name that it has changes nothing.
 * Throws UnknownWatchListError, DuplicateWatchListError.
 */
export async function renameWatchList(
  { db, resellerId }: Tenant,
  { list, name }: { readonly list: string; readonly name: string },
): Promise<WatchList> {
  return inTransaction(db, async (tx) => {
    await lockWatchesOf(tx, resellerId)
    await mustFind(tx, resellerId, list)
    if (name !== list && (await findWatchList({ db: tx, resellerId }, name)) !== undefined) {
      throw new DuplicateWatchListError(name)
    }
    await sql`
      update watch_list set name = ${name} where reseller_id = ${resellerId} and name = ${list}
    `.execute(tx)
    return mustFind(tx, resellerId, name)
  })
}

async function mustFind(tx: Tx, resellerId: number, name: string): Promise<WatchList> {
  const found = await findWatchList({ db: tx, resellerId }, name)
  if (found === undefined) throw new UnknownWatchListError(name)
  return found
}
