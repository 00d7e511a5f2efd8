import { stringify } from 'yaml'
import { type Db, sql } from '../../src/platform/db/database.ts'

interface Table {
  readonly name: string
  readonly description: string
  /** Whether analysts may read it. */
  readonly isGranted: boolean
  readonly columns: readonly {
    readonly name: string
    readonly type: string
    readonly description: string
  }[]
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

/** The page docs/reference/dictionary.md. */
export function dictionaryPage(tables: readonly Table[]): string {
  const sections = tables.map(({ name, description, columns }) =>
    [
      `## ${name}`,
      '',
      description,
      '',
      '| column | type | what |',
      '|---|---|---|',
      ...columns.map(
        (column) =>
          `| \`${column.name}\` | ${column.type} | ${column.description.replaceAll('|', '\\|')} |`,
      ),
    ].join('\n'),
  )
  const head =
    'Every table and view of schema `farewatch`, from the comments in the database. `npm run db:dictionary` writes this page;' +
    '\na test compares it with the migrations. [analysts.md](../analysts.md) explains the times and how to begin.'
  return `# Dictionary of the public SQL\n\n${head}\n\n${sections.join('\n\n')}\n`
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

/** The file docs/analytics/dbt/sources.yml: copy it into the models of a dbt project. */
export function dbtSources(tables: readonly Table[]): string {
  const source = {
    name: 'farewatch',
    schema: 'farewatch',
    description: 'Routes and fares that farewatch watches: history, changes and daily tables.',
    tables: tables
      .filter(({ isGranted }) => isGranted)
      .map(({ name, description, columns }) => ({
        name,
        description,
        ...FRESHNESS[name],
        columns: columns.map((column) => ({
          name: column.name,
          description: column.description,
          data_type: column.type,
        })),
      })),
  }
  return `# Generated from the comments in the database by \`npm run db:dictionary\`.\n${stringify({ version: 2, sources: [source] }, { lineWidth: 0 })}`
}
