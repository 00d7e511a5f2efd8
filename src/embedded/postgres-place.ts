import { lstat, mkdir, realpath } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { dirname, join } from 'node:path'
import { type Binaries, copyBinaries, findBinaries, type ServiceUser } from './postgres-binaries.ts'
import { EmbeddedPostgresError, OR_SET_DATABASE_URL } from './postgres-errors.ts'
import { findServiceUser, readPointer, serviceDirectory } from './root-place.ts'

const DATA = 'data'

/** The paths of one home's embedded PostgreSQL, absolute and without symbolic links, and the user that runs it. */
export interface Place {
  readonly home: string
  readonly directory: string
  readonly data: string
  /** Of the superuser. */
  readonly passwordFile: string
  readonly ownerPasswordFile: string
  /** Version 0.1 makes this folder, with an entry for each of its processes. */
  readonly usersOf01: string
  readonly portFile: string
  /** The output of the server. */
  readonly log: string
  /** The process that has locked this file owns the data. */
  readonly lock: string
  readonly binaries: Binaries
  /** Undefined if the current user runs the binaries. */
  readonly user: ServiceUser | undefined
}

/** Finds the place of `home`. Creates its folders, and the copy of the binaries for root, if they are missing. */
export async function findPlace(home: string): Promise<Place> {
  const binaries = await findBinaries()
  await mkdir(home, { recursive: true, mode: 0o700 })
  const realHome = await realpath(home)
  return process.geteuid?.() === 0
    ? placeOfRoot(realHome, binaries)
    : placeOfOrdinaryUser(realHome, binaries)
}

/** The data directory of the embedded database of `home`. Undefined if there is none. Creates nothing. */
export async function findData(home: string): Promise<string | undefined> {
  const data = join((await readPointer(home)) ?? join(home, 'postgres'), DATA)
  return (await exists(join(data, 'PG_VERSION'))) ? data : undefined
}

async function placeOfRoot(home: string, binaries: Binaries): Promise<Place> {
  const inHome = join(home, 'postgres')
  if (await exists(inHome)) throw otherUserError(inHome, 'an ordinary user')
  const directory = await realpath(await serviceDirectory(home))
  const user = await findServiceUser(join(directory, DATA))
  const copied = await copyBinaries(binaries, dirname(directory))
  return placeIn({ home, directory, binaries: copied, user })
}

async function placeOfOrdinaryUser(home: string, binaries: Binaries): Promise<Place> {
  assertUserEntry()
  const pointer = await readPointer(home)
  if (pointer !== undefined) throw otherUserError(pointer, 'root')
  const directory = join(home, 'postgres')
  await mkdir(directory, { recursive: true, mode: 0o700 })
  return placeIn({ home, directory, binaries, user: undefined })
}

function placeIn(base: Pick<Place, 'home' | 'directory' | 'binaries' | 'user'>): Place {
  const { directory } = base
  return {
    ...base,
    data: join(directory, DATA),
    passwordFile: join(directory, 'password'),
    ownerPasswordFile: join(directory, 'owner-password'),
    usersOf01: join(directory, 'users'),
    portFile: join(directory, 'port'),
    log: join(directory, 'server.log'),
    lock: join(directory, 'owner.lock'),
  }
}

/** initdb needs the name of the user. In a container with an arbitrary uid there is none. */
function assertUserEntry(): void {
  try {
    userInfo()
  } catch (err) {
    throw new EmbeddedPostgresError(
      'no_user_entry',
      `the current user ${process.geteuid?.()} has no entry in /etc/passwd, which PostgreSQL needs: ` +
        `add one, run as a user that has one, ${OR_SET_DATABASE_URL}`,
      { cause: err },
    )
  }
}

function otherUserError(directory: string, owner: string): EmbeddedPostgresError {
  return new EmbeddedPostgresError(
    'other_user',
    `the embedded PostgreSQL of this home (${directory}) belongs to ${owner}: ` +
      `run farewatch as that user, choose another FAREWATCH_HOME, ${OR_SET_DATABASE_URL}`,
  )
}

function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  )
}
