import { type RawBuilder, sql } from '../../platform/db/database.ts'
import { FLOOR, ROUTE_CHANGE, RUNS } from './route-change-differences.ts'

/** The feeds with their bounds, and the numbers that each has. `reseller` is 0 for those that resellers share. */
const NUMBERS = sql`
  head as (
    select feed, 0::bigint as reseller, first_seq, last_seq from feed_head
    union all
    select 'watch', id, first_seq, last_seq from reseller),
  number as (
    select 'route' as feed, 0::bigint as reseller, seq from route_change
    union all
    select 'availability', 0, seq from availability_change
    union all
    select 'watch', reseller_id, seq from watch_change)`

/** Numbers that a feed lacks between its first and its last one, and numbers after the last one or in a gap between generations. */
const NUMBER = sql`
  with ${NUMBERS},
       gap as (select feed, coalesce(reseller_id, 0) as reseller, after_seq, next_seq from feed_gap),
       dense as (
         select feed, reseller, lag(next_seq, 1, 1::bigint) over (partition by feed, reseller order by next_seq) as low, after_seq as high from gap
         union all
         select h.feed, h.reseller, coalesce(max(g.next_seq), 1), h.last_seq
           from head h left join gap g using (feed, reseller) group by h.feed, h.reseller, h.last_seq),
       wanted as (
         select h.feed, h.reseller, n as seq
           from head h join dense d using (feed, reseller)
          cross join lateral generate_series(greatest(h.first_seq, d.low), least(h.last_seq, d.high)) n),
       found as (select n.* from number n join head h using (feed, reseller) where n.seq >= h.first_seq)
  select null::timestamptz as at, null::bigint as run_id,
         jsonb_strip_nulls(jsonb_build_object('feed', feed, 'reseller', nullif(reseller, 0)::text, 'seq', seq::text)) as subject,
         'seq' as field, case when w.seq is not null then to_jsonb(seq) end as replayed,
         case when f.seq is not null then to_jsonb(seq) end as stored
    from wanted w full join found f using (feed, reseller, seq)
   where w.seq is null or f.seq is null`

/** A belief as its history shows it. The ended one is that of a fare that cannot be bought any more. */
const shown = (view: string) =>
  sql.raw(`
  jsonb_build_array(${view} #>> '{outbound,belief}', ${view} #>> '{return,belief}', ${view} ->> 'pair',
                    trim_scale((${view} #>> '{price,amount}')::numeric), ${view} #>> '{price,currency}')`)
const IS_PLAIN = sql`
  before <> after and (before ->> 0 = 'unknown' and coalesce(before ->> 1, 'unknown') = 'unknown' and after ->> 2 = 'not_bookable') is not true`

/**
 * Changes of a fare that its beliefs do not imply, and implied ones that are missing: each step from one belief to
 * the next, and each end. A fare that begins as not bookable is left out: version 1.0 could begin an interval like
 * this without a record. A fare that changed within two hours of the floor is left out: an answer counts from its
 * request, and a record from its writing.
 */
const AVAILABILITY_CHANGE = sql`
  with version as (
         select tracked_fare_id as fare, valid_from, valid_to,
                jsonb_build_array(outbound, "return", pair, trim_scale(price), currency) as view,
                jsonb_build_array('unavailable', case when "return" is not null then 'unavailable' end, 'not_bookable', null, null) as ended,
                jsonb_build_array('unknown', case when "return" is not null then 'unknown' end, 'unknown', null, null) as unknown,
                lead(valid_from) over (partition by tracked_fare_id order by valid_from) as next_from
           from fare_belief_version),
       belief as (
         select v.*, v.valid_to is not null
                     and (v.next_from is distinct from v.valid_to
                          or exists (select from availability_change c
                                      where c.tracked_fare_id = v.fare and c.kind = 'expired'
                                        and v.valid_to between c.detected_at and c.recorded_at)) as is_over
           from version v),
       step as (
         select fare, valid_from as at, case when lag(is_over) over w is false then lag(view) over w else unknown end as before, view as after
           from belief
         window w as (partition by fare order by valid_from)
         union all
         select fare, valid_to, view, ended from belief where is_over),
       record as (
         select distinct tracked_fare_id as fare, recorded_at as at, ${shown('before')} as before, ${shown('after')} as after,
                detected_at
           from availability_change c join feed_head h on h.feed = 'availability' and c.seq >= h.first_seq),
       counted as (
         select fare, before, after, max(at) as at, count(*) filter (where implied) as implied, count(*) filter (where not implied) as records
           from (select true as implied, fare, at, before, after from step where at > ${FLOOR}
                 union all
                 select false, fare, min(at), before, after from record where at > ${FLOOR} group by fare, before, after, detected_at) steps
          where ${IS_PLAIN}
            and fare not in (select fare from step where at between ${FLOOR} - interval '2 hours' and ${FLOOR}
                             union all
                             select fare from record where at between ${FLOOR} and ${FLOOR} + interval '2 hours')
          group by fare, before, after)
  select at, null::bigint as run_id, jsonb_build_object('feed', 'availability', 'fareId', fare::text) as subject, 'change' as field,
         jsonb_build_object('before', before, 'after', after, 'times', implied) as replayed, to_jsonb(records) as stored
    from counted
   where implied <> records`

