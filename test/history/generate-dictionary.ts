import { stringify } from 'yaml'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { type DataTest, dataTests, grainOf } from './data-tests.ts'

interface Column {
  readonly name: string
  readonly type: string
  readonly description: string
}

/** A table or view of the public SQL. */
export interface Table {
  readonly name: string
  readonly description: string
  /** Whether analysts may read it. */
  readonly isGranted: boolean
  readonly columns: readonly Column[]
}

/** The tables and views of the public SQL, with the comments of the migrated database. */
export async function readDictionary(db: Db): Promise<Table[]> {
  const { rows } = await sql<Table>`
    select c.relname as name, obj_description(c.oid) as description,
           has_table_privilege('farewatch_analyst', c.oid, 'select') as "isGranted",
           jsonb_agg(jsonb_build_object('name', a.attname, 'type', format_type(a.atttypid, a.atttypmod),
                                        'description', col_description(c.oid, a.attnum)) order by a.attnum) as columns
      from pg_class c
      join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
     where c.relnamespace = 'farewatch'::regnamespace
     group by c.oid, c.relname
     order by c.relname
  `.execute(db)
  return rows
}

/** The page docs/reference/dictionary.md. A column of several views with one meaning is explained once, first. */
export function dictionaryPage(tables: readonly Table[]): string {
  const meanings = Map.groupBy(
    tables.flatMap(({ columns }) => columns),
    (column) => JSON.stringify(column),
  )
  const isShared = (column: Column) => meanings.get(JSON.stringify(column))?.length !== 1
  const sections = tables.map((table) => {
    const { name, columns } = table
    const lines = joinLegs(columns).map((joined) =>
      joined.every(isShared) ? { head: namesOf(joined), text: '' } : described(joined),
    )
    return `## ${name}\n\n${grainOf(table).about}\n\n${bulletLines(lines).join('\n')}`
  })
  const head =
    'Every table and view of schema `farewatch`, from the comments in the database. [analysts.md](../analysts.md) explains the\n' +
    'times and how to begin. No two rows have the same key.'
  const columnsHead =
    'A text about the outbound flight holds for the return flight in columns `return_…`. A column without a text in its view is one of\n' +
    'these. A name has one type and one meaning in all views:'
  const shared = [...meanings.values()].flatMap(([first]) =>
    first && isShared(first) ? [first] : [],
  )
  const lines = bulletLines(joinLegs(shared).map(described))
  return `# Dictionary of the public SQL\n\n${head}\n\n${grains(tables)}\n\n${columnsHead}\n\n${lines.join('\n')}\n\n${sections.join('\n\n')}\n`
}

/** What one row of each view is. */
function grains(tables: readonly Table[]): string {
  const rows = tables.map((table) => {
    const { oneRow, key } = grainOf(table)
    const columns = key.map((column) => `\`${column}\``).join(', ')
    return `| [${table.name}](#${table.name}) | ${oneRow} | ${columns} |`
  })
  return ['| view | one row is | key |', '|---|---|---|', ...rows].join('\n')
}

/** Columns that mean the same of the outbound and of the return flight are together. */
function joinLegs(columns: readonly Column[]): Column[][] {
  const legs = Map.groupBy(columns, ({ type, description }) =>
    [type, description.replace('return flight', 'outbound flight')].join(' '),
  )
  return [...legs.values()]
}

function namesOf(columns: readonly Column[]): string {
  return columns.map(({ name }) => `\`${name}\``).join(', ')
}

/** Columns of one type and meaning, with the text of the first. */
function described(columns: readonly Column[]) {
  const [first] = columns
  return {
    head: `${namesOf(columns)} ${shortSql(first?.type ?? '')}`,
    text: first?.description ?? '',
  }
}

/** How old the newest row may be, where a table always gets new rows. */
const FRESHNESS: Readonly<Record<string, object>> = {
  sync_runs: freshness('finished_at', 24, 72),
  daily_network: freshness('day::timestamp', 60, 108),
}

function freshness(field: string, warnHours: number, errorHours: number): object {
  return {
    loaded_at_field: field,
    freshness: {
      warn_after: { count: warnHours, period: 'hour' },
      error_after: { count: errorHours, period: 'hour' },
    },
  }
}

/** The tests of a column, or of the table. */
function dbtTests(tests: readonly DataTest[], of: string | null): object {
  const own = tests.filter(({ column }) => column === of).map(({ dbt }) => dbt)
  return own.length === 0 ? {} : { data_tests: own }
}

/** The file docs/analytics/dbt/sources.yml: copy it into the models of a dbt project. */
export function dbtSources(tables: readonly Table[]): string {
  const source = {
    name: 'farewatch',
    schema: 'farewatch',
    description: 'Routes and fares that farewatch watches: history, changes and daily tables.',
    tables: tables
      .filter(({ isGranted }) => isGranted)
      .map((table) => {
        const { name, description, columns } = table
        const testsOf = (of: string | null) => dbtTests(dataTests(table), of)
        return {
          name,
          description,
          ...FRESHNESS[name],
          ...testsOf(null),
          columns: columns.map((column) => ({
            name: column.name,
            description: column.description,
            data_type: column.type,
            ...testsOf(column.name),
          })),
        }
      }),
  }
  return `# Generated from the comments in the database by \`npm run db:dictionary\`.\n${stringify({ version: 2, sources: [source] }, { lineWidth: 0, aliasDuplicateObjects: false })}`
}

/** One line a column that has a text; columns between them share a line. */
function bulletLines(columns: readonly { head: string; text: string }[]): string[] {
  return columns
    .reduce<{ head: string; text: string }[]>((lines, column) => {
      const last = lines.at(-1)
      if (last?.text === '' && column.text === '') last.head += `, ${column.head}`
      else lines.push({ ...column })
      return lines
    }, [])
    .map(({ head, text }) => (text === '' ? `- ${head}` : `- ${head}: ${text}`))
}

/** PostgreSQL's text of a type, default or constraint without casts, in the short names of types. */
function shortSql(text: string): string {
  return text
    .replaceAll(/::(timestamp with time zone|double precision|\w+)(\[\])?/g, '')
    .replaceAll('timestamp with time zone', 'timestamptz')
    .replaceAll('timestamp without time zone', 'timestamp')
    .replaceAll('double precision', 'float8')
    .replaceAll(/\s+/g, ' ')
}
