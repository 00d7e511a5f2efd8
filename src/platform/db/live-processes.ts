import os from 'node:os'
import { isRunning } from '../base/running-pid.ts'
import { type Db, sql } from './database.ts'

/** A process without progress for longer was killed, hangs or has lost the database. */
export const PROGRESS_MS = 60_000

export interface LiveProcess {
  readonly role: string
  readonly version: string
  readonly host: string
  readonly pid: number
}

/**
 * The processes of farewatch that work on the database, without this one. One of this machine whose pid is free has
 * ended; one with our pid was started before in the same container.
 */
export async function listLiveProcesses(db: Db): Promise<LiveProcess[]> {
  const { rows } = await sql<LiveProcess>`
    select role, version, host, pid from process
     where last_progress_at > clock_timestamp() - ${PROGRESS_MS}::int * interval '1 millisecond'
     order by started_at, id
  `.execute(db)
  return rows.filter(
    ({ host, pid }) => host !== os.hostname() || (pid !== process.pid && isRunning(pid)),
  )
}
