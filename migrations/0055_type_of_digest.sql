-- older code: must stop
-- A digest of an endpoint says its type.

update webhook_endpoint
   set digest = case when digest ? 'every' then digest || '{"type": "interval"}'
                     else jsonb_build_object('type', 'daily', 'hour', digest -> 'dailyAt', 'zone', digest -> 'zone') end
 where digest is not null;
