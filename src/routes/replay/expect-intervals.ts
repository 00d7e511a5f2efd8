import type { RouteListName } from '../../platform/base/kinds.ts'
import { type RawBuilder, sql, type Tx } from '../../platform/db/database.ts'

/**
 * Computes from the presence of routes in the lists what the history must be, without the counters of pending absences
 * that the planner keeps: the gaps in which a route was absent decide.
 *
 * `unit` holds one row for each span in which a route has one history: of `routes` each route over all runs, of
 * `with-availability` each life of a route. Fills `gap` and `expected`.
 */
export async function expectIntervals(tx: Tx, list: RouteListName): Promise<void> {
  await findGaps(tx, list)
  await judgeGaps(tx, list)
  await collectExpected(tx, list)
}

/** The first position of a run with a valid time at or after an instant; after all runs if there is none. */
export function positionOf(list: RouteListName, instant: RawBuilder<unknown>): RawBuilder<number> {
  return sql`
    coalesce((select position from farewatch_replay.run
               where list = ${list} and valid_at >= ${instant} order by valid_at limit 1), ${endOf(list)})`
}

/** One more than the position of the last run. */
export function endOf(list: RouteListName): RawBuilder<number> {
  return sql`(select max(position) + 1 from farewatch_replay.run where list = ${list})`
}

/** Spans of runs in a row whose lists are known. */
function knownSpans(list: RouteListName): RawBuilder<unknown> {
  return sql`
    (select unnest(coalesce(range_agg(int4range(position, position + 1)), '{}'::int4multirange)) as span
       from farewatch_replay.run where list = ${list} and known)`
}

/**
 * Spans of known lists that lack a route. `begin_known`: the list before it held the route. `born_absent`: the span begins
 * the unit, and nothing came before.
 */
async function findGaps(tx: Tx, list: RouteListName): Promise<void> {
  await sql`
    create temp table gap on commit drop as
    select u.unit, u.departure_id, u.destination_id, u.born_at, lower(g.span) as first, upper(g.span) as until,
           lower(g.span) = lower(a.span) and lower(g.span) > lower(u.life) and lower(g.span) > lower(k.span) as begin_known,
           lower(g.span) = lower(u.life) and u.starts_known as born_absent
      from unit u
      cross join lateral unnest(int4multirange(u.life) - u.listed) a (span)
      join ${knownSpans(list)} k on k.span && a.span
      cross join lateral (select k.span * a.span as span) g
  `.execute(tx)
  await sql`analyze gap`.execute(tx)
}

/**
 * Finds where each gap confirms the absence: where the lists that lack the route are as many as the run demands. An
 * availability list says nothing about routes that are younger than its arrival (`covered`).
 */
async function judgeGaps(tx: Tx, list: RouteListName): Promise<void> {
  await sql`
    create temp table judged_gap on commit drop as
    select g.*, least(coalesce(c.confirmed, g.until), g.until) as confirmed,
           least(coalesce(v.covered, g.until), g.until) as covered
      from gap g
      cross join lateral (
           select min(position) as confirmed
             from (select r.position, r.confirmations,
                          sum(case when s.position is null then r.lists else 1 end) over (order by r.position) as absences
                     from farewatch_replay.run r
                     left join farewatch_replay.single_absence s
                            on (s.list, s.position, s.departure_id, s.destination_id)
                               = (r.list, r.position, g.departure_id, g.destination_id)
                    where r.list = ${list} and r.position >= g.first and r.position < g.until
                      and r.position < g.first + (select max(confirmations) from farewatch_replay.run where list = ${list})) counted
            where absences >= confirmations) c
      cross join lateral (
           select case when g.born_at is null then g.first
                       else (select min(position) from farewatch_replay.run r
                              where r.list = ${list} and r.position >= g.first and r.arrived_at >= g.born_at) end as covered) v
  `.execute(tx)
}

/** Joins what the lists and the gaps of each unit show. All else of its life is unknown, or has no value. */
async function collectExpected(tx: Tx, list: RouteListName): Promise<void> {
  await sql`
    create temp table expected on commit drop as
    with known as (select coalesce(range_agg(span), '{}') as spans from ${knownSpans(list)} k),
         of_gap as (
           select unit,
                  range_agg(int4range(first, confirmed)) filter (where begin_known) as yes,
                  range_agg(case when begin_known then int4range(confirmed, until)
                                 when born_absent then int4range(covered, until)
                                 else int4range(greatest(confirmed, covered), until) end) as no,
                  range_agg(int4range(first, greatest(confirmed, covered))) filter (where not begin_known and not born_absent)
                    as unknown
             from judged_gap
            group by unit)
    select u.unit, u.departure_id, u.destination_id, u.stored_yes, u.stored_no, u.stored_rows,
           u.listed * known.spans + coalesce(g.yes, '{}') as yes, coalesce(g.no, '{}') as no,
           int4multirange(u.life) - known.spans + coalesce(g.unknown, '{}') as unknown
      from unit u
      cross join known
      left join of_gap g on g.unit = u.unit
  `.execute(tx)
}