/** Records of a fare that do not begin where its last record ended. A fare that is watched again begins as unknown. */
const AVAILABILITY_CHAIN = sql`
  with record as (
         select seq, tracked_fare_id, kind, recorded_at, before, after, schema_version,
                dense_rank() over (partition by tracked_fare_id order by detected_at, before, after) as step
           from availability_change c join feed_head h on h.feed = 'availability' and c.seq >= h.first_seq),
       chain as (
         select *, lag(after) over w as last, lag(schema_version) over w as version, lag(kind) over w as last_kind,
                lag(step) over w = step as is_same
           from record window w as (partition by tracked_fare_id order by seq))
  select recorded_at as at, null::bigint as run_id,
         jsonb_build_object('feed', 'availability', 'fareId', tracked_fare_id::text, 'seq', seq::text) as subject, 'before' as field,
         last as replayed, before as stored
    from chain
   where version = schema_version and not is_same and before <> last
     and not (last_kind = 'expired' and before #>> '{outbound,belief}' = 'unknown')`

/**
 * Changes that a watch of their fare did not receive exactly once, although it had started and went on; starts of
 * watches without a record; and records of another fare than that of their watch. Whether a price passed a
 * threshold is not proved.
 */
const WATCH_CHANGE = sql`
  with started as (
         select w.id, w.reseller_id, w.reference, w.tracked_fare_id, w.began_at, w.started_at,
                least(w.ended_at, w.paused_at, r.disabled_at) as until
           from watch w join reseller r on r.id = w.reseller_id where w.started_at > ${FLOOR}),
       wrong as (
         select c.recorded_at as at, w.reseller_id, w.reference, c.kind as field, 1 as replayed, count(x.seq) as stored
           from started w
           join availability_change c on c.tracked_fare_id = w.tracked_fare_id and c.recorded_at > w.started_at
           left join watch_change x on x.change_id = c.id and x.watch_id = w.id
          where coalesce(c.recorded_at < w.until, true) and c.kind <> 'price_changed' or x.seq is not null
          group by c.seq, w.id, w.reseller_id, w.reference
         having count(x.seq) <> 1
         union all
         select w.started_at, w.reseller_id, w.reference, 'watch_started', 1, count(e.id)
           from started w
           left join watch_change x on x.watch_id = w.id and x.recorded_at >= w.began_at
           left join watch_event e on e.id = x.watch_event_id and e.kind = 'watch_started'
          group by w.id, w.reseller_id, w.reference, w.started_at
         having count(e.id) <> 1
         union all
         select x.recorded_at, x.reseller_id, x.reference, 'reference', null, null
           from watch_change x join started w on w.id = x.watch_id and x.reference <> w.reference
         union all
         select x.recorded_at, x.reseller_id, x.reference, 'fare', w.tracked_fare_id, coalesce(c.tracked_fare_id, e.tracked_fare_id)
           from watch_change x
           join started w on w.id = x.watch_id and x.recorded_at >= w.began_at
           left join availability_change c on c.id = x.change_id
           left join watch_event e on e.id = x.watch_event_id
          where coalesce(c.tracked_fare_id, e.tracked_fare_id) <> w.tracked_fare_id)
  select at, null::bigint as run_id, jsonb_build_object('feed', 'watch', 'reseller', reseller_id::text, 'reference', reference) as subject,
         field, to_jsonb(replayed) as replayed, to_jsonb(stored) as stored
    from wrong`

