-- Loaded into the transaction of a proof, next to what it has read of the lists: proof_run and proof_listed. Each view
-- history_… and feed_… shows one kind of difference; what begins with proof_ serves them.

-- Where lists show a pair; and where they show attributes of a place, and show them as its smallest ones.
create temporary table proof_pair as
select kind, a, b, range_agg(int4range(first, until)) as spans
  from proof_listed where kind <> 'place' group by kind, a, b;
create temporary table proof_place as
select a, value, spans, spans - coalesce(range_agg(spans) over smaller, '{}') as smallest
  from (select a, b::jsonb as value, range_agg(int4range(first, until)) as spans
          from proof_listed where kind = 'place' group by a, b) p
window smaller as (partition by a order by value ->> 'iata' collate "C", value ->> 'city' collate "C",
                   value ->> 'country' collate "C" rows between unbounded preceding and 1 preceding);

-- The list that decides about each history, and where it is known. An approved list without a route may have arrived
-- before the route was added, and says nothing about its availability then: it is not among the `prompt` ones.
create temporary table proof_kind as
select kind, list, min(at) as since, range_agg(int4range(position, position + 1)) filter (where known) as known,
       coalesce(range_agg(int4range(position, position + 1)) filter (where known and not is_approved), '{}') as prompt
  from (values ('route', 'routes'), ('place', 'routes'), ('availability', 'with-availability')) k (kind, list)
  join proof_run using (list)
 where position > 0 group by kind, list having bool_or(known);

-- The intervals and the times between them: each has a value, or none, until the next one begins. Those of
-- availability lie in a life of their route. An empty interval at the end makes the time before it a state too.
create temporary table proof_state as
with interval as (
       select 'route' as kind, departure_id as a, destination_id as b, '-infinity'::timestamptz as born_at,
              null::timestamptz as died_at, 'true'::jsonb as value, valid_from, valid_to,
              added_by, removed_by, last_seen_at, first_missed_at
         from route_version
       union all select 'place', place_id, '', '-infinity', null, jsonb_build_object('iata', iata, 'city', city, 'country', country),
              valid_from, valid_to, null, null, null, null
         from place_version
       union all select 'belief', tracked_fare_id::text, '', '-infinity', null,
              jsonb_build_array(outbound, "return", pair, price, currency), valid_from, valid_to, null, null, null, null
         from fare_belief_version
       union all select 'availability', v.departure_id, v.destination_id, coalesce(l.valid_from, v.valid_from),
              case when l.valid_from is null then v.valid_from else l.valid_to end,
              to_jsonb(available), v.valid_from, v.valid_to, null, null, null, null
         from route_availability_version v
         left join route_version l
                on (l.departure_id, l.destination_id) = (v.departure_id, v.destination_id)
               and v.valid_from >= l.valid_from and v.valid_from < coalesce(l.valid_to, 'infinity')
       union all select 'availability', departure_id, destination_id, valid_from, valid_to, null, e.at, e.at, null, null, null, null
         from route_version cross join lateral (select coalesce(valid_to, 'infinity') as at) e
       union all select kind, a, b, '-infinity', null, null, 'infinity', 'infinity', null, null, null, null
         from (select kind, a, b from proof_pair where kind = 'route'
               union all select distinct 'place', a, '' from proof_place) l),
     neighbour as (
       select *, lag(coalesce(valid_to, 'infinity'), 1, born_at) over w as free_from,
              lead(valid_from) over w as next_from, lead(value) over w as next_value
         from interval window w as (partition by kind, a, b, born_at order by valid_from, valid_to))
select kind, a, b, born_at, died_at, next_from, s.*
  from neighbour cross join lateral (values
         (free_from, null, nullif(valid_from, 'infinity'), value, added_by, null, null),
         (valid_from, value, valid_to, case when next_from = valid_to then next_value end,
          removed_by, last_seen_at, first_missed_at))
       s (began_at, value, until, next, run_id, last_seen_at, first_missed_at)
 where began_at < coalesce(until, 'infinity');
analyze proof_pair, proof_place, proof_state;

create function pg_temp.proof_subject(kind text, a text, b text) returns jsonb language sql immutable
return case kind when 'belief' then jsonb_build_object('fareId', a) when 'place' then jsonb_build_object('placeId', a)
                 else jsonb_build_object('departureId', a, 'destinationId', b) end;

