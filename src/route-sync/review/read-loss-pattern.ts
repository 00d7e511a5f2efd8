import type { RouteListName } from '../../base/kinds.ts'
import type { Scrub } from '../../base/secrets.ts'
import { type RawBuilder, sql, type Tx } from '../../db/database.ts'
import { HISTORY_FLOOR } from '../../db/history-floor.ts'
import { selectOne } from '../../db/transaction.ts'
import { stageSnapshot } from '../plan/stage-snapshot.ts'
import { findLastAccepted } from '../runs/sync-run-queries.ts'
import { listOfRun, readSlices } from '../snapshots/fetched-list.ts'
import { hasSnapshot } from '../snapshots/snapshots.ts'
import type { CountryLoss, LossPattern, SeasonPattern } from './assess-loss.ts'

/** The routes that a list may lack. */
export const LIVE: Readonly<Record<RouteListName, RawBuilder<unknown>>> = {
  routes: sql`(select departure_id, destination_id from route_version where valid_to is null)`,
  'with-availability': sql`(select departure_id, destination_id
                              from route_availability_version where valid_to is null and available)`,
}

/** The ends of routes, or of their availability. */
const ENDED: Readonly<Record<RouteListName, RawBuilder<unknown>>> = {
  routes: sql`route_version`,
  'with-availability': sql`(select * from route_availability_version where available)`,
}

/** This many days before and after the same day of last year count as the same weeks. */
const WEEKS = sql`interval '10 days'`

/**
 * Reads which routes ended in the weeks around the same day of last year. Null if the history does not reach back to them. Needs
 * `snapshot_missing` of the list's plan.
 */
export async function readSeason(
  tx: Tx,
  list: RouteListName,
  at: Date,
): Promise<SeasonPattern | null> {
  const { reaches, ended, missing } = await selectOne(
    sql<SeasonPattern & { reaches: boolean }>`
      with same_day as (
             select ${at}::timestamptz - interval '1 year' as day),
           ended as (
             select distinct e.departure_id, e.destination_id
               from same_day s
               join ${ENDED[list]} e on e.valid_to between s.day - ${WEEKS} and s.day + ${WEEKS}
               join ${LIVE[list]} l using (departure_id, destination_id))
      select exists (select from sync_run r, same_day s
                      where r.list = ${list} and r.status in ('applied', 'unchanged', 'approved')
                        and r.fetched_at < s.day - ${WEEKS}
                        and s.day - ${WEEKS} >= coalesce(${HISTORY_FLOOR}, '-infinity')) as reaches,
             (select count(*) from ended) as ended,
             (select count(*) from ended join snapshot_missing using (departure_id, destination_id)) as missing
    `,
    tx,
  )
  return reaches ? { ended, missing } : null
}

export interface LossArgs extends Pick<LossPattern, 'rows' | 'bytes' | 'live' | 'missing'> {
  readonly list: RouteListName
  readonly at: Date
  readonly scrub: Scrub
}

/** Reads what is known of the routes that a list lacks, from the temporary tables of its plan. */
export async function readLossPattern(tx: Tx, args: LossArgs): Promise<LossPattern> {
  const { list, at, scrub, ...counts } = args
  return {
    ...counts,
    countries: await readCountries(tx, list),
    atEnd: await countAtEnd(tx, { list, scrub }),
    season: await readSeason(tx, list, at),
  }
}

async function readCountries(tx: Tx, list: RouteListName): Promise<CountryLoss[]> {
  const { rows } = await sql<CountryLoss>`
    select v.country, count(*) as live, count(m.departure_id) as missing
      from ${LIVE[list]} r
      join place_version v on v.place_id = r.departure_id and v.valid_to is null
      left join snapshot_missing m
             on (m.departure_id, m.destination_id) = (r.departure_id, r.destination_id)
     group by v.country
     order by missing desc, v.country
  `.execute(tx)
  return rows
}

/** Stages the last accepted list: only its own order shows where a list was cut. */
async function countAtEnd(
  tx: Tx,
  { list, scrub }: Pick<LossArgs, 'list' | 'scrub'>,
): Promise<number | null> {
  const last = await findLastAccepted(tx, list)
  if (last === null || !(await hasSnapshot(tx, last.contentHash))) return null
  const fetched = listOfRun({ ...last, runId: last.id })
  await stageSnapshot(tx, scrub, readSlices(tx, { list, fetched }), 'first')
  // Rows of a table that is only written once lie in the order of their insertion.
  const { found } = await selectOne(
    sql<{ found: number }>`
      select count(*) as found
        from first_route f
        join snapshot_missing m using (departure_id, destination_id)
       where f.ctid > (select max(p.ctid) from first_route p join staged_route s using (departure_id, destination_id))
    `,
    tx,
  )
  // A dry run may read the pattern twice in its transaction.
  await sql`drop table first_route, first_place`.execute(tx)
  return found
}
