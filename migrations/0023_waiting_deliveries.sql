-- older code: may run
-- The list of endpoints finds the oldest waiting delivery and the last tried ones of each by an index.
-- Before, it read and sorted all that wait: 200 ms for 200,000.

-- Serves the count of what waits for an endpoint, and the oldest of it.
create index delivery_waiting on delivery (endpoint_id, recorded_at) where state = 'pending';
drop index delivery_tried;
-- Serves the end of deliveries that were tried for too long, and the last failure of an endpoint.
create index delivery_tried on delivery (endpoint_id, first_attempt_at) where state = 'pending' and first_attempt_at is not null;
