import pg from 'pg'
import { onTestFinished } from 'vitest'
import { type Db, sql } from '../../src/db/database.ts'
import { until } from '../support/until.ts'

/** What farewatch's processes of a role are at in this database: their statement, and whether they wait for a lock. */
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

/** Waits until a process of the role is at a statement with this text and, unless told otherwise, stopped there. */
export async function untilStatement(
  db: Db,
  { role, text, waits = true }: { role: string; text: string; waits?: boolean },
): Promise<void> {
  await until(`a ${role} at ${text}`, async () =>
    (await sessionsOf(db, role)).some((s) => s.statement.includes(text) && (s.waits || !waits)),
  )
}

/** Blocks writers (and readers, where asked) of a table until released, or until the test is over. */
export async function blockTable(url: string, table: string, mode: 'share' | 'access exclusive') {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => undefined)
  await client.connect()
  onTestFinished(() => client.end())
  await client.query(`begin; lock table ${table} in ${mode} mode`)
  return () => client.end()
}
