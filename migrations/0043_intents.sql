-- older code: must stop
-- What a watch wants of a price. Older code would write a record of every change of it.

alter table watch
  add price_below_amount numeric check (price_below_amount > 0),
  add price_below_currency text,
  add paid_amount numeric check (paid_amount > 0),
  add paid_currency text,
  add price_drop_amount numeric check (price_drop_amount > 0),
  add price_drop_percent numeric check (price_drop_percent > 0),
  add new_low_days integer check (new_low_days between 2 and 365),
  add intents_notified text[] not null default '{}',
  add check ((price_below_amount is null) = (price_below_currency is null)),
  add check ((paid_amount is null) = (paid_currency is null)),
  add check (num_nonnulls(price_drop_amount, price_drop_percent) = num_nonnulls(paid_amount));
comment on column watch.price_below_amount is 'A price below it in its currency is notified, and again after the price was a hundredth above.';
comment on column watch.paid_amount is 'What was paid: a price lower by price_drop_amount or price_drop_percent is notified, and again after the price was a hundredth above that.';
comment on column watch.new_low_days is 'A price below all of so many days is notified, if the history of the fare covers them.';
comment on column watch.intents_notified is 'priceBelow and priceDrop, while what they ask for has been notified.';

alter table watch_change
  add intents text[] not null default '{}',
  add saving numeric,
  add notified_amount numeric,
  add notified_currency text;
comment on column watch_change.intents is 'What the watch wants of a price and the record shows: priceBelow, priceDrop, newLowDays.';
comment on column watch_change.saving is 'By how much the price is below what was paid, where the watch wants that.';
comment on column watch_change.notified_amount is 'Of a change of the price: the price of the watch''s record before it, from which the step is measured.';

alter table availability_change add context jsonb;
comment on column availability_change.context is 'How the price compares with those of the fare before, as price_context has it.';
alter table watch_event add context jsonb;
comment on column watch_event.context is 'How the price compares with those of the fare before, as price_context has it.';

create function price_context(fare bigint, amount numeric, currency text) returns jsonb
language sql stable as $$
  select case when count(*) > 0
              then jsonb_build_object('days', current_date - min(day) + 1, 'prices', count(*), 'lowest', bool_and(low >= amount),
                                      'percentile', case when count(*) >= 10
                                                         then floor(100.0 * count(*) filter (where low < amount) / count(*)) end) end
    from (select d.day::date as day, min(v.price) as low
            from fare_belief_version v
           cross join lateral generate_series(greatest(v.valid_from, now() - interval '365 days')::date,
                                              coalesce(v.valid_to, now())::date, interval '1 day') d (day)
           where v.tracked_fare_id = fare and v.price is not null and v.currency = price_context.currency
             and coalesce(v.valid_to > now() - interval '365 days', true)
           group by 1) daily
$$;
comment on function price_context is 'An amount among the lowest prices of each UTC day of the fare in this currency, of a year at most: days is how far back they go, prices how many days have one, lowest whether none was lower, percentile on how many percent of them the fare was cheaper, null below ten. Null without a price.';
