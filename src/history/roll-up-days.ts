import { type Db, type RawBuilder, sql, type Tx } from '../platform/db/database.ts'
import { HISTORY_FLOOR } from '../platform/db/history-floor.ts'
import { takeTransactionLock } from '../platform/db/session-lock.ts'
import { inTransaction, selectOne } from '../platform/db/transaction.ts'
import { TERM_COLUMNS } from '../upstream/question-sql.ts'

/** A day is computed this long after its end: by then the checks and lists that belong to it are recorded. */
const COMPLETE_AFTER = sql`interval '10 minutes'`
/** One day of a million routes takes seconds. The pool's limit is meant for queries. */
const DAY_TIMEOUT = '10min'

interface RollUpOptions {
  readonly signal?: AbortSignal | undefined
  /** Days from this one on stay as they are. */
  readonly before?: string
  readonly onProgress?: ((step: string) => void) | undefined
}

/**
 * Computes the daily tables for every complete day that lacks them or that a later list has touched, oldest first,
 * until none is left or the signal aborts. Returns how many days. Safe to run twice: the rows of a day are
 * replaced.
 */
export async function rollUpDays(
  db: Db,
  { signal, before, onProgress }: RollUpOptions = {},
): Promise<number> {
  let computed = 0
  const days = (await findOpenDays(db)).filter((day) => before === undefined || day < before)
  for (const day of days) {
    if (signal?.aborted) break
    onProgress?.(`computing the tables of ${day}, ${computed + 1} of ${days.length}`)
    await inTransaction(db, async (tx) => {
      await takeTransactionLock(tx, 'daily-rollup')
      await sql`set local statement_timeout = ${sql.lit(DAY_TIMEOUT)}`.execute(tx)
      await rollUpDay(tx, day)
    })
    computed += 1
  }
  return computed
}

/** Forgets that the days since a date were computed, so that the next roll-up computes them again. */
export async function reopenDays(db: Db, from: string): Promise<void> {
  await sql`delete from daily_rollup where day >= ${from}::date`.execute(db)
}

/**
 * The complete days since the first accepted list, or since the floor of the histories, that were not computed, or
 * that were computed before a list was applied whose valid time is in them or in an earlier day.
 */
async function findOpenDays(db: Db): Promise<string[]> {
  const { rows } = await sql<{ day: string }>`
    with accepted as materialized (
           select (fetched_at at time zone 'UTC')::date as day, finished_at
             from sync_run
            where status in ('applied', 'unchanged', 'approved')),
         late as materialized (
           select a.day, a.finished_at
             from accepted a
             join daily_rollup r on r.day = a.day and r.computed_at < a.finished_at)
    select d::date::text as day
      from generate_series((select greatest(min(day), (${HISTORY_FLOOR} at time zone 'UTC')::date) from accepted),
                           (clock_timestamp() - ${COMPLETE_AFTER}) at time zone 'UTC' - interval '1 day', '1 day') d
      left join daily_rollup r on r.day = d::date
     where r.day is null
        or exists (select from late l where l.day <= r.day and r.computed_at < l.finished_at)
     order by d
  `.execute(db)
  return rows.map(({ day }) => day)
}

const DAILY_TABLES = [
  'daily_network',
  'daily_country_pairs',
  'daily_place_degree',
  'daily_fares',
  'daily_airlines',
  'daily_delays',
] as const

/** Replaces the rows of one day, such as '2026-01-31'. */
export async function rollUpDay(tx: Tx, day: string): Promise<void> {
  for (const table of DAILY_TABLES) {
    await sql`delete from ${sql.table(table)} where day = ${day}::date`.execute(tx)
  }
  await saveNetwork(tx, day)
  await saveFares(tx, day)
  await saveAirlines(tx, day)
  await saveDelays(tx, day)
  await sql`
    insert into daily_rollup (day, computed_at, database_bytes)
    values (${day}::date, clock_timestamp(), pg_database_size(current_database()))
        on conflict (day) do update set computed_at = excluded.computed_at, database_bytes = excluded.database_bytes
  `.execute(tx)
}

/** The last instant of a day. */
function endOf(day: string): RawBuilder<Date> {
  return sql`${`${day} 23:59:59.999999+00`}::timestamptz`
}

/**
 * The network is read once, for all its groupings. `offset 0` keeps its subquery of the availability from running
 * twice.
 */
async function saveNetwork(tx: Tx, day: string): Promise<void> {
  const date = sql`${day}::date`
  await sql`
    with network as materialized (
           select departure_country, destination_country, departure_id, destination_id,
                  grouping(departure_country, destination_country, departure_id, destination_id) as grouped,
                  count(*) as live, count(*) filter (where available) as available, count(available) as known
             from (select * from farewatch.routes_as_of(${endOf(day)}) offset 0) r
            group by grouping sets ((departure_country), (departure_country, destination_country), (departure_id), (destination_id))),
         pairs as (
           insert into daily_country_pairs (day, departure_country, destination_country, live, available)
           select ${date}, departure_country, destination_country, live, available from network where grouped = 3),
         degrees as (
           insert into daily_place_degree (day, place_id, destinations, origins)
           select ${date}, coalesce(d.departure_id, o.destination_id), coalesce(d.live, 0), coalesce(o.live, 0)
             from (select departure_id, live from network where grouped = 13) d
             full join (select destination_id, live from network where grouped = 14) o on o.destination_id = d.departure_id)
    insert into daily_network (day, departure_country, live, available, known, added, removed)
    select ${date}, coalesce(n.departure_country, c.country), coalesce(n.live, 0), coalesce(n.available, 0), coalesce(n.known, 0),
           coalesce(c.added, 0), coalesce(c.removed, 0)
      from (select * from network where grouped = 7) n
      full join ${changesOf(day)} c on c.country = n.departure_country
  `.execute(tx)
}

