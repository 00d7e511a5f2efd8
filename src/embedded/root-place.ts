import { execFile } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
import { access, chmod, constants, lstat, mkdir, readFile, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import type { ServiceUser } from './postgres-binaries.ts'
import {
  createOnce,
  EmbeddedPostgresError,
  OR_SET_DATABASE_URL,
  undefinedIfMissing,
} from './postgres-errors.ts'

/** In the order of preference. Both survive a reboot. */
const PARENTS = ['/var/lib/farewatch', '/var/tmp/farewatch']
/** A file in a home of root that names the directory of its data. */
const POINTER_FILE = 'postgres-place.json'

/**
 * The directory outside of `home` with root's embedded PostgreSQL, because the service user cannot enter a home below a
 * folder of mode 0700. The home holds a pointer to it.
 * @param home absolute, without symbolic links.
 */
export async function serviceDirectory(home: string): Promise<string> {
  const directory = await readPointer(home)
  if (directory === undefined) return newDirectory(home)
  if (!PARENTS.includes(dirname(directory))) throw damagedPointer(home)
  return ensure(directory)
}

async function newDirectory(home: string): Promise<string> {
  const key = createHash('sha256').update(home).digest('hex').slice(0, 16)
  const name = `${key}-${randomUUID().slice(0, 8)}`
  const directory = await ensure(join(await usableParent(), name))
  const pointer = `${JSON.stringify({ directory }, undefined, 2)}\n`
  if (await createOnce(join(home, POINTER_FILE), pointer)) return directory
  // Another process has created the pointer first: its directory is used.
  await rm(directory, { recursive: true })
  return serviceDirectory(home)
}

/** Mode 0711: the service user reaches its data but cannot list or change the directory. */
async function ensure(directory: string): Promise<string> {
  if (!(await isUsableParent(dirname(directory)))) throw unusableError(dirname(directory))
  await mkdir(directory, { recursive: true })
  await chmod(directory, 0o711)
  return directory
}

async function usableParent(): Promise<string> {
  for (const parent of PARENTS) {
    if (await isUsableParent(parent)) return parent
  }
  throw unusableError(PARENTS.join(' or '))
}

function unusableError(folders: string): EmbeddedPostgresError {
  return new EmbeddedPostgresError(
    'storage',
    `as root, farewatch keeps the embedded PostgreSQL in ${folders}, which must be a folder of root that ` +
      `other users can enter: create it, run as an ordinary user, ${OR_SET_DATABASE_URL}`,
  )
}

/** The parent must belong to root, so that no other user can create links in it, and the service user must reach it. */
async function isUsableParent(parent: string): Promise<boolean> {
  try {
    await mkdir(parent, { recursive: true })
    const found = await lstat(parent)
    if (!found.isDirectory() || found.uid !== 0) return false
    await chmod(parent, 0o755)
    await access(parent, constants.W_OK)
    return ((await lstat(dirname(parent))).mode & 0o001) !== 0
  } catch {
    return false
  }
}

/** The directory of the data. Undefined if there is none. Throws `embedded.storage` if the pointer is damaged. */
export async function readPointer(home: string): Promise<string | undefined> {
  const text = await readFile(join(home, POINTER_FILE), 'utf8').catch(undefinedIfMissing)
  if (text === undefined) return undefined
  try {
    const { directory } = JSON.parse(text)
    if (typeof directory === 'string') return directory
  } catch {
    // It is reported below.
  }
  throw damagedPointer(home)
}

function damagedPointer(home: string): EmbeddedPostgresError {
  return new EmbeddedPostgresError(
    'storage',
    `${join(home, POINTER_FILE)} is damaged: it names the directory of the data of this home, usually below ` +
      '/var/lib/farewatch; restore it, or remove it to start with an empty database',
  )
}

/** Runs the embedded PostgreSQL of root and nothing else. */
const OWN_USER = 'farewatch-postgres'
/** Programs other than farewatch run as these system users and can read the data. */
const SHARED_USERS = ['postgres', 'nobody']

const CREATE_USER = ['--system', '--user-group', '--no-create-home', '--shell', '/usr/sbin/nologin']
const ENVIRONMENT = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' }

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
  const found = findOwnUser(users) ?? (await createOwnUser())
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

/**
 * Undefined if this system has no such command, or /etc is read-only. Another process may create the user meanwhile, so
 * the list of users says whether there is one. The command itself waits for the lock of /etc/passwd.
 */
async function createOwnUser(): Promise<ServiceUser | undefined> {
  await promisify(execFile)('useradd', [...CREATE_USER, OWN_USER], { env: ENVIRONMENT }).catch(
    () => undefined,
  )
  return findOwnUser(await readUsers())
}

function findOwnUser(users: readonly ServiceUser[]): ServiceUser | undefined {
  return users.find(({ name }) => name === OWN_USER)
}
