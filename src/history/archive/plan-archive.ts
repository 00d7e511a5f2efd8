import { type Db, sql, type Tx } from '../../platform/db/database.ts'
import { inTransaction, selectOne } from '../../platform/db/transaction.ts'
import {
  assertDate,
  type DateFacts,
  type FeedFacts,
  floorOf,
  type Need,
  needsOf,
  type ResellerFacts,
} from './decide-floors.ts'

/** The first instant and the first numbers that stay. */
export interface Floors {
  readonly before: Date
  readonly routeChanges: number
  readonly availabilityChanges: number
  readonly watchChanges: readonly { readonly resellerId: number; readonly first: number }[]
}

export interface ArchivePlan {
  readonly floors: Floors
  readonly needs: readonly Need[]
}

/** Whole feeds are read. The pool's limit is meant for queries. */
const PLAN_TIMEOUT = '15min'

/** Throws ArchiveError if nothing may be archived before the date. */
export async function assertArchivable(db: Db, before: Date): Promise<void> {
  assertDate(before, await readDateFacts(db))
}

export async function planArchive(db: Db, before: Date): Promise<ArchivePlan> {
  return inTransaction(db, async (tx) => {
    await sql`set local statement_timeout = ${sql.lit(PLAN_TIMEOUT)}`.execute(tx)
    const resellers = await readResellerFacts(tx, before)
    const needs = resellers.flatMap(needsOf)
    const watchChanges = resellers.map((facts) => ({
      resellerId: facts.id,
      first: floorOf(
        facts,
        needsOf(facts).map(({ seq }) => seq),
      ),
    }))
    const cited = await readFirstCited(tx, watchChanges)
    const availability = await readAvailabilityFacts(tx, before)
    const floors = {
      before,
      routeChanges: floorOf(await readRouteFacts(tx, before), []),
      availabilityChanges: floorOf(availability, cited === null ? [] : [cited]),
      watchChanges,
    }
    return { floors, needs }
  })
}

/** Moves the floors, in one transaction: from its commit on, readers are refused what will be deleted. */
export async function moveFloors(tx: Tx, id: string, floors: Floors): Promise<void> {
  await sql`
    update feed_head h
       set first_seq = f.first
      from (values ('route', ${floors.routeChanges}::bigint), ('availability', ${floors.availabilityChanges}::bigint)) f (feed, first)
     where h.feed = f.feed and f.first > h.first_seq
  `.execute(tx)
  await sql`
    update reseller r
       set first_seq = f.first
      from jsonb_to_recordset(${JSON.stringify(floors.watchChanges)}::jsonb) as f ("resellerId" bigint, first bigint)
     where r.id = f."resellerId" and f.first > r.first_seq
  `.execute(tx)
  await sql`update archive set applied_at = clock_timestamp() where id = ${id}`.execute(tx)
}

function readDateFacts(db: Db): Promise<DateFacts> {
  return selectOne(
    sql<DateFacts>`
      select clock_timestamp() as now,
             (select max(fetched_at) from sync_run where status in ('applied', 'unchanged', 'approved')) as "lastListAt"
    `,
    db,
  )
}

function readRouteFacts(db: Db, before: Date): Promise<FeedFacts> {
  return selectOne(
    sql<FeedFacts>`
      select first_seq as first, last_seq as last,
             (select min(seq) from route_change where seq >= first_seq and recorded_at >= ${before}) as "firstSince"
        from feed_head
       where feed = 'route'
    `,
    db,
  )
}

/** Records since an incident that was open then or later stay whole: reverting the incident reads them. */
function readAvailabilityFacts(db: Db, before: Date): Promise<FeedFacts> {
  return selectOne(
    sql<FeedFacts>`
      select first_seq as first, last_seq as last,
             (select min(seq) from availability_change where seq >= first_seq and recorded_at >= since.at) as "firstSince"
        from feed_head,
             (select least(${before}::timestamptz, min(opened_at) - interval '5 minutes') as at
                from incident
               where closed_at is null or closed_at >= ${before}) since
       where feed = 'availability'
    `,
    db,
  )
}

async function readResellerFacts(db: Db, before: Date): Promise<ResellerFacts[]> {
  const { rows } = await sql<ResellerFacts>`
    select r.id, r.name, r.first_seq as first, r.last_seq as last,
           (select min(w.seq) from watch_change w
             where w.reseller_id = r.id and w.seq >= r.first_seq and w.recorded_at >= ${before}) as "firstSince",
           coalesce((select jsonb_agg(jsonb_build_object('id', e.id, 'cursor', e.cursor_seq, 'firstDelivery', d.first) order by e.id)
                       from webhook_endpoint e
                      cross join lateral (select min(seq) as first from delivery where endpoint_id = e.id) d
                      where e.reseller_id = r.id), '[]') as endpoints
      from reseller r
     where r.last_seq > 0
     order by r.id
  `.execute(db)
  return rows
}

/** The first change of a fare that a record cites which its feed keeps; null if there is none. */
async function readFirstCited(
  db: Db,
  watchFloors: readonly { readonly resellerId: number; readonly first: number }[],
): Promise<number | null> {
  const { first } = await selectOne(
    sql<{ first: number | null }>`
      select min(c.seq) as first
        from jsonb_to_recordset(${JSON.stringify(watchFloors)}::jsonb) as f ("resellerId" bigint, first bigint)
        join watch_change w on w.reseller_id = f."resellerId" and w.seq >= f.first
        join availability_change c on c.id = w.change_id
    `,
    db,
  )
  return first
}