/** The open beliefs that are not those of the states, missing ones, and beliefs of a fare that overlap. */
const BELIEF = sql`
  with stored as (
         select tracked_fare_id as fare, valid_from, valid_to, jsonb_build_array(outbound, "return", pair, trim_scale(price), currency) as view,
                lead(valid_from) over (partition by tracked_fare_id order by valid_from) as next_from
           from fare_belief_version),
       state as (
         select tracked_fare_id as fare, jsonb_build_array(outbound, "return", pair, trim_scale(price), currency) as view
           from fare_state where expired_at is null and (outbound <> 'unknown' or "return" <> 'unknown'))
  select null::timestamptz as at, null::bigint as run_id, jsonb_build_object('fareId', fare::text) as subject, 'belief' as field,
         s.view as replayed, v.view as stored
    from state s full join (select * from stored where valid_to is null) v using (fare)
   where s.view is distinct from v.view
  union all
  select next_from, null, jsonb_build_object('fareId', fare::text), 'intervals', to_jsonb(valid_to), to_jsonb(next_from)
    from stored where next_from < coalesce(valid_to, 'infinity')`

/**
 * Records that contradict themselves: times not in order or not those of a list, a kind that before and after do not
 * show, a loss without a reason, evidence that is gone too soon. Clocks of a server may be set back by a minute.
 */
const RECORD = sql`
  with ${RUNS},
       change as (
         select *, before ->> 'pair' = 'bookable' as was, after ->> 'pair' = 'bookable' as "is"
           from availability_change c where seq >= (select first_seq from feed_head where feed = 'availability')),
       wrong as (
         select 'availability' as feed, seq, recorded_at, 'kind' as field, to_jsonb(kind) as stored from change
          where kind = 'first_seen' and (before ->> 'pair' <> 'unknown' or after ->> 'pair' = 'unknown')
             or kind = 'became_available' and (was or not "is") or kind = 'became_unavailable' and ("is" or not was)
             or kind = 'price_changed' and before -> 'price' = after -> 'price'
             or kind = 'legs_changed' and before #> '{outbound,belief}' = after #> '{outbound,belief}'
                and before #> '{return,belief}' is not distinct from after #> '{return,belief}'
         union all
         select 'availability', seq, recorded_at, 'reason', to_jsonb(reason) from change
          where schema_version >= 3 and (reason is not null) <> (kind in ('became_unavailable', 'expired'))
         union all
         select 'availability', seq, recorded_at, 'detectedAt', to_jsonb(detected_at) from change
          where detected_at < last_good_check_at or detected_at > recorded_at + interval '1 minute'
         union all
         select 'availability', seq, recorded_at, 'evidence', to_jsonb(evidence_hash) from change
          where recorded_at > clock_timestamp() - interval '89 days'
            and evidence_hash is not null and not exists (select from evidence e where e.hash = evidence_hash)
         union all
         select 'route', c.seq, c.recorded_at, t.field, to_jsonb(t.instant)
           from route_change c
           join run r on r.id = c.sync_run_id and r.at > ${FLOOR}
          cross join lateral (values ('lastSeenAt', c.last_seen_at), ('firstMissedAt', c.first_missed_at)) t (field, instant)
          where t.instant is not null and (c.last_seen_at >= c.first_missed_at or not exists (
                select from sync_run s
                 where s.list = r.list and date_trunc('milliseconds', coalesce(s.arrived_at, s.fetched_at)) = t.instant))
         union all
         select feed, seq, recorded_at, 'recordedAt', to_jsonb(recorded_at)
           from (select *, lag(recorded_at) over (partition by feed, reseller order by seq) as before_at
                   from (select 'route' as feed, 0::bigint as reseller, seq, recorded_at from route_change
                         union all select 'availability', 0, seq, recorded_at from availability_change
                         union all select 'watch', reseller_id, seq, recorded_at from watch_change) f) o
          where recorded_at < before_at - interval '1 minute')
  select recorded_at as at, null::bigint as run_id, jsonb_build_object('feed', feed, 'seq', seq::text) as subject, field,
         null::jsonb as replayed, stored
    from wrong`

/** The kinds of differences between the feeds and the histories, each with the query of its rows. */
export const FEED_DIFFERENCES: Readonly<Record<string, RawBuilder<unknown>>> = {
  feed_number: NUMBER,
  feed_route_change: ROUTE_CHANGE,
  feed_availability_change: AVAILABILITY_CHANGE,
  feed_availability_chain: AVAILABILITY_CHAIN,
  feed_watch_change: WATCH_CHANGE,
  feed_record: RECORD,
  history_belief: BELIEF,
}
