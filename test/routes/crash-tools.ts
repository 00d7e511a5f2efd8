import pg from 'pg'
import { onTestFinished } from 'vitest'
import { type Db, sql } from '../../src/platform/db/database.ts'
import { until } from '../support/until.ts'

/** The statements that farewatch's processes of a role run in this database, and whether they wait for a lock. */
export async function sessionsOf(
  db: Db,
  role: string,
): Promise<{ statement: string; waits: boolean }[]> {
  const { rows } = await sql<{ statement: string; waits: boolean }>`
    select query as statement, wait_event_type = 'Lock' as waits
      from pg_stat_activity
     where datname = current_database() and application_name like ${`farewatch ${role}%`}
       and pid <> pg_backend_pid()
  `.execute(db)
  return rows
}

/** Waits until a process of the role runs a statement with this text and, by default, waits there for a lock. */
export async function untilStatement(
  db: Db,
  { role, text, waits = true }: { role: string; text: string; waits?: boolean },
): Promise<void> {
  await until(`a ${role} at ${text}`, async () =>
    (await sessionsOf(db, role)).some((s) => s.statement.includes(text) && (s.waits || !waits)),
  )
}

/** Blocks the writers of a table, and on request its readers, until released or until the test ends. */
export async function blockTable(url: string, table: string, mode: 'share' | 'access exclusive') {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => undefined)
  await client.connect()
  onTestFinished(() => client.end())
  await client.query(`begin; lock table ${table} in ${mode} mode`)
  return () => client.end()
}
