import { type Db, sql } from '../../platform/db/database.ts'
import { selectOne } from '../../platform/db/transaction.ts'
import type { DateFacts, FeedFacts, ResellerFacts } from './decide-floors.ts'

export function readDateFacts(db: Db): Promise<DateFacts> {
  return selectOne(
    sql<DateFacts>`
      select clock_timestamp() as now,
             (select max(fetched_at) from sync_run where status in ('applied', 'unchanged', 'approved')) as "lastListAt"
    `,
    db,
  )
}

export function readRouteFacts(db: Db, before: Date): Promise<FeedFacts> {
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
export function readAvailabilityFacts(db: Db, before: Date): Promise<FeedFacts> {
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

export async function readResellerFacts(db: Db, before: Date): Promise<ResellerFacts[]> {
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
export async function readFirstCited(
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
