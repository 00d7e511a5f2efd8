import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { type Db, PRIVATE_SCHEMA, sql } from '../../../src/platform/db/database.ts'

const SOURCES = path.resolve(import.meta.dirname, '../../../src')

interface PrivateTable {
  readonly name: string
  readonly description: string | null
  readonly columns: readonly {
    readonly name: string
    readonly type: string
    readonly isNullable: boolean
    /** The default, or how the value is generated. */
    readonly value: string | null
    readonly description: string | null
  }[]
  /** Keys, references and checks, as PostgreSQL writes them. */
  readonly constraints: readonly string[]
}

/** The private tables, with the comments of the migrated database. */
export async function readPrivateTables(db: Db): Promise<PrivateTable[]> {
  const { rows } = await sql<PrivateTable>`
    select c.relname as name, obj_description(c.oid) as description, a.columns, coalesce(k.constraints, '[]') as constraints
      from pg_class c
     cross join lateral (
       select jsonb_agg(jsonb_build_object(
                'name', a.attname, 'type', format_type(a.atttypid, a.atttypmod), 'isNullable', not a.attnotnull,
                'value', case when a.attidentity <> '' then 'identity' else pg_get_expr(d.adbin, d.adrelid) end,
                'description', col_description(c.oid, a.attnum)) order by a.attnum) as columns
         from pg_attribute a
         left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
        where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped) a
     cross join lateral (
       select jsonb_agg(pg_get_constraintdef(k.oid) order by array_position(array['p', 'u', 'f', 'c'], k.contype::text), k.conname)
                as constraints
         from pg_constraint k
        where k.conrelid = c.oid and k.contype in ('p', 'u', 'f', 'c')) k
     where c.relnamespace = ${PRIVATE_SCHEMA}::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
       and c.relname not like 'kysely%'
     order by c.relname
  `.execute(db)
  return rows
}

const WRITES =
  /\b(?:insert into|update|delete from|insertInto\('|updateTable\('|deleteFrom\('|truncate)\s*(\w+)/g

/** The folders of src that write each table, by the statements in them. */
function readWriters(): ReadonlyMap<string, readonly string[]> {
  const files = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' })
  const writers = files
    .filter((name) => name.endsWith('.ts'))
    .toSorted()
    .flatMap((name) => {
      const text = readFileSync(path.join(SOURCES, name), 'utf8')
      return [...text.matchAll(WRITES)].map(
        ([, table = '']) => [table, path.dirname(name)] as const,
      )
    })
  const folders = Map.groupBy(writers, ([table]) => table)
  return new Map(
    [...folders].map(([table, found]) => [table, [...new Set(found.map(([, folder]) => folder))]]),
  )
}

function tableSection(table: PrivateTable, folders: readonly string[]): string {
  const writers = folders.map((folder) => `\`${folder}/\``).join(', ')
  const rows = table.columns.map(({ name, type, isNullable, value, description }) => {
    const parts = [
      type,
      ...(isNullable ? ['or null'] : []),
      ...(value === null ? [] : [`= ${value}`]),
    ]
    return `| \`${name}\` | ${escaped(parts.join(' '))} | ${escaped(description ?? '')} |`
  })
  return [
    `## ${table.name}`,
    '',
    `${table.description ?? ''}`.trim(),
    '',
    `Written by ${writers === '' ? 'migrations alone' : writers}.`,
    '',
    '| column | type | what |',
    '|---|---|---|',
    ...rows,
    '',
    ...table.constraints.map((constraint) => `- \`${constraint}\``),
  ].join('\n')
}

function escaped(text: string): string {
  return text.replaceAll('|', '\\|')
}

/** The page docs/reference/schema.md. */
export function schemaPage(tables: readonly PrivateTable[]): string {
  const writers = readWriters()
  const head =
    'Every table of schema `farewatch_private`, from the comments in the database, with the folders of `src/` that write it.\n' +
    '`npm run db:dictionary` writes this page; a test compares it with the migrations. Callers and analysts read the views of\n' +
    '[dictionary.md](dictionary.md).'
  const sections = tables.map((table) => tableSection(table, writers.get(table.name) ?? []))
  return `# Tables\n\n${head}\n\n${sections.join('\n\n')}\n`
}
