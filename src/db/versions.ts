import { type Db, PRIVATE_SCHEMA, sql } from './database.ts'
import { selectOne } from './transaction.ts'

export interface DatabaseVersions {
  /** The last migration of ours that was applied. */
  readonly schema: string
  readonly postgresql: string
}

/** What the database stands at. Throws where it was never migrated. */
export async function readVersions(db: Db): Promise<DatabaseVersions> {
  return selectOne(
    sql<DatabaseVersions>`
      select max(name) as schema, current_setting('server_version') as postgresql
        from ${sql.table(`${PRIVATE_SCHEMA}.migration_note`)}
    `,
    db,
  )
}
