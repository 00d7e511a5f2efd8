import type { RouteListName } from '../../platform/base/kinds.ts'
import { type Db, sql } from '../../platform/db/database.ts'
import { ACCEPTED, ARRIVED_AT } from '../runs.ts'

/** The forms in which the API serves the routes. */
export type ListForm = RouteListName | 'csv'

/** The state of a list that is served. */
export interface ListVersion {
  /** Differs whenever the list differs; the same in every process. */
  readonly tag: string
  /** The valid time of the last run that changed the list; the list is read as of this instant. */
  readonly changedAt: Date
  /** The same; undefined if another change fell into the same second, which an HTTP date cannot tell apart. */
  readonly lastModified: Date | undefined
  /** When the last accepted snapshot arrived. It may have changed nothing, and may have been approved later. */
  readonly snapshotAt: Date
  /** Its age when it was read, by the database's clock. */
  readonly snapshotAgeMs: number
}

interface FormRuns {
  /** The list whose snapshots the form shows. */
  readonly snapshots: RouteListName
  /** The lists whose runs may change the form. */
  readonly changedBy: readonly RouteListName[]
  /** The SQL condition for the runs of these lists that change the form. */
  readonly changes: typeof CHANGED
}

const CHANGED = sql`(
  baseline or coalesce(added, 0) + coalesce(removed, 0) + coalesce(places_changed, 0)
              + coalesce(gained, 0) + coalesce(lost, 0) > 0
)`

/**
 * The first with-availability run whose list arrived after routes were added. The CSV shows availability, and such
 * a run turns unknown into unavailable, which its counts do not show. A list that arrived before the routes were
 * added says nothing about them, even if it was accepted after.
 */
const FIRST_AFTER_ADDITIONS = sql`(
  list = 'with-availability' and exists (
    select from sync_run added
     where added.list = 'routes' and added.status in ${ACCEPTED}
       and (added.baseline or added.added > 0)
       and added.fetched_at < sync_run.fetched_at
       and added.fetched_at > coalesce((select max(${ARRIVED_AT}) from sync_run earlier
                                         where earlier.list = 'with-availability' and earlier.status in ${ACCEPTED}
                                           and earlier.fetched_at < sync_run.fetched_at), '-infinity'))
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
    changes: sql`(${CHANGED} or ${FIRST_AFTER_ADDITIONS})`,
  },
}

/** Increase it whenever the same routes are written as another text. */
const TEXT_VERSION = 1

/** The version of a form as of an instant, or now; undefined before the first accepted snapshot. Reads runs alone. */
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
  // The time is part of the tag because runs of a recreated database are numbered from 1 again.
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
