import { type Db, sql } from '../platform/db/database.ts'
import { selectOne } from '../platform/db/transaction.ts'

/** The tables behind each part of the database. All others are `other`. */
const PARTS: Readonly<Record<string, readonly string[]>> = {
  route_history: ['route_version', 'route_availability_version', 'place_version'],
  route_changes: ['route_change'],
  fare_history: ['fare_belief_version', 'fare_flights'],
  fare_changes: ['availability_change', 'watch_change', 'watch_event'],
  evidence: ['evidence'],
  lists: ['snapshot', 'snapshot_part'],
  daily_tables: ['daily_network', 'daily_country_pairs', 'daily_place_degree', 'daily_fares'],
  deliveries: ['delivery', 'delivery_attempt'],
}

export interface PartSize {
  readonly part: string
  readonly bytes: number
}

/** The sizes of the parts of the database, with their indexes. */
export async function readPartSizes(db: Db): Promise<PartSize[]> {
  const parts = Object.entries(PARTS).flatMap(([part, tables]) =>
    tables.map((table) => ({ part, table })),
  )
  const { rows } = await sql<PartSize>`
    select coalesce(p.part, 'other') as part, sum(pg_total_relation_size(c.oid))::bigint as bytes
      from pg_class c
      left join jsonb_to_recordset(${JSON.stringify(parts)}::jsonb) as p (part text, "table" text) on p."table" = c.relname
     where c.relkind = 'r' and c.relnamespace::regnamespace::text like 'farewatch%'
     group by 1
     order by 2 desc
  `.execute(db)
  return rows
}

/**
 * Bytes by which the database grew a day in the last 30 days, by its sizes when daily tables were computed. Null until these
 * are a day apart.
 */
export async function readGrowth(db: Db): Promise<number | null> {
  const { growth } = await selectOne(
    sql<{ growth: number | null }>`
      select ((last_value - first_value) / (extract(epoch from last_at - first_at) / 86400))::float8 as growth
        from (select min(computed_at) as first_at, max(computed_at) as last_at,
                     (array_agg(database_bytes order by computed_at))[1] as first_value,
                     (array_agg(database_bytes order by computed_at desc))[1] as last_value
                from daily_rollup
               where database_bytes is not null and computed_at > clock_timestamp() - interval '30 days') d
       where last_at - first_at >= interval '1 day'
      union all
      select null
       limit 1
    `,
    db,
  )
  return growth
}

/** Days until the free space is used up; null if the database does not grow. */
export function daysUntilFull(freeBytes: number, growth: number | null): number | null {
  return growth === null || growth <= 0 ? null : freeBytes / growth
}
