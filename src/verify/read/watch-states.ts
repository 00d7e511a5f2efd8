import type { ResellerId } from '../../base/reseller-id.ts'
import { readFeedHead } from '../../changes/watch-feed-queries.ts'
import { type Db, sql, type Tx } from '../../db/database.ts'
import { selectOne } from '../../db/transaction.ts'
import { requireWatchList } from '../../watch/watch-lists.ts'
import {
  findWatch,
  listWatches,
  type Watch,
  type WatchPosition,
} from '../../watch/watch-queries.ts'
import { readWatchFacts } from './watch-facts.ts'
import { viewOfWatch, type WatchView } from './watch-view.ts'

export interface SeenWatch {
  readonly watch: Watch
  readonly view: WatchView
}

export interface ViewArgs {
  readonly resellerId: ResellerId
  readonly minRecheckSeconds: number
}

/** Watches of a reseller with what they may be told; one that was deleted meanwhile is left out. */
export async function viewWatches(
  db: Db,
  { resellerId, minRecheckSeconds }: ViewArgs,
  watches: readonly Watch[],
): Promise<SeenWatch[]> {
  const ids = watches.map(({ id }) => id)
  const factsOf = await readWatchFacts(db, resellerId, ids)
  return watches.flatMap((watch) => {
    const facts = factsOf.get(watch.id)
    if (facts === undefined) return []
    return [{ watch, view: viewOfWatch(watch, facts, { minRecheckSeconds }) }]
  })
}

/**
 * A watch with what it may be told, as one moment shows them: where its question changes between two, it would be told of
 * another fare what lies before its beginning there. Undefined where the reseller has none.
 */
export async function viewWatch(
  db: Db,
  args: ViewArgs,
  position: WatchPosition,
): Promise<SeenWatch | undefined> {
  return db
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute(async (tx) => {
      const watch = await findWatch({ db: tx, resellerId: args.resellerId }, position)
      if (watch === undefined) return undefined
      const [seen] = await viewWatches(tx, args, [watch])
      return seen
    })
}

export interface StatesArgs extends ViewArgs {
  readonly list: string
}

/** What of a list is known at one moment, and where its reseller's feed stood then. */
export interface ListMoment {
  readonly seq: number
  readonly takenAt: Date
}

const PAGE_ROWS = 1_000

/**
 * All states of a list and the number of the feed that they go with, as one moment shows them: a check writes beliefs
 * and records in one transaction, so that whoever has the states and follows the feed from there misses nothing and
 * is told nothing twice. First the moment, then pages of states. Throws UnknownWatchListError.
 */
export async function* readStates(
  db: Db,
  args: StatesArgs,
): AsyncGenerator<ListMoment | SeenWatch[]> {
  const tx = await db
    .startTransaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute()
  try {
    const { resellerId, list } = args
    const { takenAt } = await selectOne(
      sql<{ takenAt: Date }>`select clock_timestamp() as "takenAt"`,
      tx,
    )
    await requireWatchList({ db: tx, resellerId }, list)
    yield { seq: await readFeedHead(tx, resellerId), takenAt }
    yield* readPages(tx, args)
  } finally {
    await tx.rollback().execute()
  }
}

async function* readPages(tx: Tx, args: StatesArgs): AsyncGenerator<SeenWatch[]> {
  const { resellerId, list } = args
  let reference: string | undefined
  do {
    const after = reference === undefined ? undefined : { list, reference }
    const watches = await listWatches(tx, resellerId, { list, after, limit: PAGE_ROWS })
    if (watches.length > 0) yield await viewWatches(tx, args, watches)
    reference = watches.length === PAGE_ROWS ? watches.at(-1)?.entry.reference : undefined
  } while (reference !== undefined)
}

/** All states of a list as one JSON object. Throws UnknownWatchListError. */
export async function* statesText(db: Db, args: StatesArgs): AsyncGenerator<string> {
  let separator = ''
  for await (const part of readStates(db, args)) {
    if (!Array.isArray(part)) {
      yield `${JSON.stringify(part).slice(0, -1)},"watches":[`
      continue
    }
    for (const { watch, view } of part) {
      const { id: watchId, entry } = watch
      yield separator + JSON.stringify({ reference: entry.reference, watchId, ...view })
      separator = ','
    }
  }
  yield ']}\n'
}
