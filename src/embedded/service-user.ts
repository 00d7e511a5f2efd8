import { execFile } from 'node:child_process'
import { readFile, stat } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { ServiceUser } from './postgres-binaries.ts'
import {
  EmbeddedPostgresError,
  OR_SET_DATABASE_URL,
  undefinedIfMissing,
} from './postgres-errors.ts'

/** Runs the embedded PostgreSQL of root and nothing else. */
export const OWN_USER = 'farewatch-postgres'
/** Programs other than farewatch run as these system users and can read the data. */
const SHARED_USERS = ['postgres', 'nobody']

/** The commands of Linux distributions, and of BusyBox. */
const CREATE_COMMANDS = [
  ['useradd', '--system', '--user-group', '--no-create-home', '--shell', '/usr/sbin/nologin'],
  ['adduser', '-S', '-D', '-H', '-s', '/sbin/nologin'],
] as const
const ENVIRONMENT = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' }
/** Another process may hold the lock of /etc/passwd. */
const ATTEMPTS = 5
const PAUSE_MS = 200

/**
 * The user that runs root's PostgreSQL, which refuses to run as root: the owner of the data if there are any, else a
 * system user of its own, which is created, else a shared one. Throws `embedded.no_user_entry`.
 */
export async function findServiceUser(data: string): Promise<ServiceUser> {
  const owner = await stat(data).catch(undefinedIfMissing)
  const users = await readUsers()
  if (owner !== undefined && owner.uid !== 0) {
    const { uid, gid } = owner
    return users.find((user) => user.uid === uid) ?? { name: String(uid), uid, gid }
  }
  const found = users.find(({ name }) => name === OWN_USER) ?? (await createOwnUser())
  const shared = SHARED_USERS.map((name) => users.find((user) => user.name === name))
  const user = found ?? shared.find((one) => one !== undefined)
  if (user !== undefined) return user
  throw new EmbeddedPostgresError(
    'no_user_entry',
    `PostgreSQL refuses to run as root, and the system user ${OWN_USER} could not be created: ` +
      `create it, run farewatch as an ordinary user, ${OR_SET_DATABASE_URL}`,
  )
}

export function isShared({ name }: ServiceUser): boolean {
  return SHARED_USERS.includes(name)
}

async function readUsers(): Promise<ServiceUser[]> {
  const lines = (await readFile('/etc/passwd', 'utf8')).split('\n').map((line) => line.split(':'))
  return lines.map(([name = '', , uid, gid]) => ({ name, uid: Number(uid), gid: Number(gid) }))
}

/** Undefined if this system has no command for it, or /etc is read-only. */
async function createOwnUser(): Promise<ServiceUser | undefined> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    if (attempt > 0) await delay(PAUSE_MS)
    const missing = await runFirst(CREATE_COMMANDS)
    // A second process that starts now may have created it.
    const user = (await readUsers()).find(({ name }) => name === OWN_USER)
    if (user !== undefined || missing) return user
  }
  return undefined
}

/** Runs the first command that exists, whatever its exit code. Returns whether none exists. */
async function runFirst(commands: typeof CREATE_COMMANDS): Promise<boolean> {
  for (const [command, ...args] of commands) {
    try {
      await promisify(execFile)(command, [...args, OWN_USER], { env: ENVIRONMENT })
      return false
    } catch (err) {
      if ((err as NodeJS.ErrnoException).code !== 'ENOENT') return false
    }
  }
  return true
}
