-- older code: may run
-- The deletion of resellers with all that is theirs, in batches.

alter table reseller add column deleted_at timestamptz;
comment on column reseller.deleted_at is 'When its deletion began: a worker deletes what it has in batches, and this row last.';
alter table reseller add constraint reseller_deleted_is_disabled check (deleted_at is null or disabled_at is not null);
