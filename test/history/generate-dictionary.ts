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

/** The page docs/reference/dictionary.md. The meaning that most views give a column is explained once, first. */
export function dictionaryPage(tables: readonly Table[]): string {
  const usual = usualMeanings(tables.flatMap(({ columns }) => columns))
  const isShared = (column: Column) =>
    usual.get(column.name) === meaningOf(column) || MIX.includes(column.name)
  const sections = tables.map((table) => {
    const { name, columns } = table
    const lines = joinLegs(columns).map((joined) =>
      joined.every(isShared) ? { head: namesOf(joined), text: '' } : described(joined),
    )
    return `## ${name}\n\n${grainOf(table).about}\n\n${bulletLines(lines).join('\n')}`
  })
  const shared = tables
    .flatMap(({ columns }) => columns)
    .filter((column) => isShared(column) && !MIX.includes(column.name))
  const once = [...new Map(shared.map((column) => [column.name, column])).values()]
  const lines = bulletLines(joinLegs(once).map(described))
  return `# Dictionary of the public SQL\n\n${HEAD}\n\n${grains(tables)}\n\n${COLUMNS_HEAD}\n\n${withMix(lines.join('\n'))}\n\n${sections.map(withMix).join('\n\n')}\n`
}

const HEAD = `\
Every table and view of schema \`farewatch\`, from the comments in the database. [analysts.md](../analysts.md) explains the
times and how to begin. No two rows have the same key. The *passenger mix* is the columns \`residents_adults\`, \`residents_children\`,
\`residents_infants\`, \`non_residents_adults\`, \`non_residents_children\` and \`non_residents_infants\`, each smallint. Prices of different mixes are
never compared.`

const COLUMNS_HEAD = `\
\`…_x\` stands for the columns \`outbound_x\` and \`return_x\`, and its text for both flights. A name has one type in all views. A column
without a text in its view means this:`

/** What several views say of a column of one name; of several texts the most frequent. */
function usualMeanings(columns: readonly Column[]): Map<string, string | undefined> {
  const byName = Map.groupBy(columns, ({ name }) => name)
  const usual = [...byName].map(([name, of]): [string, string | undefined] => {
    const counts = [...Map.groupBy(of, meaningOf)].map(([text, same]) => ({ text, n: same.length }))
    const [first] = counts.toSorted((a, b) => b.n - a.n)
    return [name, first !== undefined && first.n > 1 ? first.text : undefined]
  })
  return new Map(usual)
}

function meaningOf({ type, description }: Column): string {
  return `${type} ${description}`
}

/** The columns of the passenger mix follow each other in every view. */
function withMix(lines: string): string {
  const names = MIX.map((name) => `\`${name}\``).join(', ')
  return lines.replaceAll(names, 'the passenger mix')
}

const MIX = ['residents', 'non_residents'].flatMap((who) =>
  ['adults', 'children', 'infants'].map((type) => `${who}_${type}`),
)

/** What one row of each view is. */
function grains(tables: readonly Table[]): string {
  const rows = tables.map((table) => {
    const { oneRow, key } = grainOf(table)
    const columns = withMix(key.map((column) => `\`${column}\``).join(', '))
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
  const names = columns.map(({ name }) => name)
  const twinOf = (name: string) => name.replace(/^outbound_/, 'return_')
  const isSecond = (name: string) => names.some((one) => one !== name && twinOf(one) === name)
  return names
    .filter((name) => !isSecond(name))
    .map((name) => (names.includes(twinOf(name)) ? name.replace(/^outbound_/, '…_') : name))
    .map((name) => `\`${name}\``)
    .join(', ')
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
