import { asAnalyst, type ResultPart } from './analyst-session.ts'
import type { Database } from './database.ts'

/** How a column's text is to be read. `numeric` is text: money is never a float. */
export type ColumnKind = 'text' | 'number' | 'boolean' | 'json' | 'instant'

export interface ResultColumn {
  readonly name: string
  readonly kind: ColumnKind
}

/** The result of one SQL statement. */
export interface QueryResult {
  readonly columns: readonly ResultColumn[]
  /** Values as Postgres writes them; null is null. */
  readonly rows: readonly (readonly (string | null)[])[]
}

/** By type id: bool; int8, int2, int4, oid, float4, float8; json, jsonb; timestamp, timestamptz. */
const KINDS: Readonly<Record<number, ColumnKind>> = {
  16: 'boolean',
  20: 'number',
  21: 'number',
  23: 'number',
  26: 'number',
  700: 'number',
  701: 'number',
  114: 'json',
  3802: 'json',
  1114: 'instant',
  1184: 'instant',
}

/**
 * Runs one statement as role farewatch_analyst: read only, and on the public SQL alone. Throws SqlError when Postgres
 * refuses it.
 */
export async function runAnalystQuery(
  database: Pick<Database, 'pool'>,
  text: string,
): Promise<QueryResult> {
  return resultOf(await asAnalyst(database, (session) => session.query(text)))
}

/** The same, a part at a time, at least one: a result of any size takes little memory. */
export async function streamAnalystQuery(
  database: Pick<Database, 'pool'>,
  text: string,
  take: (part: QueryResult) => Promise<void>,
): Promise<void> {
  await asAnalyst(database, (session) => session.stream(text, (part) => take(resultOf(part))))
}

function resultOf({ fields, rows }: ResultPart): QueryResult {
  const columns = fields.map(({ name, dataTypeID }) => ({
    name,
    kind: KINDS[dataTypeID] ?? 'text',
  }))
  return { columns, rows }
}
