import { type RawBuilder, sql, type Tx } from '../../platform/db/database.ts'
import { affected } from '../../platform/db/transaction.ts'
import type { ApplyArgs } from './absences.ts'

/**
 * Recognises the places that a list gives under another id, and records them with the run. Returns how many.
 *
 * The successor of a place has its code and its country, unless one of them has none, and the list has more than half of the live routes of the
 * place under the successor, by the codes of their other ends: both ends of a route may have other ids in one list. The
 * list has no route of the place itself. A successor is an id that no list has shown before. A place may also return
 * to an id that it had: if other ids were a mistake, or if two versions of a list alternate, the routes of both ids are
 * live for a while, so that counts once the removals are confirmed.
 *
 * Call it before anything is applied, and after the absences of the list are counted.
 */
export async function recordRenumberings(
  tx: Tx,
  args: Pick<ApplyArgs, 'runId' | 'confirmations'>,
): Promise<number> {
  if ((await findCandidates(tx, args.confirmations)) === 0) return 0
  return affected(
    sql`
      with route as (${routesOfCandidates(args.confirmations)}),
           counted as (
             select c.previous_id, c.place_id, count(*) as routes, count(n.place_id) as taken
               from renumbering_candidate c
               join route o on o.place_id = c.previous_id and o.live_before
               left join (select distinct place_id, departs, other from route where live_after) n
                      on (n.place_id, n.departs, n.other) = (c.place_id, o.departs, o.other)
              group by c.previous_id, c.place_id, c.is_return
             having bool_and(case when c.is_return then o.confirmed else not o.live_after end)),
           successor as (
             select distinct on (previous_id) *
               from counted
              where 2 * taken > routes
              order by previous_id, taken desc, place_id),
           chosen as (
             select distinct on (place_id) * from successor order by place_id, taken desc, previous_id)
      insert into place_renumbering (previous_id, place_id, durable_id, routes, routes_taken_over, sync_run_id)
      select c.previous_id, c.place_id, coalesce(d.durable_id, c.previous_id), c.routes, c.taken, ${args.runId}::bigint
        from chosen c
        left join durable_place d on d.place_id = c.previous_id
    `,
    tx,
  )
}

/** A list that gives no known code to a new place costs no more than this. */
async function findCandidates(tx: Tx, confirmations: number): Promise<number> {
  await sql`
    create temp table renumbering_candidate (previous_id text, place_id text, is_return boolean) on commit drop
  `.execute(tx)
  return affected(
    sql`
      insert into renumbering_candidate
      select o.place_id, s.place_id, false
        from snapshot_place s
        join place_version o
          on o.iata = s.iata and (o.country = s.country or '' in (o.country, s.country)) and o.valid_to is null
       where not s.known and s.iata <> ''
      union all
      select o.place_id, n.place_id, true
        from durable_place o
        join durable_place n on n.durable_id = o.durable_id and n.place_id <> o.place_id
       where o.place_id = o.present_id
         and exists (select from pending_absence p
                      where p.list = 'routes' and p.absences >= ${confirmations} and o.place_id in (p.departure_id, p.destination_id))
    `,
    tx,
  )
}

/** The routes of the candidates before and after the list, each with the code of its other end. */
function routesOfCandidates(confirmations: number): RawBuilder<unknown> {
  return sql`
    select e.place_id, e.departs, r.live_before, r.live_after, r.confirmed,
           coalesce(nullif(coalesce(v.iata, s.iata), ''), '#' || e.other_id) as other
      from (select v.departure_id, v.destination_id, true as live_before, m.departure_id is null as live_after,
                   coalesce(p.absences >= ${confirmations}, false) as confirmed
              from route_version v
              left join snapshot_missing m on (m.departure_id, m.destination_id) = (v.departure_id, v.destination_id)
              left join pending_absence p
                     on p.list = 'routes' and (p.departure_id, p.destination_id) = (v.departure_id, v.destination_id)
             where v.valid_to is null
            union all
            select departure_id, destination_id, false, true, false from snapshot_added) r
     cross join lateral (values (r.departure_id, true, r.destination_id), (r.destination_id, false, r.departure_id))
                e (place_id, departs, other_id)
      left join place_version v on v.place_id = e.other_id and v.valid_to is null
      left join snapshot_place s on s.place_id = e.other_id and not s.known
     where e.place_id in (select previous_id from renumbering_candidate union select place_id from renumbering_candidate)
  `
}

/** The records of the renumberings of a run, as drafts. */
export function draftsOfRenumberings({
  runId,
  previousAt,
  arrivedAt,
}: Pick<ApplyArgs, 'runId' | 'previousAt' | 'arrivedAt'>): RawBuilder<unknown> {
  return sql`
    select 'place_renumbered', null, null, r.place_id,
           jsonb_build_object('id', r.previous_id, 'iata', o.iata, 'city', o.city, 'country', o.country),
           jsonb_build_object('id', r.place_id, 'iata', coalesce(v.iata, s.iata), 'city', coalesce(v.city, s.city),
                              'country', coalesce(v.country, s.country)),
           ${previousAt}::timestamptz, ${arrivedAt}::timestamptz, r.change_id
      from place_renumbering r
      join place_version o on o.place_id = r.previous_id and o.valid_to is null
      left join place_version v on v.place_id = r.place_id and v.valid_to is null
      left join snapshot_place s on s.place_id = r.place_id and not s.known
     where r.sync_run_id = ${runId}
  `
}

/**
 * Marks the drafts of additions and removals by which a route neither begins nor ends, because it is live under other
 * ids of its places: before an addition, or after a removal. They cite the last renumbering of the departure place
 * if its id differs, else that of the destination.
 */
export async function markRenumbered(tx: Tx): Promise<void> {
  await sql`
    with place as materialized (select place_id, durable_id, change_id from durable_place),
         pair as (
           select d.kind, d.departure_id, d.destination_id, coalesce(o.place_id, d.departure_id) as other_departure,
                  coalesce(e.place_id, d.destination_id) as other_destination, f.change_id as departure_change,
                  t.change_id as destination_change
             from route_change_draft d
             left join place f on f.place_id = d.departure_id
             left join place o on o.durable_id = f.durable_id
             left join place t on t.place_id = d.destination_id
             left join place e on e.durable_id = t.durable_id
            where d.kind in ('route_added', 'route_removed') and (f.place_id is not null or t.place_id is not null)),
         live as (
           select p.kind, p.departure_id, p.destination_id,
                  (array_agg(case when p.other_departure <> p.departure_id then p.departure_change else p.destination_change end
                             order by p.other_departure = p.departure_id))[1] as change_id
             from pair p
             left join route_version v
                    on (v.departure_id, v.destination_id) = (p.other_departure, p.other_destination) and v.valid_to is null
             left join route_change_draft d
                    on (d.departure_id, d.destination_id) = (p.other_departure, p.other_destination)
                   and d.kind in ('route_added', 'route_removed')
            where (p.other_departure, p.other_destination) <> (p.departure_id, p.destination_id)
              and case p.kind when 'route_added' then v.departure_id is not null
                              else coalesce(d.kind = 'route_added', v.departure_id is not null) end
            group by p.kind, p.departure_id, p.destination_id)
    update route_change_draft d
       set renumbered = l.change_id
      from live l
     where (d.kind, d.departure_id, d.destination_id) = (l.kind, l.departure_id, l.destination_id)
  `.execute(tx)
}
