import type { OrderedQuery } from '../export-tables.ts'
import type { Floors } from './plan-archive.ts'

/** The rows of one file, with the columns of the public view of its name and those that only the table has. */
export interface ArchivedRows extends OrderedQuery {
  readonly name: string
}

interface HistoryTable {
  /** The columns that say what an interval is about. */
  readonly subject: readonly string[]
  /** The condition on an interval `v` and a later one `l` of the same subject, such that `v` need not stay. */
  readonly replaces: string
}

/**
 * The histories by their tables. Places are not archived: they change seldom, and routes take their names from them. A fare
 * also keeps its last bookable interval: a watch ends whose fare was never bookable.
 */
export const HISTORY_TABLES: Readonly<Record<string, HistoryTable>> = {
  route_version: { subject: ['departure_id', 'destination_id'], replaces: 'true' },
  route_availability_version: { subject: ['departure_id', 'destination_id'], replaces: 'true' },
  fare_belief_version: {
    subject: ['tracked_fare_id'],
    replaces: `(v.pair <> 'bookable' or l.pair = 'bookable')`,
  },
}

/**
 * The condition for intervals `v` that are archived: they ended by the floor, and a later interval of the same subject began
 * by then. So what was ever known stays known, and rows written later do not change which ones these are.
 */
export function isArchived(table: string, floor: string): string {
  const { subject = [], replaces } = HISTORY_TABLES[table] ?? {}
  const same = subject.map((column) => `l.${column} = v.${column}`).join(' and ')
  return `v.valid_to <= ${floor}
    and exists (select from farewatch_private.${table} l
                 where ${same} and l.valid_from > v.valid_from and l.valid_from <= ${floor} and ${replaces})`
}

/** The rows that an archive writes and then deletes. */
export function archivedRows(floors: Floors): ArchivedRows[] {
  const floor = `timestamptz '${floors.before.toISOString()}'`
  const history = (name: string, table: string): ArchivedRows => {
    const key = [...(HISTORY_TABLES[table]?.subject ?? []), 'valid_from'].join(', ')
    return {
      name,
      select: `
        select *
          from farewatch.${name}
         where (${key}) in (select ${key} from farewatch_private.${table} v where ${isArchived(table, floor)})`,
      order: key,
    }
  }
  return [
    history('route_history', 'route_version'),
    history('route_availability_history', 'route_availability_version'),
    history('fare_history', 'fare_belief_version'),
    {
      name: 'route_changes',
      select: `select * from farewatch.route_changes where seq < ${floors.routeChanges}`,
      order: 'seq',
    },
    {
      name: 'availability_changes',
      select: `
        select v.*, c.evidence_hash, c.provenance
          from farewatch.availability_changes v
          join farewatch_private.availability_change c on c.seq = v.seq
         where v.seq < ${floors.availabilityChanges}`,
      order: 'seq',
    },
    { name: 'watch_changes', select: watchChanges(floors), order: 'reseller_id, seq' },
  ]
}

function watchChanges({ watchChanges: floors }: Floors): string {
  const values = floors.map(({ resellerId, first }) => `(${resellerId}, ${first})`)
  return `
    select w.reseller_id, r.name as reseller, w.seq, w.watch_id, w.reference, w.list,
           coalesce(c.kind, e.kind) as kind, coalesce(c.reason, e.reason) as reason,
           coalesce(c.schema_version, e.schema_version) as schema_version,
           coalesce(c.tracked_fare_id, e.tracked_fare_id) as tracked_fare_id, w.change_id, c.seq as change_seq, w.watch_event_id,
           coalesce(c.before, e.before) as before, coalesce(c.after, e.after) as after,
           coalesce(c.last_good_check_at, e.last_good_check_at) as last_good_check_at,
           coalesce(c.detected_at, e.detected_at) as detected_at, w.recorded_at
      from (values ${['(null::bigint, null::bigint)', ...values].join(', ')}) f (reseller_id, first)
      join farewatch_private.watch_change w on w.reseller_id = f.reseller_id and w.seq < f.first
      join farewatch_private.reseller r on r.id = w.reseller_id
      left join farewatch_private.availability_change c on c.id = w.change_id
      left join farewatch_private.watch_event e on e.id = w.watch_event_id`
}
