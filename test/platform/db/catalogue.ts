import { type Db, sql } from '../../../src/platform/db/database.ts'

/** What the database itself says of both schemas, one line for each thing. Positions of columns in private tables are left out. */
export async function catalogueOf(db: Db): Promise<string[]> {
  const { rows } = await sql<{ line: string }>`
    with schemas as (
      select oid, nspname, nspacl from pg_namespace where nspname in ('farewatch', 'farewatch_private')
    ), relation as (
      select c.* from pg_class c join schemas s on s.oid = c.relnamespace where c.relname !~ '^kysely_'
    ), routine as (
      select p.* from pg_proc p join schemas s on s.oid = p.pronamespace)
    select line
      from (select format('schema %s %s %s', nspname, nspacl, obj_description(oid)) from schemas
      union all
            select format('relation %s %s %s %s', oid::regclass, relkind, relpersistence, reloptions) from relation
      union all
            select format('rights %s %s', oid::regclass, (select string_agg(a::text, ' ' order by a::text) from unnest(relacl) a))
              from relation where relacl is not null
      union all
            select format('column %s.%s %s %s %s %s%s %s %s %s', a.attrelid::regclass, a.attname,
                          format_type(a.atttypid, a.atttypmod), a.attnotnull, pg_get_expr(d.adbin, d.adrelid), a.attidentity,
                          a.attgenerated, a.attcollation::regcollation, a.attstorage,
                          case r.relkind when 'v' then a.attnum end)
              from relation r
              join pg_attribute a on a.attrelid = r.oid and a.attnum > 0 and not a.attisdropped
              left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
             where r.relkind in ('r', 'v')
      union all
            select format('constraint %s %s %s %s', r.oid::regclass, c.conname, c.convalidated, pg_get_constraintdef(c.oid))
              from pg_constraint c join relation r on r.oid = c.conrelid
      union all
            select pg_get_indexdef(i.indexrelid) from pg_index i join relation r on r.oid = i.indexrelid
      union all
            select format('view %s %s', oid::regclass, pg_get_viewdef(oid)) from relation where relkind = 'v'
      union all
            select format('function %s %s %s %s', oid::regprocedure, proacl, pg_get_functiondef(oid), obj_description(oid))
              from routine
      union all
            select pg_get_statisticsobjdef(t.oid) from pg_statistic_ext t join schemas s on s.oid = t.stxnamespace
      union all
            select format('sequence %s %s %s %s', q.seqrelid::regclass, q.seqtypid::regtype, q.seqstart, q.seqincrement)
              from pg_sequence q join relation r on r.oid = q.seqrelid
      union all
            select format('comment %s %s %s', r.oid::regclass, a.attname, d.description)
              from pg_description d
              join relation r on r.oid = d.objoid
              left join pg_attribute a on a.attrelid = d.objoid and a.attnum = d.objsubid and d.objsubid > 0
             where d.classoid = 'pg_class'::regclass) l (line)
     order by line collate "C"
  `.execute(db)
  return rows.map(({ line }) => line)
}
