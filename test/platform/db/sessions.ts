import { type Db, sql } from '../../../src/platform/db/database.ts'
import { selectOne } from '../../../src/platform/db/transaction.ts'
import { until } from '../../support/until.ts'

/** The server process of a pinned connection or a transaction. */
export async function backendOf(session: Db): Promise<number> {
  const { pid } = await selectOne(sql<{ pid: number }>`select pg_backend_pid() as pid`, session)
  return pid
}

/** Ends another session's connection on the server. */
export async function terminate(db: Db, pid: number): Promise<void> {
  await sql`select pg_terminate_backend(${pid})`.execute(db)
}

/** How many sessions of the database wait for a lock. */
export async function countWaiting(db: Db): Promise<number> {
  const { waiting } = await selectOne(
    sql<{ waiting: number }>`
      select count(*) as waiting from pg_stat_activity
       where datname = current_database() and wait_event_type = 'Lock'
    `,
    db,
  )
  return waiting
}

/** Waits until this number of sessions of the database wait for a lock. */
export async function untilWaiting(db: Db, sessions: number): Promise<void> {
  await until(
    `${sessions} sessions wait for a lock`,
    async () => (await countWaiting(db)) === sessions,
  )
}

/** Waits until the session runs a statement that contains this text. */
export async function untilRunning(db: Db, pid: number, text: string): Promise<void> {
  await until(`session ${pid} runs ${text}`, async () => {
    const { running } = await selectOne(
      sql<{ running: number }>`
        select count(*) as running from pg_stat_activity
         where pid = ${pid} and state = 'active' and strpos(query, ${text}) > 0
      `,
      db,
    )
    return running === 1
  })
}
