import type { Db, Tenant } from '../../platform/db/database.ts'
import { inTransaction } from '../../platform/db/transaction.ts'
import { lockWatchesOf } from '../../resellers/resellers.ts'
import { rowsOf } from '../files/open-watch-file.ts'
import type { WatchEntry } from '../rows/watch-entry.ts'
import { UnknownReferencesError } from '../rows/watch-errors.ts'
import { type Cells, cellsOfInput, type WatchInput } from '../watch-input.ts'
import { requireWatchList } from '../watch-lists.ts'
import { findWatch, type Watch, type WatchPosition } from '../watch-queries.ts'
import { importRows } from './import-watch-list.ts'

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
    await importRows(tx, {
      resellerId,
      list,
      source: rowsOf('the body', [changedCells(entry, change)]),
    })
    return find()
  })
}

function changedCells({ list, question, ...settings }: WatchEntry, change: WatchChange): Cells {
  const { residents, nonResidents } = question.passengers
  return cellsOfInput(list, {
    ...question,
    ...settings,
    ...change,
    passengers: {
      residents: { ...residents, ...change.passengers?.residents },
      nonResidents: { ...nonResidents, ...change.passengers?.nonResidents },
    },
  })
}
