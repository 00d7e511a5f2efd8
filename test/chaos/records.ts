import { type Db, sql } from '../../src/platform/db/database.ts'

/**
 * Finds feeds with a gap, a duplicate or a wrong head; watches without exactly one start; and changes since that start
 * that a watch did not receive exactly once.
 */
export async function brokenFeeds(db: Db): Promise<unknown[]> {
  const { rows } = await sql`
    select 'feed' as what, feed as of, jsonb_build_array(head, records, last) as how from (
      select h.feed, h.last_seq as head, c.records, c.last
        from feed_head h
        join (select 'availability' as feed, count(*) as records, coalesce(max(seq), 0) as last from availability_change
              union all
              select 'route', count(*), coalesce(max(seq), 0) from route_change) c on c.feed = h.feed
      union all
      select r.name, r.last_seq, count(w.seq), coalesce(max(w.seq), 0)
        from reseller r left join watch_change w on w.reseller_id = r.id
       group by r.id) f
     where (records, last) is distinct from (head, head)
    union all
    select 'starts', w.reference, to_jsonb(count(e.id))
      from watch w
      left join (watch_change x join watch_event e on e.id = x.watch_event_id and e.kind = 'watch_started')
             on x.watch_id = w.id and x.recorded_at >= w.began_at
     where w.started_at is not null
     group by w.id
    having count(e.id) <> 1
    union all
    select 'changes', c.kind || ' of ' || c.tracked_fare_id, to_jsonb(count(x.seq))
      from availability_change c
      join watch w on w.tracked_fare_id = c.tracked_fare_id and w.started_at < c.recorded_at
      left join watch_change x on x.change_id = c.id and x.watch_id = w.id
     where c.kind <> 'price_changed'
     group by c.seq, w.id
    having count(x.seq) <> 1
  `.execute(db)
  return rows
}

/** Finds contradictions between the history and the current state. */
export async function brokenHistory(db: Db): Promise<unknown[]> {
  const found = [unlikeAsOfNow(db), unlikeRouteChanges(db), unlikeBeliefs(db), brokenChains(db)]
  return (await Promise.all(found)).flat()
}

/** Finds routes that routes_as_of(now) and routes_current show differently. */
async function unlikeAsOfNow(db: Db): Promise<unknown[]> {
  const { rows } = await sql`
    with now_true as (select departure_id, destination_id, valid_from, available from farewatch.routes_current),
         as_of as (select departure_id, destination_id, valid_from, available from farewatch.routes_as_of(clock_timestamp()))
    select 'as of now' as what, d.* from ((table now_true except table as_of) union all (table as_of except table now_true)) d
  `.execute(db)
  return rows
}

/** Finds routes whose intervals differ from the route changes. The baseline has no route changes. */
async function unlikeRouteChanges(db: Db): Promise<unknown[]> {
  const { rows } = await sql`
    with intervals as (
      select departure_id, destination_id, count(*) filter (where not r.baseline) as added,
             count(*) filter (where v.valid_to is not null) as removed
        from route_version v join sync_run r on r.id = v.added_by
       group by 1, 2
    ), reported as (
      select departure_id, destination_id, count(*) filter (where kind = 'route_added') as added,
             count(*) filter (where kind = 'route_removed') as removed
        from route_change where place_id is null
       group by 1, 2
    )
    select 'route changes' as what, departure_id, destination_id, to_jsonb(intervals) as intervals, to_jsonb(reported) as reported
      from intervals full join reported using (departure_id, destination_id)
     where (coalesce(intervals.added, 0), coalesce(intervals.removed, 0))
           is distinct from (coalesce(reported.added, 0), coalesce(reported.removed, 0))
  `.execute(db)
  return rows
}

/** Finds fares whose open interval or last change differs from their belief. */
async function unlikeBeliefs(db: Db): Promise<unknown[]> {
  const { rows } = await sql`
    select 'belief' as what, s.tracked_fare_id as of, s.pair, v.pair as interval, c.pair as change
      from fare_state s
      left join fare_belief_version v on v.tracked_fare_id = s.tracked_fare_id and v.valid_to is null
      left join lateral (
           select after ->> 'pair' as pair from availability_change
            where tracked_fare_id = s.tracked_fare_id order by seq desc limit 1) c on true
     where coalesce(v.pair, 'unknown') <> s.pair
        or (v.pair is not null and (v.outbound, v.return, v.price, v.currency)
                                   is distinct from (s.outbound, s.return, s.price, s.currency))
        or coalesce(c.pair, 'unknown') <> s.pair
  `.execute(db)
  return rows
}

/** Finds intervals and changes of a fare that do not begin where the previous one ended. */
async function brokenChains(db: Db): Promise<unknown[]> {
  const { rows } = await sql`
    select 'interval' as what, tracked_fare_id as of from (
      select tracked_fare_id, valid_from,
             lag(valid_to) over (partition by tracked_fare_id order by valid_from) as before from fare_belief_version) v
     where before <> valid_from
    union all
    select 'change', tracked_fare_id from (
      select tracked_fare_id, before ->> 'pair' as begins,
             lag(after ->> 'pair') over (partition by tracked_fare_id order by seq) as before
        from availability_change
       where kind in ('first_seen', 'became_available', 'became_unavailable', 'legs_changed')) c
     where before <> begins
  `.execute(db)
  return rows
}
