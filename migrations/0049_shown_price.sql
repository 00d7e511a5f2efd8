-- older code: may run
-- What is shown of a price is said once, for analysts and for resellers. `stable`, so that it becomes part of the query.
create function shown_price(s fare_state, fresh_for interval)
returns table (checked_at timestamptz, reason text, is_shown boolean)
language sql stable parallel safe
begin atomic
  select case when b.is_bookable and s.price_checked_at <= statement_timestamp() + interval '10 seconds' then s.price_checked_at end,
         case when b.is_bookable then coalesce(s.price_reason, case when not f.is_fresh then 'stale' end) end,
         b.is_bookable and f.is_fresh and s.price_reason is distinct from 'held'
    from (select coalesce(s.hidden is null and s.pair = 'bookable', false) as is_bookable) b
   cross join (select coalesce(statement_timestamp() - s.price_checked_at between interval '-10 seconds' and fresh_for, false) as is_fresh) f;
end;
comment on function shown_price is 'Of a fare whose beliefs are fresh for so long: when an answer showed its price, why none is shown or the last answers lacked it, and whether it is shown.';
