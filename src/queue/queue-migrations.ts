import { runMigrations } from 'bullmq'
import { QUEUE_SCHEMA } from './queue-connection.ts'

/** One session, not a pool: the migration's lock and transaction live in it. A checked-out pg client fits. */
export interface MigrationClient {
  query<R>(text: string, params?: readonly unknown[]): Promise<{ rows: R[] }>
}

/**
 * Brings BullMQ's own schema up to the version of its package, in one transaction under an advisory lock.
 *
 * Needed with the Postgres backend only, and never done on connect: a schema changes when `migrate` says so.
 */
export async function migrateQueue(client: MigrationClient): Promise<void> {
  await runMigrations(client, QUEUE_SCHEMA)
}