-- A state of a route, an availability or a place does not end with the list that ends it: it ends with another list
-- or none, at another instant, or with another value. A state without a value ends with the first list that shows
-- one, so this finds what is not stored. An end is right that lists may have confirmed which are not known, or which
-- were accepted together with another one.
create temporary view history_step as
with placed as (
       select s.*, k.list, case when s.kind = 'availability' and s.value is null then k.prompt else k.known end as known,
              f.position as first, l.position as last, l.at as last_at, l.run_id as last_run
         from proof_state s
         join proof_kind k using (kind)
         left join lateral (select r.position from proof_run r
                             where r.list = k.list and r.position > 0 and r.at >= s.began_at order by r.at limit 1) f on true
         left join lateral (select r.position, r.at, r.run_id from proof_run r
                             where r.list = k.list and r.position > 0 and r.at >= s.until order by r.at limit 1) l on true
        where coalesce(s.until, 'infinity') >= k.since),
     wanted as (
       select s.*, w.*
         from placed s
         left join proof_pair p using (kind, a, b)
        cross join lateral (values
                ('true'::jsonb, p.spans),
                (case s.kind when 'availability' then 'false'::jsonb end, '{(,)}' - coalesce(p.spans, '{}'))) w (wanted, spans)
        where s.kind <> 'place' and w.wanted is distinct from s.value
       union all select s.*, w.value, w.smallest - coalesce(o.spans, '{}')
         from placed s
         join proof_place w using (a)
         left join proof_place o on (o.a, o.value) = (s.a, s.value)
        where s.kind = 'place' and w.value is distinct from s.value),
     gap as (
       select w.kind, w.a, w.b, w.began_at, w.wanted, lower(g) as missed,
              lower(g) > w.first and w.known @> lower(g) - 1 and not exists (
                select from proof_run r
                 where r.list = w.list and r.position >= lower(g) and r.position < upper(g) and r.is_released) as is_counted,
              w.last <@ g and w.next is not distinct from w.wanted as may_end,
              case when w.value is null or w.value = 'false' then lower(g) else (
                select c.position
                  from (select r.position, row_number() over (order by r.position) as counted,
                               case w.kind when 'place' then r.place_confirmations else r.confirmations end as needed
                          from proof_run r
                         where r.list = w.list and r.position >= lower(g) and r.position < upper(g)) c
                 where c.counted >= c.needed order by c.position limit 1) end as due
         from wanted w
        cross join lateral unnest(w.known * w.spans * int4range(w.first, w.last, '[]')::int4multirange) g
        where w.first is not null),
     ended as (
       select distinct on (kind, a, b, began_at) *
         from gap order by kind, a, b, began_at, due, may_end and not is_counted desc nulls last)
select least(x.until, s.until) as at, coalesce(r.run_id, s.last_run) as run_id,
       pg_temp.proof_subject(s.kind, s.a, s.b) as subject, s.kind as field, to_jsonb(x) as expected, to_jsonb(y) as stored
  from placed s
  left join ended e using (kind, a, b, began_at)
  left join proof_run r on (r.list, r.position) = (s.list, e.due)
  left join proof_run m on s.kind = 'route' and s.value is not null and e.is_counted and r.at is not null
                       and (m.list, m.position) = (s.list, e.missed)
 cross join lateral (select least(s.died_at, case when r.at is not null then r.at
                                                  when s.known @> s.last and (e.may_end and not e.is_counted) is not true
                                                  then null else s.last_at end) as until) u
 cross join lateral (select u.until, case when r.at = u.until then e.wanted else s.next end as next,
                            case when s.kind = 'route' and u.until is not null
                                 then coalesce(r.run_id, s.last_run) end as "runId",
                            coalesce(m.previous_at, s.last_seen_at) as "lastSeenAt",
                            coalesce(m.arrived_at, s.first_missed_at) as "firstMissedAt") x
 cross join lateral (select s.until, s.next, s.run_id as "runId", s.last_seen_at as "lastSeenAt",
                            s.first_missed_at as "firstMissedAt") y
 where x is distinct from y;

-- Intervals of one subject overlap or, except for beliefs, touch and show the same.
create temporary view history_overlap as
select next_from as at, null::bigint as run_id, pg_temp.proof_subject(kind, a, b) as subject, kind as field,
       to_jsonb(until) as expected, to_jsonb(next_from) as stored
  from proof_state
 where value is not null and (next_from < coalesce(until, 'infinity') or next = value and kind <> 'belief');

