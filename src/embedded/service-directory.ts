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
import type { Logger } from '../base/logger.ts'
import {
  EmbeddedPostgresError,
  hasCode,
  OR_SET_DATABASE_URL,
  undefinedIfMissing,
} from './postgres-errors.ts'
import { stopServer } from './postmaster.ts'
import { livingEntries } from './presence.ts'

/** In the order of preference; both outlive a reboot. */
const PARENTS = ['/var/lib/farewatch', '/var/tmp/farewatch']

/**
 * The directory outside of `home` that keeps root's embedded PostgreSQL: the service user could not enter a
 * home below a folder of mode 0700.
 *
 * The pointer in the home decides, so that a home that was moved keeps its data and one that was deleted and
 * made anew starts empty. A copied home gets a directory of its own: two homes cannot share a server.
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

/**
 * Stops what still runs for homes that were at this path before and were deleted. Their data stays: who deleted
 * the home may not have meant it.
 */
export async function stopFormerServers(home: string, current: string, log: Logger): Promise<void> {
  const parent = dirname(current)
  const names = (await readdir(parent)).filter((name) => name.startsWith(`${keyOf(home)}-`))
  for (const directory of names.map((name) => join(parent, name))) {
    if (directory === current) continue
    // A home that was moved away from here goes on with its directory.
    if ((await livingEntries(join(directory, 'users'))).length > 0) continue
    log.warn({ directory }, 'embedded postgres of a deleted home left in place')
    await stopServer(join(directory, 'data'), log)
  }
}

async function newDirectory(home: string): Promise<string> {
  const name = `${keyOf(home)}-${randomUUID().slice(0, 8)}`
  const directory = await ensure(join(await usableParent(), name))
  if (await createPointer({ home, directory })) return directory
  // Another process was there in the same moment, and first: its directory is the one.
  await rm(directory, { recursive: true })
  return serviceDirectory(home)
}

/** Traversable, not listable: the service user reaches its data, and can replace nothing of root's beside it. */
async function ensure(directory: string): Promise<string> {
  if (!(await isUsable(dirname(directory)))) throw unusableError(dirname(directory))
  await mkdir(directory, { recursive: true })
  await chmod(directory, 0o711)
  return directory
}

async function usableParent(): Promise<string> {
  for (const parent of PARENTS) {
    if (await isUsable(parent)) return parent
  }
  throw unusableError(PARENTS.join(' or '))
}

function unusableError(folders: string): EmbeddedPostgresError {
  return new EmbeddedPostgresError(
    'storage',
    `as root, farewatch keeps the embedded PostgreSQL in ${folders}, which cannot be a folder of root that ` +
      `other users may enter: make it so, run as an ordinary user, ${OR_SET_DATABASE_URL}`,
  )
}

async function isUsable(parent: string): Promise<boolean> {
  return preparedAsParent(parent).catch(() => false)
}

/** Root works in it, so nobody else may be able to plant links there; and the service user must reach it. */
async function preparedAsParent(parent: string): Promise<boolean> {
  await mkdir(parent, { recursive: true })
  const found = await lstat(parent)
  if (!found.isDirectory() || found.uid !== 0) return false
  await chmod(parent, 0o755)
  await access(parent, constants.W_OK)
  return ((await lstat(dirname(parent))).mode & 0o001) !== 0
}

async function isStillUsed({ home, directory }: HomePointer): Promise<boolean> {
  const there = await readPointer(home).catch(() => undefined)
  return there?.home === home && there.directory === directory
}

function keyOf(path: string): string {
  return createHash('sha256').update(path).digest('hex').slice(0, 16)
}

/** Says, in a home of root's, where its data lies. */
export interface HomePointer {
  /** The home's own path when this was written: tells a moved or copied home. */
  readonly home: string
  readonly directory: string
}

export const POINTER_FILE = 'postgres-place.json'

/** Undefined where there is none. Throws `embedded.storage` for one that says nothing. */
export async function readPointer(home: string): Promise<HomePointer | undefined> {
  const text = await readFile(join(home, POINTER_FILE), 'utf8').catch(undefinedIfMissing)
  if (text === undefined) return undefined
  const found = parsePointer(text)
  if (found === undefined) throw damagedPointer(home)
  return found
}

export function damagedPointer(home: string): EmbeddedPostgresError {
  return new EmbeddedPostgresError(
    'storage',
    `${join(home, POINTER_FILE)} is damaged: it says where the data of this home lies, below ` +
      '/var/lib/farewatch as a rule; restore it, or remove it to start with an empty database',
  )
}

/** False where there is one: linking makes the whole file appear at once, and for the first alone. */
export async function createPointer(pointer: HomePointer): Promise<boolean> {
  const written = await writeAside(pointer)
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

export async function replacePointer(pointer: HomePointer): Promise<void> {
  await rename(await writeAside(pointer), join(pointer.home, POINTER_FILE))
}

async function writeAside(pointer: HomePointer): Promise<string> {
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
