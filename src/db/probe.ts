import { AppError, messageOf } from '../base/errors.ts'
import { type Db, sql } from './database.ts'
import { selectOne } from './transaction.ts'

const OLDEST_MAJOR = 18

/** The database does not answer, or refuses us. Says which one, without its password. */
export class DatabaseUnreachableError extends AppError {
  override readonly name = 'DatabaseUnreachableError'
  override readonly code = 'db.unreachable'
  override readonly retryable = true

  constructor(url: string, cause: unknown) {
    const { hostname, port, pathname, searchParams } = new URL(url)
    const host = searchParams.get('host') ?? (hostname || 'localhost')
    const where = `${host}:${port || '5432'}${pathname}`
    super(
      `PostgreSQL at ${where} cannot be used (${messageOf(cause)}): check DATABASE_URL, or unset it to run an embedded one`,
      { cause },
    )
  }
}

/** The server is older than what our SQL needs. */
export class DatabaseTooOldError extends AppError {
  override readonly name = 'DatabaseTooOldError'
  override readonly code = 'db.too_old'
  override readonly retryable = false

  constructor(version: string) {
    super(`the database is PostgreSQL ${version}; farewatch needs ${OLDEST_MAJOR} or newer`)
  }
}

/** Asks the database its version, with the pool's connect deadline. Returns the server's version text. */
export async function probeDatabase(db: Db, url: string): Promise<string> {
  const { version } = await selectOne(
    sql<{ version: string }>`select current_setting('server_version') as version`,
    db,
  ).catch((err: unknown) => {
    throw new DatabaseUnreachableError(url, err)
  })
  if (Number.parseInt(version, 10) < OLDEST_MAJOR) throw new DatabaseTooOldError(version)
  return version
}
