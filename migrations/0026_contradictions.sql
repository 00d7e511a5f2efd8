-- older code: must stop
-- Names of a stored state's fields that say what they hold: contradictions, contradictedSince, confirmedAt, candidate.

create function pg_temp.renamed_leg(leg jsonb) returns jsonb language sql immutable as $$
  select case when jsonb_typeof(leg) = 'object'
              then (leg - array['against', 'againstSince', 'agreedAt', 'strange'])
                   || jsonb_build_object('contradictions', leg -> 'against', 'contradictedSince', leg -> 'againstSince',
                                         'confirmedAt', leg -> 'agreedAt', 'candidate', leg -> 'strange')
              else leg end
$$;

update fare_state
   set state = state || jsonb_build_object('outbound', pg_temp.renamed_leg(state -> 'outbound'),
                                           'return', pg_temp.renamed_leg(state -> 'return'))
 where state <> '{}';

drop function pg_temp.renamed_leg(jsonb);

comment on column fare_state.state is 'The state as decide() takes and returns it: counts of contradictions, prices of the legs, identities. {} before the first check.';

comment on column farewatch.availability_current.last_good_check_at is 'When the last good check began: one that showed the state of every leg.';
comment on column farewatch.availability_current.last_check_at is 'When the last check was recorded, good or not.';
comment on column farewatch.availability_current.last_reason is 'Why the last check did not show the state of a leg; null where it did.';
comment on column farewatch.availability_current.ever_available_at is 'When the first check began that made it bookable.';
comment on column farewatch.availability_current.stale is 'Whether the belief is too old to be shown as known: no good check for an hour, or for six of its expected intervals.';
comment on column farewatch.availability_changes.last_good_check_at is 'When the last good check before it began: the change happened after.';
comment on column farewatch.availability_changes.detected_at is 'When the first check began that showed it: the change happened by then. Of expired: when the end was found, without a check.';
comment on column farewatch.availability_history.valid_from is 'When the check began that changed the belief.';
comment on column farewatch.availability_history.valid_to is 'When the check began that changed it again, or when the fare expired; null while the belief holds.';
comment on column farewatch.availability_survival.available_to is 'When the check began that made it not bookable; null where no check did.';
comment on column farewatch.availability_survival.censored is 'Whether no check saw its end: it goes on, or the fare expired while it was bookable (expired_at of availability_current).';
comment on column farewatch.availability_survival.lasted is 'How long it lasted. Where its end was not seen: until the last good check.';
