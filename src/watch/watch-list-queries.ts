import { type Db, sql, type Tenant } from '../db/database.ts'

/** A watch list with the size of it. Its name is its identity: unique among its reseller's. */
export interface WatchList {
  readonly name: string
  readonly createdAt: Date
  readonly watches: number
  /** Of the watches, those that are paused. */
  readonly paused: number
  /** Of the watches, those that have ended by themselves, and are not paused. */
  readonly ended: number
}

export interface WatchListPage {
  /** The name of the last list of the page before. */
  readonly after?: string | undefined
  readonly limit: number
}

/** A reseller's watch lists by name. */
export async function listWatchLists(
  { db, resellerId }: Tenant,
  { after, limit }: WatchListPage,
): Promise<WatchList[]> {
  const { rows } = await sql<WatchList>`
    select l.name, l.created_at as "createdAt", w.watches, w.paused, w.ended
      from (select id, name, created_at
              from watch_list
             where reseller_id = ${resellerId} and name > ${after ?? ''}
             order by name
             limit ${limit}) l
     cross join lateral (${COUNTS}) w
     order by l.name
  `.execute(db)
  return rows
}

/** A reseller's list of a name; undefined where it has none. */
export async function findWatchList(
  { db, resellerId }: { readonly db: Db; readonly resellerId: number },
  name: string,
): Promise<WatchList | undefined> {
  const { rows } = await sql<WatchList>`
    select l.name, l.created_at as "createdAt", w.watches, w.paused, w.ended
      from watch_list l
     cross join lateral (${COUNTS}) w
     where l.reseller_id = ${resellerId} and l.name = ${name}
  `.execute(db)
  return rows[0]
}

/** Of watch list `l`. */
const COUNTS = sql`
  select count(*) as watches, count(paused_at) as paused,
         count(ended_at) filter (where paused_at is null) as ended
    from watch
   where watch.watch_list_id = l.id
`
