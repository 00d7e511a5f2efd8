import { type RawBuilder, sql, type Tx } from '../../platform/db/database.ts'
import { end } from './read-lists.ts'

/** The list that decides about an interval. */
const LIST = sql`case s.kind when 'place' then 'routes' when 'unavailable' then 'with-availability' else s.kind end`
const SUBJECT = sql`
  case s.kind when 'place' then jsonb_build_object('placeId', s.a)
              else jsonb_build_object('departureId', s.a, 'destinationId', s.b) end`
const FIELD = sql`case s.kind when 'routes' then 'live' when 'place' then 'attributes' else 'available' end`
const VALUE = sql`case s.kind when 'place' then s.b::jsonb else to_jsonb(s.kind <> 'unavailable') end`
const OTHER = sql`case s.kind when 'routes' then 'false'::jsonb else 'null'::jsonb end`
const PAIR = sql`departure_id as a, destination_id as b`

/** The position of the first run at or after an instant; after all runs if there is none. */
function positionOf(list: RawBuilder<unknown>, instant: RawBuilder<unknown>, of = sql`at`) {
  return sql`
    coalesce((select p.position from replay_run p where p.list = ${list} and p.${of} >= ${instant} order by p.${of} limit 1),
             ${end(list)})`
}

/** Positions of a list whose lists are known. */
function known(list: RawBuilder<unknown>) {
  return sql`(select spans from replay_known k where k.list = ${list})`
}

/**
 * Gives the stored intervals the positions of their runs: `replay_life` for each life of a route the positions of
 * availability lists, `replay_stored` for each interval the positions of its list and, as `most`, where its life
 * ends.
 */
export async function placeIntervals(tx: Tx): Promise<void> {
  const lists = sql`'with-availability'`
  await sql`
    create temp table replay_known on commit drop as
    select list, range_agg(int4range(position, position + 1)) filter (where known) as spans, min(at) as since
      from replay_run group by list having bool_or(known)
  `.execute(tx)
  await sql`
    create temp table replay_life on commit drop as
    select ${PAIR}, valid_from as born_at, valid_to as died_at, ${positionOf(lists, sql`valid_from`)} as first,
           case when valid_to is null then ${end(lists)} else ${positionOf(lists, sql`valid_to`)} end as until
      from route_version
  `.execute(tx)
  await sql`
    create temp table replay_stored on commit drop as
    select s.*, ${positionOf(LIST, sql`s.valid_from`)} as first,
           case when s.valid_to is null then ${end(LIST)} else ${positionOf(LIST, sql`s.valid_to`)} end as until,
           coalesce(s.life_until, ${end(LIST)}) as most
      from (select 'routes' as kind, ${PAIR}, valid_from, valid_to, added_by, removed_by, last_seen_at, first_missed_at,
                   null::timestamptz as born_at, null::timestamptz as died_at, null::integer as life_until
              from route_version
            union all
            select 'place', place_id, jsonb_build_array(iata, city, country)::text, valid_from, valid_to,
                   null, null, null, null, null, null, null
              from place_version
            union all
            select case when v.available then 'with-availability' else 'unavailable' end, v.departure_id, v.destination_id,
                   v.valid_from, v.valid_to, null, null, null, null, l.born_at, l.died_at, l.until
              from route_availability_version v
              left join replay_life l on (l.a, l.b) = (v.departure_id, v.destination_id) and l.born_at <= v.valid_from
                                     and (l.died_at is null or l.died_at > v.valid_from)) s
      join replay_known k on k.list = ${LIST}
     where s.valid_to is null or s.valid_to > k.since
  `.execute(tx)
  await sql`create index on replay_stored (kind, a, b)`.execute(tx)
  await sql`analyze replay_life, replay_stored`.execute(tx)
  await findGaps(tx)
}

/**
 * The spans of known lists in a row that contradict a stored interval: they lack its pair, or give its place other
 * attributes (`x`) and not its own. `confirmed` is where they are as many as the run demands; null if they never
 * are. `begin_known`: the list before them is known, and so is the count.
 */
