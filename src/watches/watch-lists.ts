import { AppError } from '../platform/base/errors.ts'
import { quote } from '../platform/base/text.ts'
import { type Db, type RawBuilder, sql, type Tenant } from '../platform/db/database.ts'
import { inTransaction } from '../platform/db/transaction.ts'
import { lockWatchesOf } from '../resellers/resellers.ts'
import { QUESTION } from '../upstream/question-sql.ts'
import { SETTING_FIELDS, type SettingField } from './rows/settings.ts'
import type { WatchEntry } from './rows/watch-row.ts'

interface Owner {
  readonly db: Db
  readonly resellerId: number
}

interface WatchListPage {
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

/** A watch list and its size. The name is its identity: it is unique among the lists of its reseller. */
type WatchList = Awaited<ReturnType<typeof readWatchLists>>[number]

/** Selects the lists first, so that only their watches are counted. */
async function readWatchLists(
  { db, resellerId }: Owner,
  { name, after = '', limit }: WatchListPage & { readonly name?: string },
) {
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

export class UnknownWatchListError extends AppError {
  override readonly name = 'UnknownWatchListError'
  override readonly code = 'not_found'
  readonly missing = 'list'

  constructor(list: string) {
    super(`the reseller has no watch list named ${quote(list)}`)
  }
}

/** The reseller already has a watch list with this name. */
class DuplicateWatchListError extends AppError {
  override readonly name = 'DuplicateWatchListError'
  override readonly code = 'watch.duplicate_list'

  constructor(list: string) {
    super(`there is already a watch list named ${quote(list)}`)
  }
}

/** A watch as its reseller sees it. */
export interface Watch {
  readonly id: string
  /** Null of a watch of a route. */
  readonly trackedFareId: number | null
  readonly entry: WatchEntry
  readonly createdAt: Date
  /** When it last began: when it was added or resumed, or when its question changed. */
  readonly beganAt: Date
  /** Null while it is not paused. */
  readonly pausedAt: Date | null
}

/** The position of a watch in the order of a reseller's watches. */
export interface WatchPosition {
  readonly list: string
  readonly reference: string
}

interface WatchPage {
  /** Only watches of this list. */
  readonly list?: string | undefined
  /** Only watches with these references. */
  readonly references?: readonly string[] | undefined
  /** The last watch on the previous page. */
  readonly after?: WatchPosition | undefined
  readonly limit: number
}

interface WatchRow extends WatchEntry, Omit<Watch, 'entry'> {}

/** Lists a reseller's watches by list and reference. */
export async function listWatches(db: Db, resellerId: number, page: WatchPage): Promise<Watch[]> {
  const { references } = page
  const named =
    references === undefined ? sql`true` : sql`watch.reference = any(${references}::text[])`
  const { rows } = await sql<WatchRow>`
    select w.id, w.tracked_fare_id as "trackedFareId", w.created_at as "createdAt", w.began_at as "beganAt",
           w.paused_at as "pausedAt", l.name as list, w.reference,
           ${ENTRY_COLUMNS}
      from watch_list l
      -- One index range for each list: a page reads its own rows only and sorts nothing.
     cross join lateral (
           select *
             from watch
            where watch.watch_list_id = l.id and watch.reseller_id = l.reseller_id and ${named}
              and watch.reference > case when l.name = ${page.after?.list ?? ''} then ${page.after?.reference ?? ''} else '' end
            order by watch.reference
            limit ${page.limit}) w
      left join tracked_fare f on f.id = w.tracked_fare_id
     where l.reseller_id = ${resellerId}
       and l.name >= ${page.after?.list ?? ''}
       and (${page.list === undefined} or l.name = ${page.list ?? ''})
     order by l.name, w.reference
     limit ${page.limit}
  `.execute(db)
  return rows.map(watchOf)
}

/** Finds a reseller's watch by its list and reference. */
export async function findWatch(
  { db, resellerId }: Tenant,
  { list, reference }: WatchPosition,
): Promise<Watch | undefined> {
  const [found] = await listWatches(db, resellerId, { list, references: [reference], limit: 1 })
  return found
}

function watchOf(row: WatchRow): Watch {
  const { id, trackedFareId, createdAt, beganAt, pausedAt, ...entry } = row
  return { id, trackedFareId, entry, createdAt, beganAt, pausedAt }
}

/** The columns of a WatchEntry except its names, from a watch `w` and its tracked fare `f`. */
export const ENTRY_COLUMNS = sql.join([
  sql`case when w.departure is null then ${QUESTION} end as question`,
  ...Map.groupBy(SETTING_FIELDS as readonly SettingField[], ({ path }) => path[0] ?? '')
    .entries()
    .map(([name, fields]) => sql`${settingJson(fields, 1)} as ${sql.ref(name)}`),
])

/** The settings of watch `w` below a depth of their paths. What has no member that is set is null. */
function settingJson(fields: readonly SettingField[], depth: number): RawBuilder<unknown> {
  const [first] = fields
  if (first !== undefined && first.path.length === depth) {
    const value = sql.ref(`w.${first.column}`)
    return first.schema.type === 'string' ? sql`${value}::text` : value
  }
  const members = Map.groupBy(fields, ({ path }) => path[depth] ?? '')
  const pairs = [...members].map(
    ([name, own]) => sql`${sql.lit(name)}, ${settingJson(own, depth + 1)}`,
  )
  return sql`nullif(jsonb_strip_nulls(jsonb_build_object(${sql.join(pairs)})), '{}')`
}
