-- older code: must stop
-- What is periodic is due by the job schedulers of the queue. What was missed is made up from the runs, so no due time
-- is carried over.

drop table tick;
drop table schedule;