async function findGaps(tx: Tx): Promise<void> {
  await sql`
    create temp table replay_gap on commit drop as
    with shown as (select kind, a, b, range_agg(int4range(first, until)) as spans from replay_listed group by kind, a, b),
         contradicted as (
           select s.*, s.b as x, int4multirange(int4range(s.first, greatest(s.first, s.most))) - coalesce(l.spans, '{}') as spans
             from replay_stored s
             left join shown l on (l.kind, l.a, l.b) = (s.kind, s.a, s.b)
            where s.kind in ('routes', 'with-availability')
           union all
           select s.*, o.b, o.spans * int4range(s.first, s.most)::int4multirange - coalesce(l.spans, '{}')
             from replay_stored s
             join shown o on o.kind = 'smallest' and o.a = s.a and o.b <> s.b
             left join shown l on (l.kind, l.a, l.b) = (s.kind, s.a, s.b)
            where s.kind = 'place'),
         gap as (
           select s.*, ${LIST} as list, lower(g) as from_position, upper(g) as to_position,
                  lower(g) > s.first and k.spans @> (lower(g) - 1) as begin_known
             from contradicted s
             join replay_known k on k.list = ${LIST}
            cross join lateral unnest(s.spans * k.spans) g
            where lower(g) <= s.until)
    select g.*, (select min(c.position)
                   from (select r.position, case g.kind when 'place' then r.place_confirmations else r.confirmations end as needed,
                                sum(case when n.position is null then r.lists else 1 end) over (order by r.position) as counted
                           from replay_run r
                           left join replay_single n on (n.kind, n.a, n.b, n.position) = (g.kind, g.a, g.x, r.position)
                          where r.list = g.list and r.position >= g.from_position and r.position < g.to_position
                            and r.position < g.from_position + (select max(confirmations) from replay_run)) c
                  where c.counted >= c.needed) as confirmed
      from gap g
  `.execute(tx)
}

const AT = sql`r.at, r.id as run_id, ${SUBJECT} as subject`
const AT_POSITION = sql`replay_run r on r.list = ${LIST} and r.position`

/** What a known list shows and the history does not: a pair, or a place with any attributes. */
const NOT_STORED = sql`
  with s as (
         select kind, a, b, range_agg(span) filter (where listed) as listed,
                coalesce(range_agg(span) filter (where not listed), '{}') as stored
           from (select true as listed, kind, a, case kind when 'place' then '' else b end as b, int4range(first, until) as span
                   from replay_listed where kind in ('routes', 'place')
                 union all
                 select true, kind, a, b, int4range(greatest(p.first, l.first), least(p.until, l.until))
                   from replay_listed p join replay_life l using (a, b)
                  where kind = 'with-availability' and p.first < l.until and l.first < p.until
                 union all
                 select false, kind, a, case kind when 'place' then '' else b end, int4range(first, until)
                   from replay_stored where kind <> 'unavailable') spans
          group by kind, a, b)
  select ${AT}, ${FIELD} as field, case s.kind when 'place' then '"listed"' else 'true'::jsonb end as replayed, ${OTHER} as stored
    from s join ${AT_POSITION} = lower((s.listed - s.stored) * ${known(LIST)})`

/** Intervals that begin with a list that does not show them, or that says nothing about their route yet. */
const BEGINS_UNLISTED = sql`
  select ${AT}, ${FIELD} as field, ${OTHER} as replayed, ${VALUE} as stored
    from replay_stored s
    join ${AT_POSITION} = s.first and r.at = s.valid_from
   where case when s.kind = 'unavailable'
              then r.arrived_at < s.born_at and not r.joint
                   and not exists (select from replay_stored y where (y.a, y.b, y.valid_to) = (s.a, s.b, s.valid_from)
                                                                 and y.kind = 'with-availability')
              else r.known
                   and not exists (select from replay_listed l
                                    where (l.kind, l.a, l.b) = (case s.kind when 'place' then 'smallest' else s.kind end, s.a, s.b)
                                      and l.first <= s.first and l.until > s.first) end`

/**
 * Intervals that do not end with the list that confirms their end: sooner, later or not at all; and places changed
 * without one.
 */
const ENDS_ELSEWHERE = sql`
  select ${AT}, ${FIELD} as field, to_jsonb(s.confirmed is distinct from s.ended and s.ended is not null) as replayed,
         to_jsonb(s.ended is null or s.confirmed < s.ended) as stored
    from (select g.*, case when until < to_position then until end as ended from replay_gap g) s
    join ${AT_POSITION} = least(s.confirmed, s.ended)
   where case when s.begin_known then s.confirmed is distinct from s.ended else s.until > s.confirmed end
  union all
  select ${AT}, 'attributes', ${VALUE}, 'null'
    from replay_stored s
    join ${AT_POSITION} = s.until and r.known
    join replay_listed l on (l.kind, l.a, l.b) = (s.kind, s.a, s.b) and l.first <= s.until and l.until > s.until
   where s.kind = 'place'`

