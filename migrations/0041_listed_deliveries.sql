-- older code: may run
-- The list of deliveries reads each state of an endpoint, newest first, by one index. It also counts the dead ones.

create index delivery_listed on delivery (endpoint_id, state, id);
drop index delivery_dead;
