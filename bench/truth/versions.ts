import { execFile, fork } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, mkdtemp, rm, symlink } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { acquireEmbeddedPostgres } from '../../src/embedded/postgres.ts'
import { findPlace } from '../../src/embedded/postgres-place.ts'
import { cpuSecondsOfProcess, cpuSecondsOfServer, log, readPostmaster } from '../verify-fixture.ts'

/** A version of the product, in a checkout of its own. */
export interface Version {
  readonly name: string
  readonly root: string
}

/** The version to compare with, if none is named: the last one with holds by kind. */
export const BEFORE = '4e915278'
const ROOT = path.join(import.meta.dirname, '../..')
/** What plays the world must be the same in both checkouts. */
const PLAYED_BY = [
  'bench/truth',
  'bench/schedule/random.ts',
  'sandbox/world',
  'test/support/silent-log.ts',
]

/** This version, and a commit before it in a temporary folder; `none` for this version alone. */
export async function checkOut(
  commit: string,
): Promise<{ versions: Version[]; remove(): Promise<void> }> {
  const now = { name: 'now', root: ROOT }
  if (commit === 'none') return { versions: [now], remove: async () => undefined }
  const root = await mkdtemp(path.join(os.tmpdir(), 'farewatch-before-'))
  const archive = path.join(root, 'before.tar')
  const run = promisify(execFile)
  await run('git', ['-C', ROOT, 'archive', '--output', archive, commit])
  await run('tar', ['-x', '-f', archive, '-C', root])
  await symlink(path.join(ROOT, 'node_modules'), path.join(root, 'node_modules'))
  for (const name of PLAYED_BY) {
    await rm(path.join(root, name), { recursive: true, force: true })
    await mkdir(path.dirname(path.join(root, name)), { recursive: true })
    await cp(path.join(ROOT, name), path.join(root, name), { recursive: true })
  }
  const remove = () => rm(root, { recursive: true, force: true })
  return { versions: [{ name: 'before', root }, now], remove }
}

/** Nothing that is played must survive a crash. No other process may decide when a table is analyzed: plans depend on it. */
const FAST = {
  autovacuum: 'off',
  max_parallel_workers_per_gather: '0',
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  wal_level: 'minimal',
  max_wal_senders: '0',
}

interface Server {
  readonly url: string
  readonly postmaster: number
  close(): Promise<void>
}

/** Each version has a server of its own: the order of rows that are equal depends on what else a server does. */
async function startServer(): Promise<Server> {
  const home = await mkdtemp(path.join(os.tmpdir(), 'farewatch-bench-'))
  const { url, release } = await acquireEmbeddedPostgres({ home, log, settings: FAST })
  const { directory, data } = await findPlace(home)
  return {
    url,
    postmaster: readPostmaster(data),
    close: async () => {
      await release()
      await rm(directory, { recursive: true, force: true })
      await rm(home, { recursive: true, force: true })
    },
  }
}

export interface Cost {
  /** CPU time of the process and of its server, since the process has said that it begins. */
  readonly cpuSeconds: number
}

/**
 * Runs a file of bench/truth in the checkout of a version, on an empty database. The file gets its job as JSON, sends
 * `begun` and then its result, and ends when it gets an answer, or with this process.
 */
export async function runIn<T>(
  { name, root }: Version,
  file: string,
  job: object,
): Promise<T & Cost> {
  const server = await startServer()
  const given = JSON.stringify({ ...job, databaseUrl: server.url })
  const child = fork(path.join(root, 'bench/truth', file), [given], { cwd: root })
  const cpuSeconds = () =>
    cpuSecondsOfProcess(child.pid ?? 0) + cpuSecondsOfServer(server.postmaster)
  try {
    let begunAt = 0
    for (;;) {
      const [message, signal] = await Promise.race([once(child, 'message'), once(child, 'exit')])
      if (message === null || typeof message !== 'object') {
        throw new Error(`the version ${name} ended with ${message ?? signal}`)
      }
      if ('begun' in message) begunAt = cpuSeconds()
      else {
        const result = { ...message.result, cpuSeconds: cpuSeconds() - begunAt }
        child.send('end')
        await once(child, 'exit')
        return result
      }
    }
  } finally {
    child.kill()
    await server.close()
  }
}
