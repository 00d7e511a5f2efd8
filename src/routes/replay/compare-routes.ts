import type { RouteListName } from '../../platform/base/kinds.ts'
import { type RawBuilder, sql, type Tx } from '../../platform/db/database.ts'
import { endOf, expectIntervals, positionOf } from './expect-intervals.ts'

const ROUTES = 'routes'
const AVAILABILITY = 'with-availability'

/** The subject of a difference. */
export const ROUTE = sql`jsonb_build_object('departureId', departure_id, 'destinationId', destination_id)`

/** Stored intervals that touch the runs of a list: valid after its first run began, and begun by its last one. */
export function withinRuns(list: RouteListName): RawBuilder<boolean> {
  return sql<boolean>`
    (v.valid_from <= (select max(valid_at) from farewatch_replay.run where list = ${list})
     and (v.valid_to is null or v.valid_to > (select min(valid_at) from farewatch_replay.run where list = ${list})))`
}

/** A stored interval as a span of positions. An end after the last run is no end yet. */
export function spanOf(list: RouteListName): RawBuilder<unknown> {
  return sql`
    int4range(${positionOf(list, sql`v.valid_from`)},
              case when v.valid_to is null then ${endOf(list)} else ${positionOf(list, sql`v.valid_to`)} end)`
}

/** Compares the existence of routes, and the runs and instants of its intervals. */
export async function compareRoutes(tx: Tx): Promise<void> {
  await sql`
    create temp table unit on commit drop as
    select row_number() over () as unit, departure_id, destination_id, int4range(1, ${endOf(ROUTES)}) as life,
           null::timestamptz as born_at, (select baseline from farewatch_replay.run where list = ${ROUTES} and position = 1) as starts_known,
           coalesce(range_agg(span) filter (where listed), '{}') as listed,
           coalesce(range_agg(span) filter (where not listed), '{}') as stored_yes,
           '{}'::int4multirange as stored_no, count(*) filter (where not listed) as stored_rows
      from (select true as listed, departure_id, destination_id, int4range(first, coalesce(until, ${endOf(ROUTES)})) as span
              from farewatch_replay.presence
             where list = ${ROUTES}
            union all
            select false, departure_id, destination_id, ${spanOf(ROUTES)}
              from route_version v
             where ${withinRuns(ROUTES)}) spans
     group by departure_id, destination_id
  `.execute(tx)
  await sql`analyze unit`.execute(tx)
  await expectIntervals(tx, ROUTES)
  await recordIntervals(tx, ROUTES, { field: 'live', rank: 1, elsewhere: 'false' })
  await compareRouteRuns(tx)
  await sql`drop table unit, gap, judged_gap, expected`.execute(tx)
}

/** Compares the availability of each life of a route. */
export async function compareAvailability(tx: Tx): Promise<void> {
  await sql`
    create temp table unit on commit drop as
    with life as (
           select row_number() over () as unit, departure_id, destination_id, valid_from as born_at, valid_to as died_at,
                  ${spanOf(AVAILABILITY)} as life
             from route_version v
            where ${withinRuns(AVAILABILITY)}),
         listed as (
           select l.unit, range_agg(l.life * int4range(p.first, coalesce(p.until, ${endOf(AVAILABILITY)}))) as listed
             from life l
             join farewatch_replay.presence p
               on p.list = ${AVAILABILITY} and (p.departure_id, p.destination_id) = (l.departure_id, l.destination_id)
            group by l.unit),
         stored as (
           select l.unit, range_agg(s.span) filter (where s.available) as yes,
                  range_agg(s.span) filter (where not s.available) as no, count(*) as rows
             from life l
             join (select v.departure_id, v.destination_id, v.available, v.valid_from, ${spanOf(AVAILABILITY)} as span
                     from route_availability_version v
                    where ${withinRuns(AVAILABILITY)}) s
               on (s.departure_id, s.destination_id) = (l.departure_id, l.destination_id)
              and s.valid_from >= l.born_at and (l.died_at is null or s.valid_from < l.died_at)
            group by l.unit)
    select l.unit, l.departure_id, l.destination_id, l.life, l.born_at,
           lower(l.life) > 1 or (select baseline from farewatch_replay.run where list = ${AVAILABILITY} and position = 1) as starts_known,
           coalesce(c.listed, '{}') as listed,
           coalesce(s.yes, '{}') as stored_yes, coalesce(s.no, '{}') as stored_no, coalesce(s.rows, 0) as stored_rows
      from life l
      left join listed c on c.unit = l.unit
      left join stored s on s.unit = l.unit
     where not isempty(l.life)
  `.execute(tx)
  await sql`analyze unit`.execute(tx)
  await expectIntervals(tx, AVAILABILITY)
  await recordIntervals(tx, AVAILABILITY, { field: 'available', rank: 2, elsewhere: 'null' })
  await compareAvailabilityInstants(tx)
  await sql`drop table unit, gap, judged_gap, expected`.execute(tx)
}

interface Field {
  readonly field: string
  readonly rank: number
  /** The value, as JSON, where neither yes nor no holds. */
  readonly elsewhere: 'false' | 'null'
}

