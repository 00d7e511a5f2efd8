-- older code: may run
-- Fares that are not answered are found by their reason, each time that one of them is answered again.

create index fare_state_unanswered on fare_state (last_reason) where hidden = 'unanswered';
