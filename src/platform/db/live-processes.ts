import os from 'node:os'
import { WORK_ROLES, type WorkRole } from '../base/kinds.ts'
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

export type RoleName = WorkRole | 'api'

/**
 * The roles of a process as its row and its metrics name them: `worker` stands for all of the work.
 * @example roleText(['sync', 'check', 'deliver', 'api']) // 'worker+api'
 */
export function roleText(roles: readonly RoleName[]): string {
  const work = WORK_ROLES.filter((role) => roles.includes(role))
  const named = work.length === WORK_ROLES.length ? ['worker'] : work
  return [...named, ...(roles.includes('api') ? ['api'] : [])].join('+')
}

/** The work that no process does that makes progress. @param roles of these processes, as `roleText` names them. */
export function missingWork(roles: readonly string[]): WorkRole[] {
  const done = new Set(roles.flatMap((text) => text.split('+')))
  return done.has('worker') ? [] : WORK_ROLES.filter((role) => !done.has(role))
}