/** Records where the stored intervals of a unit differ first from the expected ones. */
async function recordIntervals(
  tx: Tx,
  list: RouteListName,
  { field, rank, elsewhere }: Field,
): Promise<void> {
  const of = (at: RawBuilder<unknown>, yes: string, no: string) => sql`
    case when ${sql.ref(yes)} @> ${at} then 'true'::jsonb
         when ${sql.ref(no)} @> ${at} then 'false'::jsonb else ${sql.lit(elsewhere)}::jsonb end`
  const differing = sql`
    (e.stored_yes - e.yes) + (e.yes - e.stored_yes) - e.unknown
    ${elsewhere === 'null' ? sql`+ ((e.stored_no - e.no) + (e.no - e.stored_no) - e.unknown)` : sql``}`
  await sql`
    insert into farewatch_replay.difference
    select r.valid_at, ${rank}::integer, r.run_id, ${ROUTE}, ${field},
           ${of(sql`d.at`, 'yes', 'no')}, ${of(sql`d.at`, 'stored_yes', 'stored_no')}
      from expected e
      cross join lateral (select lower(${differing}) as at) d
      join farewatch_replay.run r on r.list = ${list} and r.position = d.at
  `.execute(tx)
  // Intervals that overlap or touch are one interval as a set.
  await sql`
    insert into farewatch_replay.difference
    select r.valid_at, ${rank}::integer, r.run_id, ${ROUTE}, 'intervals',
           to_jsonb(d.ranges), to_jsonb(e.stored_rows)
      from expected e
      cross join lateral (select (select count(*) from unnest(e.stored_yes)) + (select count(*) from unnest(e.stored_no)) as ranges) d
      join farewatch_replay.run r on r.list = ${list} and r.position = lower(e.stored_yes + e.stored_no)
     where d.ranges <> e.stored_rows
  `.execute(tx)
}

/**
 * Each interval begins with the run that added it and ends with the run that removed it. What is recorded of an absence
 * is when the last list with the route and the first one without it arrived.
 */
async function compareRouteRuns(tx: Tx): Promise<void> {
  const run = (id: string) =>
    sql`farewatch_replay.run r on r.list = ${ROUTES} and r.run_id = ${sql.ref(id)}`
  const began = sql`v.valid_from >= (select min(valid_at) from farewatch_replay.run where list = ${ROUTES})`
  await sql`
    insert into farewatch_replay.difference
    select v.valid_from, 3, v.added_by, ${ROUTE}, 'valid_from', to_jsonb(r.valid_at), to_jsonb(v.valid_from)
      from route_version v
      left join ${run('v.added_by')}
     where ${withinRuns(ROUTES)} and ${began} and r.valid_at is distinct from v.valid_from
    union all
    select v.valid_to, 3, v.removed_by, ${ROUTE}, 'valid_to', to_jsonb(r.valid_at), to_jsonb(v.valid_to)
      from route_version v
      left join ${run('v.removed_by')}
     where ${withinRuns(ROUTES)} and v.valid_to <= (select max(valid_at) from farewatch_replay.run where list = ${ROUTES})
       and r.valid_at is distinct from v.valid_to
  `.execute(tx)
  const times = [
    ['last_seen_at', sql`g.first - 1`],
    ['first_missed_at', sql`g.first`],
  ] as const
  for (const [field, position] of times) {
    const stored = sql.ref(`v.${field}`)
    await sql`
      insert into farewatch_replay.difference
      select v.valid_to, 4, v.removed_by, jsonb_build_object('departureId', v.departure_id, 'destinationId', v.destination_id),
             ${field}, to_jsonb(seen.arrived_at), to_jsonb(${stored})
        from judged_gap g
        join farewatch_replay.run removal on removal.list = ${ROUTES} and removal.position = g.confirmed
        join route_version v
          on (v.departure_id, v.destination_id, v.valid_to) = (g.departure_id, g.destination_id, removal.valid_at)
        join farewatch_replay.run seen on seen.list = ${ROUTES} and seen.position = ${position}
       where g.begin_known and g.confirmed < g.until and ${stored} <> seen.arrived_at
    `.execute(tx)
  }
}

/** Availability begins with a run of its list, within the life of a route, and ends with a run of either list. */
async function compareAvailabilityInstants(tx: Tx): Promise<void> {
  const first = sql`(select min(valid_at) from farewatch_replay.run where list = ${AVAILABILITY})`
  await sql`
    insert into farewatch_replay.difference
    select v.valid_from, 3, null::bigint, ${ROUTE}, 'available_from', null::jsonb, to_jsonb(v.valid_from)
      from route_availability_version v
     where ${withinRuns(AVAILABILITY)} and v.valid_from >= ${first}
       and (not exists (select from farewatch_replay.run r where r.list = ${AVAILABILITY} and r.valid_at = v.valid_from)
            or not exists (select from route_version l
                            where (l.departure_id, l.destination_id) = (v.departure_id, v.destination_id)
                              and l.valid_from <= v.valid_from and (l.valid_to is null or l.valid_to > v.valid_from)))
    union all
    select v.valid_to, 3, null, ${ROUTE}, 'available_to', null, to_jsonb(v.valid_to)
      from route_availability_version v
     where ${withinRuns(AVAILABILITY)} and v.valid_to > ${first}
       and v.valid_to <= (select max(valid_at) from farewatch_replay.run)
       and not exists (select from sync_run r where r.fetched_at = v.valid_to and r.status in ('applied', 'unchanged', 'approved'))
  `.execute(tx)
}