/** Routes without a known availability although a list of availability arrived while they lived. */
const AVAILABILITY_UNKNOWN = sql`
  with stored as (
         select a, b, range_agg(int4range(first, until)) as spans
           from replay_stored where kind in ('with-availability', 'unavailable') group by a, b),
       s as (
         select 'unavailable' as kind, l.a, l.b, int4multirange(int4range(c.covered, greatest(c.covered, l.until)))
                                                 - coalesce(v.spans, '{}') as spans
           from replay_life l
          cross join lateral (select greatest(l.first, ${positionOf(sql`'with-availability'`, sql`l.born_at`, sql`arrived_at`)}) as covered) c
           left join stored v using (a, b))
  select ${AT}, 'available' as field, to_jsonb(false) as replayed, 'null'::jsonb as stored
    from s join ${AT_POSITION} = lower(s.spans * ${known(LIST)})`

/** Instants that are not those of the run that began or ended the interval. Availability also ends with its route. */
const OTHER_INSTANT = sql`
  select i.instant as at, i.run as run_id, ${SUBJECT} as subject, i.field,
         (select to_jsonb(r.at) from replay_run r where r.id = i.run) as replayed, to_jsonb(i.instant) as stored
    from replay_stored s
    join replay_known k on k.list = ${LIST}
   cross join lateral (values ('valid_from', s.valid_from, s.added_by), ('valid_to', s.valid_to, s.removed_by)) i (field, instant, run)
   where i.instant >= k.since
     and not exists (select from replay_run r where r.list = ${LIST} and r.at = i.instant and (s.kind <> 'routes' or r.id = i.run))
     and (i.field = 'valid_from' or i.instant is distinct from s.died_at)
  union all
  select s.valid_from, null, ${SUBJECT}, 'life', to_jsonb(s.died_at), to_jsonb(s.valid_to)
    from replay_stored s
   where s.kind in ('with-availability', 'unavailable')
     and (s.born_at is null or coalesce(s.valid_to, 'infinity') > coalesce(s.died_at, 'infinity'))`

/** Intervals of one subject that overlap, or that touch and say the same. */
const OVERLAP = sql`
  select s.next_from as at, null::bigint as run_id, ${SUBJECT} as subject, 'intervals' as field,
         to_jsonb(s.valid_to) as replayed, to_jsonb(s.next_from) as stored
    from (select v.*, lead(row(kind, b)) over w as next_value, lead(valid_from) over w as next_from
            from replay_stored v
          window w as (partition by case kind when 'unavailable' then 'with-availability' else kind end, a,
                                    case kind when 'place' then '' else b end
                           order by valid_from, valid_to)) s
   where s.next_from < coalesce(s.valid_to, 'infinity')
      or s.next_from = s.valid_to and s.next_value = row(s.kind, s.b)
         and (s.kind not in ('with-availability', 'unavailable') or s.died_at is distinct from s.valid_to)`

/** When the last list with a removed route, and the first one without it, arrived. */
const OTHER_ABSENCE = sql`
  select s.valid_to as at, s.removed_by as run_id, ${SUBJECT} as subject, i.field, to_jsonb(i.arrived_at) as replayed, to_jsonb(i.stored) as stored
    from replay_gap s
    join replay_run f on f.list = 'routes' and f.position = s.from_position
    join replay_run l on l.list = 'routes' and l.position = s.from_position - 1
   cross join lateral (values ('last_seen_at', l.arrived_at, s.last_seen_at), ('first_missed_at', f.arrived_at, s.first_missed_at))
                      i (field, arrived_at, stored)
   where s.kind = 'routes' and s.begin_known and s.until = s.confirmed and i.stored is distinct from i.arrived_at`

/** The kinds of differences between the histories and the lists, each with the query of its rows. */
export const HISTORY_DIFFERENCES: Readonly<Record<string, RawBuilder<unknown>>> = {
  history_not_stored: NOT_STORED,
  history_begins_unlisted: BEGINS_UNLISTED,
  history_ends_elsewhere: ENDS_ELSEWHERE,
  history_availability_unknown: AVAILABILITY_UNKNOWN,
  history_other_instant: OTHER_INSTANT,
  history_overlap: OVERLAP,
  history_other_absence: OTHER_ABSENCE,
}
