-- older code: must stop
-- The job schedulers of the queue say when periodic work is due.
-- What was missed is made up from the runs, so no due time is carried over.

drop table tick;
drop table schedule;