-- The open belief of a fare is not that of its state.
create temporary view history_belief as
select null::timestamptz as at, null::bigint as run_id, jsonb_build_object('fareId', a) as subject, 'belief' as field,
       s.value as expected, v.value as stored
  from (select tracked_fare_id::text as a, jsonb_build_array(outbound, "return", pair, price, currency) as value
          from fare_state where expired_at is null and (outbound <> 'unknown' or "return" <> 'unknown')) s
  full join (select a, value from proof_state where kind = 'belief' and value is not null and until is null) v using (a)
 where s.value is distinct from v.value;

-- Neighbours in a feed: numbers are missing, double or after the end, except that a generation begins with the first one
-- after a multiple of 10^10; or records are not in the order of their times or runs. The clock of a server may be set back by a minute.
create temporary view feed_number as
with head as (
       select feed, 0::bigint as reseller, first_seq, last_seq + 1 as end_seq from feed_head
       union all select 'watch', id, first_seq, last_seq + 1 from reseller),
     entry as (
       select 'route' as feed, 0::bigint as reseller, c.seq, c.recorded_at, r.at as applied_at
         from route_change c left join proof_run r on r.run_id = c.sync_run_id
       union all select 'availability', 0, seq, recorded_at, null from availability_change
       union all select 'watch', reseller_id, seq, recorded_at, null from watch_change
       union all select feed, reseller, end_seq, null, null from head),
     neighbour as (
       select feed, reseller, seq, lag(seq, 1, first_seq - 1) over w + 1 as next_seq,
              recorded_at, lag(recorded_at) over w as recorded_before, applied_at, lag(applied_at) over w as applied_before
         from entry join head using (feed, reseller)
        where seq >= first_seq window w as (partition by feed, reseller order by seq))
select recorded_at as at, null::bigint as run_id, d.*,
       jsonb_strip_nulls(jsonb_build_object('feed', feed, 'reseller', nullif(reseller, 0)::text, 'seq', seq::text)) as subject
  from neighbour cross join lateral (values
         ('seq', to_jsonb(next_seq), to_jsonb(seq), seq <> next_seq and (seq < next_seq or seq % 10000000000 <> 1)),
         ('recordedAt', to_jsonb(recorded_before), to_jsonb(recorded_at), recorded_at < recorded_before - interval '1 minute'),
         ('run', to_jsonb(applied_before), to_jsonb(applied_at), applied_at < applied_before))
       d (field, expected, stored, differs)
 where differs;

-- The changes of routes, availability and places: every step of their states that is not of a baseline. When an
-- availability or a place was last seen, the states do not show. A record whose place stayed as it was is one of a
-- renumbering, from an earlier version.
create temporary view proof_route_change as
with change as (
       select 'implied' as role, pg_temp.proof_subject(s.kind, s.a, s.b) as subject, r.run_id, r.at, c.*
         from proof_state s
         join proof_run r on (r.list, r.at) = (case s.kind when 'availability' then 'with-availability' else 'routes' end, s.until)
         left join proof_state e on s.kind = 'route' and s.value is not null and e.kind = 'availability'
                                and (e.a, e.b, e.until) = (s.a, s.b, s.until)
        cross join lateral (values
                ('route_added', s.kind = 'route' and s.value is null,
                 null, '{"available": null}'::jsonb, r.previous_at, r.arrived_at),
                ('route_removed', s.kind = 'route' and s.value is not null,
                 jsonb_build_object('available', e.value), null, s.last_seen_at, s.first_missed_at),
                ('route_gained_availability', s.kind = 'availability' and s.next = 'true',
                 jsonb_build_object('available', s.value), '{"available": true}', r.previous_at, r.arrived_at),
                ('route_lost_availability', s.kind = 'availability' and (s.value, s.next) = ('true', 'false'),
                 '{"available": true}', '{"available": false}', null, null),
                ('place_changed', s.kind = 'place' and s.value is not null, s.value, s.next, null, null))
              c (change, is_it, before, after, last_seen_at, first_missed_at)
        where c.is_it and not r.baseline
       union all select 'recorded', jsonb_strip_nulls(jsonb_build_object(
                'placeId', place_id, 'departureId', departure_id, 'destinationId', destination_id)),
              c.sync_run_id, r.at, c.kind, true, before, after, t.last_seen_at, t.first_missed_at
         from route_change c
         left join proof_run r on r.run_id = c.sync_run_id
         left join lateral (select c.last_seen_at, c.first_missed_at) t
                on c.kind not in ('route_lost_availability', 'place_changed')
        where before is distinct from after)
