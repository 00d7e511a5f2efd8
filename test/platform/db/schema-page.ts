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

/** A statement whose table is a value: its file writes the tables that it names. */
const WRITES_A_VALUE = /\b(?:insert into|update|delete from)\s+\$\{sql\.table\(/

/** The folders of src that write each table, by the statements in them. */
function readWriters(names: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const files = readdirSync(SOURCES, { recursive: true, encoding: 'utf8' })
  const writers = files
    .filter((name) => name.endsWith('.ts'))
    .toSorted()
    .flatMap((name) => {
      const text = readFileSync(path.join(SOURCES, name), 'utf8')
      const written = [...text.matchAll(WRITES)].map(([, table = '']) => table)
      const named = WRITES_A_VALUE.test(text) ? names.filter((table) => isNamed(text, table)) : []
      return [...written, ...named].map((table) => [table, path.dirname(name)] as const)
    })
  const folders = Map.groupBy(writers, ([table]) => table)
  return new Map(
    [...folders].map(([table, found]) => [table, [...new Set(found.map(([, folder]) => folder))]]),
  )
}

/** Whether a text names a table as the member `table`, in the list `tables`, or as the key of an object. */
function isNamed(text: string, table: string): boolean {
  return new RegExp(`(table: |tables = \\[[^\\]]*)'${table}'|^ +${table}: \\{`, 'm').test(text)
}

function tableSection(table: PrivateTable, folders: readonly string[]): string {
  const writers = folders.map((folder) => `\`${folder}/\``).join(', ')
  const { keys, values, checks } = readConstraints(table.constraints)
  return [
    `## ${table.name}`,
    '',
    `${table.description ?? ''} Written by ${writers === '' ? 'migrations alone' : writers}.`.trim(),
    '',
    ...(isPublic(table) ? [] : columnLines(table.columns, values)),
    ...(keys.length === 0 ? [] : ['', `${keys.join('; ')}.`]),
    ...(checks.length === 0 ? [] : ['', `Checks: ${checks.join('; ')}.`]),
  ].join('\n')
}

function columnLines(
  columns: PrivateTable['columns'],
  values: ReadonlyMap<string, string>,
): string[] {
  return bulletLines(
    columns.map(({ name, type, isNullable, value, description }) => {
      const initial = value === null ? '' : ` = ${shortSql(value)}`
      const texts = [description, values.get(name)].filter((text) => text != null)
      return {
        head: `\`${name}\` ${shortSql(type)}${isNullable ? '?' : ''}${initial}`,
        text: texts.join(' '),
      }
    }),
  )
}

/** Whether the dictionary explains the columns, because the public view has the same ones. */
function isPublic({ description }: PrivateTable): boolean {
  return description?.includes('Behind the public view of the same name') === true
}

/** One line a column that has a text; columns between them share a line. */
export function bulletLines(columns: readonly { head: string; text: string }[]): string[] {
  return columns
    .reduce<{ head: string; text: string }[]>((lines, column) => {
      const last = lines.at(-1)
      if (last?.text === '' && column.text === '') last.head += `, ${column.head}`
      else lines.push({ ...column })
      return lines
    }, [])
    .map(({ head, text }) => (text === '' ? `- ${head}` : `- ${head}: ${text}`))
}

/** The constraints of a table: its keys, the sets of values of its columns, and other checks. */
function readConstraints(constraints: readonly string[]) {
  const keys: string[] = []
  const values = new Map<string, string>()
  const checks: string[] = []
  for (const constraint of constraints) {
    const text = shortSql(constraint)
    const key = /^(PRIMARY KEY|UNIQUE[A-Z ]*) \((.*)\)$/.exec(text)
    const reference = /^FOREIGN KEY \((.*)\) REFERENCES (\w+)\(\w+\)(.*)$/.exec(text)
    const set = /^CHECK \(\("?(\w+)"? = ANY \(ARRAY\[(.*)\]\)\)\)$/.exec(text)
    if (key) keys.push(`${key[1] === 'PRIMARY KEY' ? 'Key' : 'unique'} \`${key[2]}\``)
    else if (reference) {
      const [, columns, table, action = ''] = reference
      keys.push(`\`${columns}\` → \`${table}\`${action.toLowerCase()}`)
    } else if (set) values.set(set[1] ?? '', `One of ${set[2]?.replaceAll("'", '')}.`)
    else checks.push(`\`${text.replace(/^CHECK \(\(?(.*?)\)?\)$/, '$1')}\``)
  }
  return { keys, values, checks }
}

/** PostgreSQL's text of a type, default or constraint without casts, in the short names of types. */
export function shortSql(text: string): string {
  return text
    .replaceAll(/::(timestamp with time zone|double precision|\w+)(\[\])?/g, '')
    .replaceAll('timestamp with time zone', 'timestamptz')
    .replaceAll('timestamp without time zone', 'timestamp')
    .replaceAll('double precision', 'float8')
    .replaceAll(/\s+/g, ' ')
}

/** The page docs/reference/schema.md. */
export function schemaPage(tables: readonly PrivateTable[]): string {
  const writers = readWriters(tables.map(({ name }) => name))
  const head =
    'Every table of schema `farewatch_private`, from the comments in the database, with the folders of `src/` that write it.\n' +
    '`?` marks a column that may be null, `=` its default, `→` a reference. Columns without a comment share a line. Callers and\n' +
    'analysts read the views of [dictionary.md](dictionary.md), which explain columns of the same names.'
  const sections = tables.map((table) => tableSection(table, writers.get(table.name) ?? []))
  return `# Tables\n\n${head}\n\n${sections.join('\n\n')}\n`
}