/** The countries of the changed routes are looked up only for the runs of the day. */
function changesOf(day: string): RawBuilder<unknown> {
  return sql`
    (select departure_country as country,
            count(*) filter (where kind = 'route_added') as added, count(*) filter (where kind = 'route_removed') as removed
       from farewatch.route_changes
      where kind in ('route_added', 'route_removed')
        and sync_run_id in (select id from sync_run
                             where fetched_at > ${endOf(day)} - interval '1 day' and fetched_at <= ${endOf(day)})
      group by 1)`
}

async function saveFares(tx: Tx, day: string): Promise<void> {
  await sql`
    insert into daily_fares (day, departure_iata, destination_iata, departure_id, destination_id,
                             days_to_departure, has_return, ${TERM_COLUMNS},
                             fares, bookable, bookable_share, currency, p10, median, p90)
    select ${day}::date, departure_iata, destination_iata, departure_id, destination_id,
           days_to_departure, has_return, ${TERM_COLUMNS},
           fares, bookable, round(bookable::numeric / nullif(known, 0), 4), currency,
           case when currency is not null then p[1] end, case when currency is not null then p[2] end,
           case when currency is not null then p[3] end
      from (select outbound_departure_iata as departure_iata, outbound_destination_iata as destination_iata,
                   outbound_departure_id as departure_id, outbound_destination_id as destination_id,
                   outbound_departs_local::date - ${day}::date as days_to_departure,
                   return_flight_id is not null as has_return, ${TERM_COLUMNS},
                   count(*) as fares, count(*) filter (where state = 'bookable') as bookable,
                   count(*) filter (where state <> 'unknown') as known,
                   case when count(distinct currency) filter (where state = 'bookable') = 1 then min(currency) end as currency,
                   percentile_disc(array[0.1, 0.5, 0.9]) within group (order by price) filter (where state = 'bookable') as p
              from farewatch.fare_history
             where ${isCounted(day)}
             group by 1, 2, 3, 4, 5, 6, ${TERM_COLUMNS}) f
  `.execute(tx)
}

/** Of fares, the intervals that hold at the end of a day before the departure. */
function isCounted(day: string): RawBuilder<unknown> {
  return sql`
    valid_from <= ${endOf(day)} and (valid_to is null or valid_to > ${endOf(day)})
      and outbound_departs_local::date >= ${day}::date`
}

async function saveAirlines(tx: Tx, day: string): Promise<void> {
  await sql`
    insert into daily_airlines (day, airline, fares, bookable)
    select ${day}::date, coalesce(outbound_airline, ''), count(*), count(*) filter (where state = 'bookable')
      from farewatch.fare_history
     where ${isCounted(day)}
     group by 2
  `.execute(tx)
}

/** The bounds of the delays. An end of a fare is left out: the clock finds it, and no check. */
async function saveDelays(tx: Tx, day: string): Promise<void> {
  await sql`
    insert into daily_delays (day, kind, changes, at_least_median, at_least_p95, at_most_median, at_most_p95)
    select ${day}::date, kind, changes, round(l[1]::numeric, 1), round(l[2]::numeric, 1), round(m[1]::numeric, 1), round(m[2]::numeric, 1)
      from (select kind, count(*) as changes,
                   percentile_cont(array[0.5, 0.95]) within group (order by extract(epoch from recorded_at - by)::float8) as l,
                   percentile_cont(array[0.5, 0.95]) within group (order by extract(epoch from recorded_at - after)::float8) as m
              from (select kind, recorded_at, last_seen_at as after, first_missed_at as by from farewatch.route_changes
                    union all
                    select kind, recorded_at, last_good_check_at, detected_at from farewatch.availability_changes
                     where kind <> 'expired') c
             where recorded_at > ${endOf(day)} - interval '1 day' and recorded_at <= ${endOf(day)}
             group by kind) d
  `.execute(tx)
}

/** The tables behind each part of the database. All others are `other`. */
const PARTS: Readonly<Record<string, readonly string[]>> = {
  route_history: ['route_version', 'route_availability_version', 'place_version'],
  route_changes: ['route_change'],
  fare_history: ['fare_belief_version', 'fare_flights'],
  fare_changes: ['availability_change', 'watch_change', 'watch_event'],
  evidence: ['evidence'],
  lists: ['snapshot', 'snapshot_part'],
  daily_tables: DAILY_TABLES,
  deliveries: ['delivery', 'delivery_attempt'],
}

interface PartSize {
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
 * Bytes by which the database grew a day in the last 30 days, by its sizes when daily tables were computed. Null
 * until these are a day apart.
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