select 'route' as feed, subject, run_id, at, role, jsonb_build_object('kind', change,
         'before', before, 'after', after, 'lastSeenAt', last_seen_at, 'firstMissedAt', first_missed_at) as change
  from change
 where coalesce(at, 'infinity') > (select f.before from history_floor f);

create function pg_temp.proof_belief(shown jsonb) returns jsonb language sql immutable
return jsonb_build_array(shown #>> '{outbound,belief}', shown #>> '{return,belief}', shown ->> 'pair',
                         (shown #>> '{price,amount}')::numeric, shown #>> '{price,currency}');
create temporary view proof_fare_record as
select c.*, pg_temp.proof_belief(before) as belief_before, pg_temp.proof_belief(after) as belief_after
  from availability_change c join feed_head h on h.feed = 'availability' and c.seq >= h.first_seq;

-- The changes of fares: every step of their beliefs, also at an end that the next belief follows at once. What
-- begins was unknown, what ends is not bookable. A fare that begins as not bookable is left out: version 1.0 could
-- begin an interval like this without a record. So is one that changed within two hours of the floor: an answer
-- counts from its request, a record from its writing. Records of one detection count once.
create temporary view proof_fare_change as
with step as (
       select s.a, s.until as at, c.*
         from proof_state s
        cross join lateral (select case when not exists (
                select from availability_change e
                 where e.kind = 'expired' and e.tracked_fare_id::text = s.a
                   and s.until between e.detected_at and e.recorded_at) then s.next end as value) m
        cross join lateral (values (s.value, m.value), (m.value, s.next)) c (before, after)
        where s.kind = 'belief' and s.until is not null and c.before is distinct from c.after),
     change as (
       select 'implied' as role, a, at,
              coalesce(before, jsonb_build_array('unknown', case when after ->> 1 <> '' then 'unknown' end,
                                                 'unknown', null, null)) as before,
              coalesce(after, jsonb_build_array('unavailable', case when before ->> 1 <> '' then 'unavailable' end,
                                                'not_bookable', null, null)) as after
         from step
       union all select 'recorded', tracked_fare_id::text, min(recorded_at), belief_before, belief_after
         from proof_fare_record group by tracked_fare_id, belief_before, belief_after, detected_at)
select 'availability' as feed, jsonb_build_object('fareId', a) as subject, null::bigint as run_id, at, role,
       jsonb_build_object('before', before, 'after', after) as change
  from change
 where at > (select f.before from history_floor f) and before <> after
   and not (before ->> 0 = 'unknown' and coalesce(before ->> 1, 'unknown') = 'unknown' and after ->> 2 = 'not_bookable')
   and a not in (select s.a from step s cross join history_floor f
                  where s.at between f.before - interval '2 hours' and f.before + interval '2 hours');

-- The starts of watches, and the changes of their fares while they went on. Whether a price passed a threshold is
-- not proved: its record may be there.
create temporary view proof_watch_change as
with started as (
       select w.*, least(w.ended_at, w.paused_at, r.disabled_at) as until
         from watch w join reseller r on r.id = w.reseller_id
        where w.started_at > (select f.before from history_floor f)),
     change as (
       select reseller_id, reference, w.id, recorded_at as at, c.id::text as change,
              case when recorded_at < coalesce(until, 'infinity') and kind <> 'price_changed' then 'implied' else 'allowed' end as role
         from started w join availability_change c on c.tracked_fare_id = w.tracked_fare_id and recorded_at > started_at
       union all select reseller_id, reference, id, started_at, 'watch_started', 'implied' from started
       union all select x.reseller_id, w.reference, w.id, x.recorded_at, coalesce(c.id::text, e.kind), 'recorded'
         from started w
         join watch_change x on x.watch_id = w.id
         left join availability_change c on c.id = x.change_id
         left join watch_event e on e.id = x.watch_event_id
        where c.recorded_at > w.started_at or e.kind = 'watch_started' and x.recorded_at >= w.began_at)
select 'watch' as feed, jsonb_build_object('reseller', reseller_id::text, 'reference', reference, 'watchId', id) as subject,
       null::bigint as run_id, at, role, to_jsonb(change) as change
  from change;

-- A feed lacks a change that the histories imply, has one twice, or has one that they do not imply.
create temporary view feed_change as
select min(at) as at, run_id, jsonb_build_object('feed', feed) || subject as subject, 'change' as field,
       case when bool_or(role <> 'recorded') then change end as expected, case when bool_or(role = 'recorded') then change end as stored
  from (select * from proof_route_change union all select * from proof_fare_change
        union all select * from proof_watch_change) c
 group by feed, subject, run_id, change
having count(*) filter (where role = 'recorded')
       not between count(*) filter (where role = 'implied') and count(*) filter (where role <> 'recorded');

-- A record of a fare does not begin where the one before it ended. Records of one detection are alike, and a fare
-- that is watched again begins as unknown. An answer in between that agrees may have added a site, places and prices of
-- passengers: they lie deeper than the texts that are compared.
create function pg_temp.proof_texts(shown jsonb) returns jsonb language sql immutable
return jsonb_path_query_array(shown, 'strict $.**{1 to 3} ? (@.type() == "string")');
create temporary view feed_chain as
select recorded_at as at, null::bigint as run_id, 'before' as field, expected, before as stored,
       jsonb_build_object('feed', 'availability', 'fareId', tracked_fare_id::text, 'seq', seq::text) as subject
  from (select *, lag(after) over w as expected, lag(kind) over w as kind_before,
               (before, after, detected_at) = lag((before, after, detected_at)) over w as is_same,
               schema_version = lag(schema_version) over w as is_comparable
          from proof_fare_record window w as (partition by tracked_fare_id order by seq)) c
 where pg_temp.proof_texts(before) <> pg_temp.proof_texts(expected) and is_comparable and not is_same
   and not (kind_before = 'expired' and before #>> '{outbound,belief}' = 'unknown');

-- A record contradicts itself or what it names: its kind is not what before and after show, a loss or an end has no
-- reason, its evidence is gone too soon, its times are not in order or not those of lists, or a reseller received a
-- record of another fare or under another reference. The clock of a server may be set back by a minute.
create temporary view feed_record as
select at, run_id, jsonb_build_object('feed', feed, 'seq', seq::text) as subject, field, null::jsonb as expected, stored
  from (select 'availability', seq, recorded_at, null::bigint, d.*
          from proof_fare_record
         cross join lateral (select before ->> 'pair' = 'bookable' as was, after ->> 'pair' = 'bookable' as "is") b
         cross join lateral (values
                 ('kind', to_jsonb(kind), case kind
                    when 'first_seen' then before ->> 'pair' <> 'unknown' or after ->> 'pair' = 'unknown'
                    when 'became_available' then was or not "is"
                    when 'became_unavailable' then "is" or not was
                    when 'price_changed' then before -> 'price' = after -> 'price'
                    when 'legs_changed' then (belief_before -> 0, belief_before -> 1) = (belief_after -> 0, belief_after -> 1) end),
                 ('reason', to_jsonb(reason), schema_version >= 3
                  and (reason is not null) <> (kind in ('became_unavailable', 'expired'))),
                 ('detectedAt', to_jsonb(detected_at), detected_at < last_good_check_at
                                                    or detected_at > recorded_at + interval '1 minute'),
                 ('evidence', to_jsonb(evidence_hash), recorded_at > clock_timestamp() - interval '89 days'
                                                   and evidence_hash not in (select hash from evidence))) d
        union all select 'route', c.seq, c.recorded_at, r.run_id, t.field, to_jsonb(t.instant),
               c.last_seen_at >= c.first_missed_at or (r.list, t.instant) not in (
                 select s.list, date_trunc('milliseconds', coalesce(s.arrived_at, s.fetched_at)) from sync_run s
                  where coalesce(s.arrived_at, s.fetched_at) is not null)
          from route_change c
          join proof_run r on r.run_id = c.sync_run_id and r.at > (select f.before from history_floor f)
         cross join lateral (values ('lastSeenAt', c.last_seen_at), ('firstMissedAt', c.first_missed_at)) t (field, instant)
         where t.instant is not null
        union all select 'watch', x.seq, x.recorded_at, null, d.*
          from watch_change x
          join watch w on w.id = x.watch_id and w.started_at > (select f.before from history_floor f)
          left join availability_change c on c.id = x.change_id
          left join watch_event e on e.id = x.watch_event_id
         cross join lateral (select coalesce(c.tracked_fare_id, e.tracked_fare_id) as id) f
         cross join lateral (values ('reference', to_jsonb(x.reference), x.reference <> w.reference),
                ('fare', to_jsonb(f.id), x.recorded_at >= w.began_at and f.id <> w.tracked_fare_id)) d)
       d (feed, seq, at, run_id, field, stored, is_wrong)
 where is_wrong;
