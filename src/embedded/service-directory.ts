import { createHash, randomUUID } from 'node:crypto'
import {
  access,
  chmod,
  constants,
  link,
  lstat,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  writeFile,
} from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Logger } from '../platform/base/logger.ts'
import {
  EmbeddedPostgresError,
  hasCode,
  OR_SET_DATABASE_URL,
  undefinedIfMissing,
} from './postgres-errors.ts'
import { stopServer } from './postmaster.ts'
import { livingEntries } from './presence.ts'

/** In the order of preference. Both survive a reboot. */
const PARENTS = ['/var/lib/farewatch', '/var/tmp/farewatch']
const POINTER_FILE = 'postgres-place.json'

/** A file in a home of root that names the directory of its data. */
interface HomePointer {
  /** The path of the home when this was written, to detect a moved or copied home. */
  readonly home: string
  readonly directory: string
}

/**
 * The directory outside of `home` with root's embedded PostgreSQL, because the service user cannot enter a home below a
 * folder of mode 0700.
 *
 * The home holds a pointer to it. So a moved home keeps its data, and a home that was deleted and created again starts
 * empty. A copied home gets its own directory, because two homes cannot share a server.
 * @param home absolute, without symbolic links.
 */
export async function serviceDirectory(home: string): Promise<string> {
  const pointer = await readPointer(home)
  if (pointer === undefined) return newDirectory(home)
  if (!PARENTS.includes(dirname(pointer.directory))) throw damagedPointer(home)
  if (pointer.home === home) return ensure(pointer.directory)
  const directory = (await isStillUsed(pointer))
    ? join(dirname(pointer.directory), `${keyOf(home)}-${keyOf(pointer.directory)}`)
    : pointer.directory
  await ensure(directory)
  await replacePointer({ home, directory })
  return directory
}

/** Stops the servers of deleted homes that had this path. Their data stays, in case the deletion was a mistake. */
export async function stopFormerServers(home: string, current: string, log: Logger): Promise<void> {
  const parent = dirname(current)
  const names = (await readdir(parent)).filter((name) => name.startsWith(`${keyOf(home)}-`))
  for (const directory of names.map((name) => join(parent, name))) {
    if (directory === current) continue
    // A home that was moved away from this path still uses its directory.
    if ((await livingEntries(join(directory, 'users'))).length > 0) continue
    log.warn({ directory }, 'embedded postgres of a deleted home left in place')
    await stopServer(join(directory, 'data'), log)
  }
}

async function newDirectory(home: string): Promise<string> {
  const name = `${keyOf(home)}-${randomUUID().slice(0, 8)}`
  const directory = await ensure(join(await usableParent(), name))
  if (await createPointer({ home, directory })) return directory
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

async function isStillUsed({ home, directory }: HomePointer): Promise<boolean> {
  const current = await readPointer(home).catch(() => undefined)
  return current?.home === home && current.directory === directory
}

function keyOf(path: string): string {
  return createHash('sha256').update(path).digest('hex').slice(0, 16)
}

/** Undefined if there is none. Throws `embedded.storage` if it is damaged. */
export async function readPointer(home: string): Promise<HomePointer | undefined> {
  const text = await readFile(join(home, POINTER_FILE), 'utf8').catch(undefinedIfMissing)
  if (text === undefined) return undefined
  const found = parsePointer(text)
  if (found === undefined) throw damagedPointer(home)
  return found
}

function damagedPointer(home: string): EmbeddedPostgresError {
  return new EmbeddedPostgresError(
    'storage',
    `${join(home, POINTER_FILE)} is damaged: it names the directory of the data of this home, usually below ` +
      '/var/lib/farewatch; restore it, or remove it to start with an empty database',
  )
}

/** False if there is one. A link makes the complete file appear at once, and succeeds for one process only. */
async function createPointer(pointer: HomePointer): Promise<boolean> {
  const written = await writePartial(pointer)
  try {
    await link(written, join(pointer.home, POINTER_FILE))
    return true
  } catch (err) {
    if (hasCode(err, 'EEXIST')) return false
    throw err
  } finally {
    await rm(written)
  }
}

async function replacePointer(pointer: HomePointer): Promise<void> {
  await rename(await writePartial(pointer), join(pointer.home, POINTER_FILE))
}

async function writePartial(pointer: HomePointer): Promise<string> {
  const path = join(pointer.home, `${POINTER_FILE}.${randomUUID()}`)
  await writeFile(path, `${JSON.stringify(pointer, undefined, 2)}\n`)
  return path
}

function parsePointer(text: string): HomePointer | undefined {
  try {
    const { home, directory } = JSON.parse(text)
    return typeof home === 'string' && typeof directory === 'string'
      ? { home, directory }
      : undefined
  } catch {
    return undefined
  }
}
