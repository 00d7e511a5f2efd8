import { sql, type Tx } from '../../platform/db/database.ts'
import { spanOf, withinRuns } from './compare-routes.ts'
import { endOf } from './expect-intervals.ts'

/** Compares the attributes of each place where the lists decide them. */
export async function comparePlaces(tx: Tx): Promise<void> {
  const end = endOf('routes')
  await sql`
    create temp table place_spans on commit drop as
    select place_id, iata, city, country,
           coalesce(range_agg(span) filter (where replayed), '{}') as replayed,
           coalesce(range_agg(span) filter (where not replayed), '{}') as stored
      from (select true as replayed, place_id, iata, city, country, int4range(first, coalesce(until, ${end})) as span
              from farewatch_replay.place
            union all
            select false, place_id, iata, city, country, ${spanOf('routes')}
              from place_version v
             where ${withinRuns('routes')}) spans
     group by place_id, iata, city, country
  `.execute(tx)
  // Before the first list that gives a place nothing is known of it, unless all lists from the baseline on are known.
  await sql`
    create temp table place_difference on commit drop as
    with decided as (
           select place_id, range_agg(replayed) as spans from place_spans group by place_id),
         begun as (
           select case when bool_or(baseline) filter (where position = 1)
                       then coalesce(min(position) filter (where not known), ${end}) else 1 end as until,
                  range_agg(int4range(position, position + 1)) filter (where known) as known
             from farewatch_replay.run
            where list = 'routes')
    select s.place_id, min(lower(d.span)) as at
      from place_spans s
      join decided using (place_id)
      cross join begun
      cross join lateral (
           select ((s.stored - s.replayed) + (s.replayed - s.stored))
                  * (decided.spans
                     + int4multirange(int4range(1, least(begun.until, lower(decided.spans)))))
                  * begun.known as span) d
     where not isempty(d.span)
     group by s.place_id
  `.execute(tx)
  await sql`
    insert into farewatch_replay.difference
    select r.valid_at, 0, r.run_id, jsonb_build_object('placeId', d.place_id), 'attributes', replayed.shown, stored.shown
      from place_difference d
      join farewatch_replay.run r on r.list = 'routes' and r.position = d.at
      left join lateral (${shownAt('replayed')}) replayed on true
      left join lateral (${shownAt('stored')}) stored on true
  `.execute(tx)
  await compareInstants(tx)
  await sql`drop table place_spans, place_difference`.execute(tx)
}

function shownAt(side: 'replayed' | 'stored') {
  return sql`
    select jsonb_build_object('iata', iata, 'city', city, 'country', country) as shown
      from place_spans s
     where s.place_id = d.place_id and ${sql.ref(`s.${side}`)} @> d.at
     limit 1`
}

async function compareInstants(tx: Tx): Promise<void> {
  const runs = sql`farewatch_replay.run where list = 'routes'`
  await sql`
    insert into farewatch_replay.difference
    select i.instant, 3, null, jsonb_build_object('placeId', v.place_id), i.field, null, to_jsonb(i.instant)
      from place_version v
      cross join lateral (values ('valid_from', v.valid_from), ('valid_to', v.valid_to)) i (field, instant)
     where ${withinRuns('routes')}
       and i.instant between (select min(valid_at) from ${runs}) and (select max(valid_at) from ${runs})
       and not exists (select from ${runs} and valid_at = i.instant)
  `.execute(tx)
}
