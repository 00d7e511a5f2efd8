-- older code: may run
-- Retry-After holds an endpoint as a whole, and deliveries that are sent again yield to new ones.

alter table webhook_endpoint add column held_until timestamptz;
comment on column webhook_endpoint.held_until is 'Until then no attempt is made, because the receiver answered Retry-After. Null or past: it is not held.';

alter table delivery add column replayed boolean not null default false;
comment on column delivery.replayed is 'Whether it was sent again by request. Then it does not count as late.';

-- Serves the claim of due deliveries, endpoint by endpoint, new ones first.
drop index delivery_due;
create index delivery_due on delivery (endpoint_id, replayed, due_at) where state = 'pending';
