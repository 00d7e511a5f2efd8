import pg from 'pg'
import { AppError } from '../base/errors.ts'
import type { Database } from './database.ts'

/** The answer to one question in SQL. */
export interface SqlAnswer {
  readonly columns: readonly string[]
  /** Values as Postgres writes them; null is null. */
  readonly rows: readonly (readonly (string | null)[])[]
}

/** Postgres did not like the question. */
export class SqlError extends AppError {
  override readonly name = 'SqlError'
  override readonly code = 'db.sql'
  override readonly retryable = false
}

/** Runs one statement, read only, with the public SQL in sight. */
export async function askSql({ pool }: Pick<Database, 'pool'>, text: string): Promise<SqlAnswer> {
  const client = await pool.connect()
  try {
    await client.query('begin read only')
    await client.query('set local search_path = farewatch, farewatch_private, public')
    // Prepared, so that it is one statement and no more; every type as the text that Postgres writes.
    const answer = await client.query<(string | null)[]>({
      text,
      name: '',
      rowMode: 'array',
      queryMode: 'extended',
      types: { getTypeParser: () => (value: string) => value },
    } as pg.QueryArrayConfig)
    return { columns: answer.fields.map((field) => field.name), rows: answer.rows }
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
