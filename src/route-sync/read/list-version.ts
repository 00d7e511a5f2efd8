import { type Db, sql } from '../../db/database.ts'
import type { RouteListName } from '../../upstream/route-list.ts'
import { ACCEPTED, ARRIVED_AT } from '../runs/run-records.ts'

/** The forms in which the routes are served. */
export type ListForm = RouteListName | 'csv'

/** Which state of a list is served. */
export interface ListVersion {
  /** Another one whenever the list is another one; the same from every process. */
  readonly tag: string
  /** The valid time of the run that made the list what it is: as of then it is read. */
  readonly changedAt: Date
  /** The same, where it was the only change in its second; else nobody could tell by a date which list one has. */
  readonly lastModified: Date | undefined
  /** When the last accepted snapshot had arrived: it may have changed nothing, and may have been approved later. */
  readonly snapshotAt: Date
  /** How long before the question that was, by the database's clock. */
  readonly snapshotAgeMs: number
}

interface FormRuns {
  /** The list whose snapshots the form is of. */
  readonly snapshots: RouteListName
  /** The lists whose runs may change the form. */
  readonly changedBy: readonly RouteListName[]
  /** Which of those runs do. */
  readonly changes: typeof CHANGED
}

const CHANGED = sql`(
  baseline or coalesce(added, 0) + coalesce(removed, 0) + coalesce(places_changed, 0)
              + coalesce(gained, 0) + coalesce(lost, 0) > 0
)`

/**
 * The CSV shows whether a route is available, and the first list that arrives after a route was added says so of it: where
 * that is no, it is in no run's counts. One that arrived before, and was accepted after, leaves it to the next.
 */
const FIRST_TO_SPEAK = sql`(
  list = 'with-availability' and exists (
    select from sync_run added
     where added.list = 'routes' and added.status in ${ACCEPTED}
       and (added.baseline or added.added > 0)
       and added.fetched_at < sync_run.fetched_at
       and added.fetched_at > coalesce((select max(${ARRIVED_AT}) from sync_run spoken
                                         where spoken.list = 'with-availability' and spoken.status in ${ACCEPTED}
                                           and spoken.fetched_at < sync_run.fetched_at), '-infinity'))
)`

const FORMS: Readonly<Record<ListForm, FormRuns>> = {
  routes: { snapshots: 'routes', changedBy: ['routes'], changes: CHANGED },
  'with-availability': {
    snapshots: 'with-availability',
    changedBy: ['routes', 'with-availability'],
    changes: CHANGED,
  },
  csv: {
    snapshots: 'routes',
    changedBy: ['routes', 'with-availability'],
    changes: sql`(${CHANGED} or ${FIRST_TO_SPEAK})`,
  },
}

/** Goes up whenever the same routes are written in another way. */
const TEXT_VERSION = 1

/**
 * The version of a form as it stood at an instant, or now; undefined before the first accepted snapshot. Reads runs
 * alone, no routes.
 */
export async function findListVersion(
  db: Db,
  form: ListForm,
  asOf?: Date,
): Promise<ListVersion | undefined> {
  const { snapshots, changedBy, changes } = FORMS[form]
  const until = sql`${asOf ?? 'infinity'}::timestamptz`
  const { rows } = await sql<VersionRow>`
    select changed.id as "runId", changed.fetched_at as "changedAt", taken.arrived_at as "snapshotAt",
           (extract(epoch from clock_timestamp() - taken.arrived_at) * 1000)::float8 as "snapshotAgeMs"
      from unnest(${changedBy}::text[]) of_list (name)
     cross join lateral (select id, fetched_at from sync_run
                          where list = of_list.name and status in ${ACCEPTED} and fetched_at <= ${until} and ${changes}
                          order by fetched_at desc
                          limit 2) changed
     cross join (select ${ARRIVED_AT} as arrived_at from sync_run
                  where list = ${snapshots} and status in ${ACCEPTED} and fetched_at <= ${until}
                  order by fetched_at desc
                  limit 1) taken
     order by changed.fetched_at desc
     limit 2
  `.execute(db)
  const [row, before] = rows
  if (row === undefined) return undefined
  const { runId, ...version } = row
  const { changedAt } = version
  // With the time: in a database that was made anew the runs are numbered from 1 again.
  const time = changedAt.getTime().toString(36)
  const alone = before === undefined || secondOf(before.changedAt) < secondOf(changedAt)
  return {
    ...version,
    tag: `${form}-${TEXT_VERSION}-${runId}-${time}`,
    lastModified: alone ? changedAt : undefined,
  }
}

interface VersionRow extends Omit<ListVersion, 'tag' | 'lastModified'> {
  readonly runId: number
}

function secondOf(instant: Date): number {
  return Math.floor(instant.getTime() / 1000)
}
