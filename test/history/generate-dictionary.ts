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

/** The page docs/reference/dictionary.md, for analysts. A text that several views give a column is printed once. */
export function dictionaryPage(allTables: readonly Table[]): string {
  const tables = allTables.filter(({ isGranted }) => isGranted)
  const all = tables.flatMap(({ columns }) => columns)
  const usual = new Map([...Map.groupBy(all, ({ name }) => name)].map(usualOf))
  const isUsual = ({ name, description }: Column) =>
    MIX.includes(name) || usual.get(name)?.description === description
  const firstWith = firstTables(tables)
  const sections = tables.map((table) => {
    const placeOf = (column: Column) => (isUsual(column) ? 'above' : firstWith(column, table.name))
    const lines = joinSides(table.columns, placeOf).map((joined) => {
      const place = joined[0] === undefined ? table.name : placeOf(joined[0])
      if (place === 'above') return { head: namesOf(joined), text: '' }
      if (place === table.name) return described(joined)
      return { head: namesOf(joined), text: `as in [${place}](#${place})` }
    })
    return `## ${table.name}\n\n${grainOf(table).about}\n\n${bulletLines(lines).join('\n')}`
  })
  const once = all.filter((one) => usual.get(one.name) === one && !MIX.includes(one.name))
  const lines = bulletLines(joinSides(once, () => 'above').map(described)).join('\n')
  const page = [HEAD, grains(tables), COLUMNS_HEAD, lines, ...sections].join('\n\n')
  return `${page.replaceAll(MIX.map((name) => `\`${name}\``).join(', '), 'the passenger mix')}\n`
}

const HEAD = `# Dictionary of the public SQL

Every table and view of schema \`farewatch\`, from the comments in the database, except two that operators alone may read (\`fare_schedule\`,
\`watch_changes\`: \`\\d+ farewatch.watch_changes\` in psql). [analysts.md](../analysts.md) explains the times, [money](../analysts.md#money) and
[how views join](../analysts.md#how-the-views-relate). The list says of each view what one row is, and in brackets its key, which no two rows have in common.
The *passenger mix* is \`residents_adults\`, \`…_children\`, \`…_infants\`, and \`non_residents_…\` likewise, each smallint. Columns without a type are text, or
timestamptz if their names end in \`_at\`, \`_from\`, \`_to\` or \`_since\`.`

const COLUMNS_HEAD = `\`…_x\` stands for \`outbound_x\` and \`return_x\`. A text about the outbound flight or the departure also holds for the return flight or the
destination on its line. A name has one type in all views. A column without a text in its view means this:`

const MIX = ['residents', 'non_residents'].flatMap((who) =>
  ['adults', 'children', 'infants'].map((type) => `${who}_${type}`),
)

/** Of the columns of one name, one with the text that most views have, if several have it. */
function usualOf([name, of]: [string, Column[]]): [string, Column | undefined] {
  const [most = []] = [...Map.groupBy(of, ({ description }) => description).values()].toSorted(
    (a, b) => b.length - a.length,
  )
  return [name, most.length > 1 ? most[0] : undefined]
}

/** What one row of each view is, and its key. */
function grains(tables: readonly Table[]): string {
  return tables
    .map((table) => {
      const { oneRow, key } = grainOf(table)
      const columns = key.map((column) => `\`${column}\``).join(', ')
      return `- [${table.name}](#${table.name}): ${oneRow} (${columns})`
    })
    .join('\n')
}

/** Columns that mean the same of both flights, or of departure and destination, and are explained in one place. */
function joinSides(columns: readonly Column[], placeOf: (column: Column) => string): Column[][] {
  const sides = Map.groupBy(columns, (column) =>
    [placeOf(column), column.type, column.description]
      .join(' ')
      .replaceAll('return flight', 'outbound flight')
      .replaceAll('destination', 'departure'),
  )
  return [...sides.values()]
}

/** The first view that gives a column of this name the same text, unless that is short. */
function firstTables(tables: readonly Table[]): (column: Column, own: string) => string {
  const first = new Map<string, string>()
  const keyOf = ({ name, description }: Column) => `${name} ${description}`
  for (const { name, columns } of tables.toReversed()) {
    for (const column of columns) first.set(keyOf(column), name)
  }
  return (column, own) =>
    column.description.split(' ').length > 4 ? (first.get(keyOf(column)) ?? own) : own
}

function namesOf(columns: readonly Column[]): string {
  const byLeg = Map.groupBy(columns, ({ name }) => name.replace(/^(outbound|return)_/, ''))
  const names = [...byLeg.values()]
    .flat()
    .map(({ name }) => `\`${name}\``)
    .join(', ')
  return names.replaceAll(/`outbound_(\w+)`, `return_\1`/g, '`…_$1`')
}

/** Columns of one type and meaning, with the text of the first. */
function described(columns: readonly Column[]) {
  const [first] = columns
  return { head: `${namesOf(columns)}${typeOf(first)}`, text: first?.description ?? '' }
}

/** Nothing where the name says it. Columns that are joined have one type. */
function typeOf(column: Column | undefined): string {
  const { name = '', type = 'text' } = column ?? {}
  const usual = /_(at|from|to|since)$/.test(name) ? 'timestamp with time zone' : 'text'
  return type === usual ? '' : ` ${shortSql(type)}`
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
