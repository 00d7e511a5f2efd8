import pg from 'pg'
import { AppError } from '../base/errors.ts'
import type { Database } from './database.ts'

/** How a column's text is to be read. `numeric` is text: money is never a float. */
export type ColumnKind = 'text' | 'number' | 'boolean' | 'json'

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

/** By type id: bool; int8, int2, int4, oid, float4, float8; json, jsonb. */
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
}

/** Postgres refused the statement. */
export class SqlError extends AppError {
  override readonly name = 'SqlError'
  override readonly code = 'db.sql'
  override readonly retryable = false
}

/**
 * Runs one statement as role farewatch_analyst: read only, and on the public SQL alone.
 *
 * This prevents mistakes, not attacks: the connection belongs to the owner of the tables, and a statement can take the
 * owner's role back (`reset role` in a DO block, `set_config`). People who must not write get a login of their own
 * (docs/analysts.md). Throws SqlError when Postgres refuses the statement.
 */
export async function runAnalystQuery(
  { pool }: Pick<Database, 'pool'>,
  text: string,
): Promise<QueryResult> {
  const client = await pool.connect()
  try {
    await client.query('begin read only')
    await client.query('set local search_path = farewatch')
    await client.query('set local role farewatch_analyst')
    // A prepared statement cannot hold a second one. Every value arrives as the text that Postgres writes.
    const result = await client.query<(string | null)[]>({
      text,
      name: '',
      rowMode: 'array',
      queryMode: 'extended',
      types: { getTypeParser: () => (value: string) => value },
    } as pg.QueryArrayConfig)
    const columns = result.fields.map(({ name, dataTypeID }) => ({
      name,
      kind: KINDS[dataTypeID] ?? 'text',
    }))
    return { columns, rows: result.rows }
  } catch (err) {
    if (err instanceof pg.DatabaseError) {
      throw new SqlError(`${err.message}${err.hint === undefined ? '' : ` (${err.hint})`}`, {
        cause: err,
      })
    }
    throw err
  } finally {
    await client.query('rollback').catch(() => undefined)
    client.release()
  }
}
