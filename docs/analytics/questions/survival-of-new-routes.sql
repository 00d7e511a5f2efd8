-- How long new routes survive
--
-- The Kaplan-Meier estimate for routes that began after the baseline: the share that is still flown after so many weeks. A
-- route that is still flown counts in every week that it has reached, and then leaves the count without an end. Only the
-- first interval of a route counts: a return is not new, nor is a route whose airport has another id.
with lives as (
       select floor(extract(epoch from coalesce(valid_to, now()) - valid_from) / 604800) as weeks, valid_to is not null as ended
         from (select *, row_number() over (partition by departure_id, destination_id order by valid_from) as interval_number
                 from farewatch.durable_route_history) h
        where interval_number = 1 and valid_from > (select min(valid_at) from farewatch.sync_runs where list = 'routes' and baseline)),
     by_week as (
       select weeks, count(*) filter (where ended) as ended,
              sum(count(*)) over (order by weeks desc) as at_risk
         from lives group by weeks)
select weeks, at_risk, ended,
       round(100 * case when bool_or(ended = at_risk) over until_now then 0
                        else exp(sum(ln(1 - ended / nullif(at_risk, ended))) over until_now) end, 1) as percent_alive
  from by_week
window until_now as (order by weeks)
 order by weeks;
