import { type Db, sql } from '../../db/database.ts'
import type { RouteListName } from '../../upstream/route-list.ts'
import { ACCEPTED } from '../runs/run-records.ts'

/** The forms in which the routes are served. */
export type ListForm = RouteListName | 'csv'

/** Which state of a list is served. */
export interface ListVersion {
  /** Another one whenever the list is another one; the same from every process. */
  readonly tag: string
  /** The valid time of the run that made the list what it is: as of then it is read. */
  readonly changedAt: Date
  /** When the last accepted snapshot had arrived: it may have changed nothing. */
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

const FORMS: Readonly<Record<ListForm, FormRuns>> = {
  routes: { snapshots: 'routes', changedBy: ['routes'], changes: CHANGED },
  'with-availability': {
    snapshots: 'with-availability',
    changedBy: ['routes', 'with-availability'],
    changes: CHANGED,
  },
  // It shows whether a route is available: that a list was the first to speak of one is in no run's counts.
  csv: { snapshots: 'routes', changedBy: ['routes', 'with-availability'], changes: sql`true` },
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
  const { rows } = await sql<Omit<ListVersion, 'tag'> & { runId: number }>`
    select changed.id as "runId", changed.fetched_at as "changedAt", taken.fetched_at as "snapshotAt",
           (extract(epoch from clock_timestamp() - taken.fetched_at) * 1000)::float8 as "snapshotAgeMs"
      from unnest(${changedBy}::text[]) of_list (name)
     cross join lateral (select id, fetched_at from sync_run
                          where list = of_list.name and status in ${ACCEPTED} and fetched_at <= ${until} and ${changes}
                          order by fetched_at desc
                          limit 1) changed
     cross join (select fetched_at from sync_run
                  where list = ${snapshots} and status in ${ACCEPTED} and fetched_at <= ${until}
                  order by fetched_at desc
                  limit 1) taken
     order by changed.fetched_at desc
     limit 1
  `.execute(db)
  const [row] = rows
  if (row === undefined) return undefined
  const { runId, ...version } = row
  // With the time: in a database that was made anew the runs are numbered from 1 again.
  const time = version.changedAt.getTime().toString(36)
  return { ...version, tag: `${form}-${TEXT_VERSION}-${runId}-${time}` }
}
