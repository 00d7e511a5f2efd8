import { chown, mkdtemp, readFile, rm, statfs } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { PostgreSqlContainer } from '@testcontainers/postgresql'
import { acquireEmbeddedPostgres } from '../../src/embedded/postgres.ts'
import { SUPERUSER } from '../../src/embedded/postgres-data.ts'
import { findPlace } from '../../src/embedded/postgres-place.ts'
import { adminQuery } from './postgres-server.ts'
import { silentLog } from './silent-log.ts'

/** A real store for the tests. `how` names its source. */
export interface Tier {
  readonly url: string
  readonly how: string
  stop(): Promise<void>
}

/** Only the chaos tests need durability, and they start their own server. */
const FAST = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  wal_level: 'minimal',
  max_wal_senders: '0',
  // It would hold up the copy of a database that it visits, and no test needs it.
  autovacuum: 'off',
  max_connections: '200',
}

export async function startPostgresTier(containers: boolean): Promise<Tier> {
  const given = process.env.TEST_DATABASE_URL
  if (given !== undefined && given !== '') {
    if (!new URL(given).pathname.includes('test')) {
      throw new Error('the database name in TEST_DATABASE_URL must contain "test"')
    }
    return { url: given, how: 'TEST_DATABASE_URL', stop: async () => undefined }
  }
  return (containers && (await containerOf(startContainer))) || startEmbedded()
}

/** Starts a container. Undefined if its image is missing and cannot be fetched, as on a machine without a network. */
export async function containerOf(start: () => Promise<Tier>): Promise<Tier | undefined> {
  try {
    return await start()
  } catch (err) {
    process.stdout.write(`stores: no container: ${String(err)}\n`)
    return undefined
  }
}

async function startContainer(): Promise<Tier> {
  const settings = Object.entries(FAST).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const container = await new PostgreSqlContainer('postgres:18-alpine')
    .withDatabase('farewatch_test')
    .withCommand(['postgres', ...settings])
    .start()
  return {
    url: container.getConnectionUri(),
    how: 'a container',
    stop: async () => {
      await container.stop()
    },
  }
}

async function startEmbedded(): Promise<Tier> {
  const home = await mkdtemp(path.join(os.tmpdir(), 'farewatch-test-'))
  const postgres = await acquireEmbeddedPostgres({ home, log: silentLog, settings: FAST })
  const { directory, user, passwordFile } = await findPlace(home)
  // Tests create databases and roles.
  const superuser = new URL(postgres.url)
  superuser.username = SUPERUSER
  superuser.password = (await readFile(passwordFile, 'utf8')).trim()
  const url = superuser.href
  await hastenLogins(url)
  const memory = await createDatabasesInMemory(url, user)
  return {
    url,
    how: 'embedded',
    stop: async () => {
      await postgres.release()
      for (const folder of [directory, home, ...memory]) {
        await rm(folder, { recursive: true, force: true })
      }
    },
  }
}

const MEMORY = '/dev/shm'
const ENOUGH_BYTES = 4 * 2 ** 30

/**
 * Lets the server create databases in memory if the machine has enough of it. Returns the folders to remove.
 *
 * On ext4 the databases of thousands of tests cost a third of the server's time: the file system searches for inodes
 * that were not deleted within the last seconds.
 */
async function createDatabasesInMemory(
  url: string,
  user: { readonly uid: number; readonly gid: number } | undefined,
): Promise<string[]> {
  const { bavail, bsize } = await statfs(MEMORY).catch(() => ({ bavail: 0, bsize: 0 }))
  if (bavail * bsize < ENOUGH_BYTES) return []
  const folder = await mkdtemp(path.join(MEMORY, 'farewatch-test-'))
  if (user !== undefined) await chown(folder, user.uid, user.gid)
  await adminQuery(url, `create tablespace memory location '${folder}'`)
  // New databases are copies of template1 and lie where it lies.
  await adminQuery(url, 'alter database template1 set tablespace memory')
  return [folder]
}

/** The tests connect thousands of times: 4096 rounds of hashing take client and server 3 ms of CPU time each. */
async function hastenLogins(url: string): Promise<void> {
  const { username, password } = new URL(url)
  await adminQuery(
    url,
    `set scram_iterations = 1; alter role ${username} password '${decodeURIComponent(password)}'`,
  )
}
