-- older code: may run
-- An index is replaced.

-- Claims read the due fares of a payer in exactly the order of this index. Without the fare's number a sort was left, and right
-- after an import, when all due times are equal, the planner sorted the whole queue for each claim.
drop index fare_schedule_vdue;
create index fare_schedule_vdue on fare_schedule (payer, vdue, tracked_fare_id);
