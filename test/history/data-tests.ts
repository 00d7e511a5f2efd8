import {
  AVAILABILITY_CHANGE_KINDS,
  ROUTE_CHANGE_KINDS,
} from '../../src/platform/base/change-kinds.ts'
import {
  BELIEFS,
  CHANGE_REASONS,
  FARE_STATES,
  HIDDEN_REASONS,
  ROUTE_LISTS,
  RUN_RESOLUTIONS,
  RUN_STATUSES,
  SHOWN_PRICE_REASONS,
} from '../../src/platform/base/kinds.ts'
import type { Table } from './generate-dictionary.ts'

/** What holds in a table of the public SQL. */
export interface DataTest {
  /** Null: the test is one of the table. */
  readonly column: string | null
  /** As dbt writes it. */
  readonly dbt: string | object
  /** Selects the rows that contradict it. */
  readonly contradictions: string
}

/** What a comment of a view ends with. */
interface Grain {
  /** The comment without its end. */
  readonly about: string
  readonly oneRow: string
  /** The columns that no two rows have in common. */
  readonly key: readonly string[]
}

/** Throws an error where a comment does not say the grain and a key of columns of the view. */
export function grainOf({ name, description, columns }: Table): Grain {
  const [, about = '', oneRow = '', list = ''] =
    /^(.+) One row (.+)\. Key: ([a-z0-9_, ]+)\.$/.exec(description) ?? []
  const key = list.split(', ')
  if (key.every((of) => columns.some((column) => column.name === of))) return { about, oneRow, key }
  throw new Error(`the comment of ${name} does not end with its grain and its key`)
}

/** Every column of such a name joins the key of a view. */
const JOINS = [
  [
    /^((outbound|return)_)?(departure|destination)_id$|^(place|previous|durable|successor)_id$/,
    'places',
    'place_id',
  ],
  [/^fare_id$/, 'fares_current', 'fare_id'],
  [/_run_id$|^resolved_by$/, 'sync_runs', 'sync_run_id'],
] as const

/** The values of columns, by their names or their views and names. */
const VALUES: Readonly<Record<string, readonly string[]>> = {
  'availability_changes.kind': AVAILABILITY_CHANGE_KINDS,
  'availability_changes.reason': CHANGE_REASONS,
  'daily_delays.kind': [...ROUTE_CHANGE_KINDS, ...AVAILABILITY_CHANGE_KINDS],
  'fare_survival.reason': CHANGE_REASONS,
  'route_changes.kind': ROUTE_CHANGE_KINDS,
  'sync_runs.status': RUN_STATUSES,
  hidden_reason: HIDDEN_REASONS,
  list: ROUTE_LISTS,
  outbound: BELIEFS,
  price_reason: SHOWN_PRICE_REASONS,
  resolution: RUN_RESOLUTIONS,
  return_leg: BELIEFS,
  state: FARE_STATES,
  state_before: FARE_STATES,
}

/** The key, what joins other views, and the values. */
export function dataTests(table: Table): DataTest[] {
  const rows = `farewatch.${table.name}`
  return [
    ...keyTests(table),
    ...table.columns.flatMap(({ name }): DataTest[] => [
      ...JOINS.filter(
        ([names, to, field]) => names.test(name) && !(to === table.name && field === name),
      ).map(([, to, field]) => ({
        column: name,
        dbt: { relationships: { arguments: { to: `source('farewatch', '${to}')`, field } } },
        contradictions: `select * from ${rows} where ${name} not in (select ${field} from farewatch.${to})`,
      })),
      ...[VALUES[`${table.name}.${name}`] ?? VALUES[name] ?? []]
        .filter((values) => values.length > 0)
        .map((values) => ({
          column: name,
          dbt: { accepted_values: { arguments: { values } } },
          contradictions: `select * from ${rows} where ${name} not in (${values.map((value) => `'${value}'`).join(', ')})`,
        })),
    ]),
  ]
}

/** Of a key of several columns some may be null, such as the code of a place: dbt would pass over these rows. */
function keyTests(table: Table): DataTest[] {
  const rows = `farewatch.${table.name}`
  const [only = '', ...others] = grainOf(table).key
  const row = `row(${[only, ...others].join(', ')})::text`
  const contradictions = `select ${row} from ${rows} group by 1 having count(*) > 1`
  if (others.length > 0) {
    return [{ column: null, dbt: { unique: { column_name: row } }, contradictions }]
  }
  return [
    { column: only, dbt: 'unique', contradictions },
    {
      column: only,
      dbt: 'not_null',
      contradictions: `select * from ${rows} where ${only} is null`,
    },
  ]
}
