-- older code: may run
-- The public SQL on fares.

create view farewatch.availability_current as
select f.id as tracked_fare_id, f.flight_id, f.return_flight_id,
       f.residents_adults, f.residents_children, f.residents_infants,
       f.non_residents_adults, f.non_residents_children, f.non_residents_infants,
       s.outbound, s.return, s.pair, s.price, s.currency, s.last_good_check_at,
       clock_timestamp() - s.last_good_check_at as age,
       s.expired_at is null
         and (s.last_good_check_at is null
              or clock_timestamp() - s.last_good_check_at > greatest(
                   interval '1 hour',
                   6 * greatest(make_interval(secs => coalesce(f.min_interval_seconds, 0)), c.turn))) as stale,
       s.last_check_at, s.last_reason, s.ever_available_at, s.expired_at, f.ended_at, f.created_at
  from tracked_fare f
  join fare_state s on s.tracked_fare_id = f.id
 cross join recheck_clock c;
comment on view farewatch.availability_current is 'One row a tracked fare that was checked: what is believed of it.';
comment on column farewatch.availability_current.tracked_fare_id is 'The question: equal questions of all watch lists are one fare.';
comment on column farewatch.availability_current.flight_id is 'The outbound flight, as the upstream names it.';
comment on column farewatch.availability_current.return_flight_id is 'The return flight; null for a one-way question.';
comment on column farewatch.availability_current.residents_adults is 'Resident adults of the passenger mix.';
comment on column farewatch.availability_current.residents_children is 'Resident children.';
comment on column farewatch.availability_current.residents_infants is 'Resident infants.';
comment on column farewatch.availability_current.non_residents_adults is 'Non-resident adults.';
comment on column farewatch.availability_current.non_residents_children is 'Non-resident children.';
comment on column farewatch.availability_current.non_residents_infants is 'Non-resident infants.';
comment on column farewatch.availability_current.outbound is 'Belief of the outbound leg: available, unavailable or unknown.';
comment on column farewatch.availability_current.return is 'Belief of the return leg; null for a one-way question.';
comment on column farewatch.availability_current.pair is 'bookable (all legs available), not_bookable (any leg unavailable), unknown (else).';
comment on column farewatch.availability_current.price is 'Sum of the legs'' totals for the passenger mix; null unless in one currency.';
comment on column farewatch.availability_current.currency is 'Currency of the price.';
comment on column farewatch.availability_current.last_good_check_at is 'When the last check began that told the state of every leg.';
comment on column farewatch.availability_current.age is 'Time since then.';
comment on column farewatch.availability_current.stale is 'Whether the belief is too old to be shown as known: no good check for an hour, or for six of its expected intervals.';
comment on column farewatch.availability_current.last_check_at is 'When the last check was recorded, whatever it told.';
comment on column farewatch.availability_current.last_reason is 'Why the last check told nothing of a leg; null where it did.';
comment on column farewatch.availability_current.ever_available_at is 'When it was first seen available.';
comment on column farewatch.availability_current.expired_at is 'When it ended: departed, or never available for 30 days.';
comment on column farewatch.availability_current.ended_at is 'When its last watch ended; checks stop, history stays.';
comment on column farewatch.availability_current.created_at is 'When it was first watched.';

create view farewatch.availability_history as
select tracked_fare_id, outbound, return, pair, price, currency, valid_from, valid_to
  from fare_belief_version;
comment on view farewatch.availability_history is 'Intervals of belief of every tracked fare, [valid_from, valid_to). A check that finds nothing new adds no row.';
comment on column farewatch.availability_history.tracked_fare_id is 'The tracked fare.';
comment on column farewatch.availability_history.outbound is 'Belief of the outbound leg.';
comment on column farewatch.availability_history.return is 'Belief of the return leg; null for a one-way question.';
comment on column farewatch.availability_history.pair is 'State of the pair.';
comment on column farewatch.availability_history.price is 'Price of the pair.';
comment on column farewatch.availability_history.currency is 'Its currency.';
comment on column farewatch.availability_history.valid_from is 'When the check began by which it was believed.';
comment on column farewatch.availability_history.valid_to is 'When the check began by which something else was; null while it holds.';

create view farewatch.availability_changes as
select seq, id, kind, tracked_fare_id, before, after, last_good_check_at, detected_at, recorded_at, schema_version
  from availability_change;
comment on view farewatch.availability_changes is 'Every confirmed change of a tracked fare, once, in the order of seq.';
comment on column farewatch.availability_changes.seq is 'Dense number, in commit order: nothing appears later under a smaller one.';
comment on column farewatch.availability_changes.id is 'Stable identity of the record.';
comment on column farewatch.availability_changes.kind is 'became_available, became_unavailable, legs_changed, price_changed, itinerary_changed, identity_changed or expired.';
comment on column farewatch.availability_changes.tracked_fare_id is 'The tracked fare.';
comment on column farewatch.availability_changes.before is 'What was believed: pair, legs with their flights, price.';
comment on column farewatch.availability_changes.after is 'What is believed since.';
comment on column farewatch.availability_changes.last_good_check_at is 'When the last good check before it began: it happened after.';
comment on column farewatch.availability_changes.detected_at is 'When the first check began that showed it: it happened by then.';
comment on column farewatch.availability_changes.recorded_at is 'When it was confirmed and written.';
comment on column farewatch.availability_changes.schema_version is 'Version of the shape of before and after.';

create view farewatch.availability_survival as
select v.tracked_fare_id, v.valid_from as available_from, v.valid_to as available_to,
       v.valid_to is null as censored,
       coalesce(v.valid_to, clock_timestamp()) - v.valid_from as lasted
  from (select tracked_fare_id, min(valid_from) as valid_from,
               case when bool_or(valid_to is null) then null else max(valid_to) end as valid_to
          from (select *, sum(starts) over (partition by tracked_fare_id order by valid_from) as spell
                  from (select tracked_fare_id, pair, valid_from, valid_to,
                               (lag(pair) over (partition by tracked_fare_id order by valid_from)
                                is distinct from pair)::int as starts
                          from fare_belief_version) b) s
         where pair = 'bookable'
         group by tracked_fare_id, spell) v;
comment on view farewatch.availability_survival is 'Spells of bookability: how long a fare could be bought, one row a spell.';
comment on column farewatch.availability_survival.tracked_fare_id is 'The tracked fare.';
comment on column farewatch.availability_survival.available_from is 'When it was first believed bookable in this spell.';
comment on column farewatch.availability_survival.available_to is 'When it was no longer; null while it is.';
comment on column farewatch.availability_survival.censored is 'Whether the spell goes on: its end is not known yet.';
comment on column farewatch.availability_survival.lasted is 'Its length so far.';

grant select on farewatch.availability_current, farewatch.availability_history, farewatch.availability_changes,
                farewatch.availability_survival
   to farewatch_analyst;
