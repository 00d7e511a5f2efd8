-- older code: may run
-- What became of held lists, told as it was.

-- A list that is held is no baseline: an empty first one was told as such.
update sync_run set baseline = false where baseline and status in ('held', 'dropped');

-- Lists that released themselves were told to have agreed with those of other reviews too.
update sync_run r
   set resolution = 'normal_list'
  from sync_run released
 where r.resolution = 'agreed' and released.id = r.resolved_by and released.review_id is distinct from r.review_id;

comment on column farewatch.sync_runs.resolution is 'What ended the review of a held run: approved or rejected by a person, normal_list (a list was applied that is not of its review), agreed (enough lists agreed with it), superseded (another held run was approved). Null while it is held.';
