import pg from 'pg'
import { AppError } from '../base/errors.ts'
import type { Database } from './database.ts'

/** What a column's text stands for. `numeric` is text: money is never a float. */
export type ValueKind = 'text' | 'number' | 'boolean' | 'json'

export interface SqlColumn {
  readonly name: string
  readonly kind: ValueKind
}

/** The answer to one question in SQL. */
export interface SqlAnswer {
  readonly columns: readonly SqlColumn[]
  /** Values as Postgres writes them; null is null. */
  readonly rows: readonly (readonly (string | null)[])[]
}

/** By type: bool; int8, int2, int4, oid, float4, float8; json, jsonb. */
const KINDS: Readonly<Record<number, ValueKind>> = {
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

/** Postgres did not like the question. */
export class SqlError extends AppError {
  override readonly name = 'SqlError'
  override readonly code = 'db.sql'
  override readonly retryable = false
}

/**
 * Runs one statement as the analyst: read only, and on the public SQL. It keeps a person from mistakes, not an attacker
 * out: the connection is the owner's, and a statement can take the owner's role back (`reset role` in a DO block,
 * `set_config`), with all that the owner may. Who must be kept out gets a login of their own (docs/analysts.md).
 *
 * Throws SqlError where Postgres refuses the statement.
 */
export async function askSql({ pool }: Pick<Database, 'pool'>, text: string): Promise<SqlAnswer> {
  const client = await pool.connect()
  try {
    await client.query('begin read only')
    await client.query('set local search_path = farewatch')
    await client.query('set local role farewatch_analyst')
    // Prepared, so that it is one statement and no more; every type as the text that Postgres writes.
    const answer = await client.query<(string | null)[]>({
      text,
      name: '',
      rowMode: 'array',
      queryMode: 'extended',
      types: { getTypeParser: () => (value: string) => value },
    } as pg.QueryArrayConfig)
    const columns = answer.fields.map(({ name, dataTypeID }) => ({
      name,
      kind: KINDS[dataTypeID] ?? 'text',
    }))
    return { columns, rows: answer.rows }
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
