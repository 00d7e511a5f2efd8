import { chown, mkdtemp, readFile, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { ensureData, SUPERUSER } from '../../src/embedded/postgres-data.ts'
import { findPlace } from '../../src/embedded/postgres-place.ts'
import {
  findPostmaster,
  postgresProcessesIn,
  stopServer,
} from '../../src/embedded/server-process.ts'
import { startServer } from '../../src/embedded/start-server.ts'
import { openDatabase } from '../../src/platform/db/database.ts'
import { migrate } from '../../src/platform/db/migrate.ts'
import { migrateQueue } from '../../src/platform/queue/queue-connection.ts'
import { adminQuery, databaseUrl } from '../support/postgres-server.ts'
import { freePort } from '../support/redis-tier.ts'
import { silentLog } from '../support/silent-log.ts'
import { eventually } from './eventually.ts'

/** A PostgreSQL server for one test file. It is as durable as in production: fsync and the like stay on. */
export interface ChaosPostgres {
  /** The URL of the maintenance database. */
  readonly url: string
  /** Creates a database and returns its URL. */
  createDatabase(name: string, options?: DatabaseOptions): Promise<string>
  createTablespace(name: string, folder: string): Promise<void>
  /** Kills the server as a crash would: it writes nothing and notifies no client. Resolves when its processes have ended. */
  crash(): Promise<void>
  /** Starts the server again on the same port, with crash recovery. */
  start(): Promise<void>
  close(): Promise<void>
}

export interface DatabaseOptions {
  /** Default: true. */
  readonly migrated?: boolean
  readonly tablespace?: string
}

const SETTINGS = { max_connections: '400' }

/** @param directory an empty folder for the data. Default: a folder of its own. */
export async function startChaosPostgres(directory?: string): Promise<ChaosPostgres> {
  const home = await mkdtemp(path.join(os.tmpdir(), 'farewatch-chaos-'))
  const found = await findPlace(home)
  const place = directory ? { ...found, directory, data: path.join(directory, 'data') } : found
  await ensureData(place, SETTINGS)
  const port = await freePort()
  const start = async () => void (await startServer(place, port, SETTINGS))
  await start()
  const password = (await readFile(place.passwordFile, 'utf8')).trim()
  const url = `postgres://${SUPERUSER}:${password}@127.0.0.1:${port}/postgres`
  return {
    url,
    start,
    createDatabase: async (name, { migrated = true, tablespace = 'pg_default' } = {}) => {
      await adminQuery(url, `create database ${name} tablespace ${tablespace}`)
      const made = databaseUrl(url, name)
      if (migrated) await migrateAll(made)
      return made
    },
    createTablespace: async (name, folder) => {
      if (place.user !== undefined) await chown(folder, place.user.uid, place.user.gid)
      await adminQuery(url, `create tablespace ${name} location '${folder}'`)
    },
    crash: async () => {
      const postmaster = await findPostmaster(place.data)
      if (postmaster !== undefined) process.kill(postmaster.pid, 'SIGQUIT')
      await eventually('the end of the server', async () => {
        return (await postgresProcessesIn(place.data)).length === 0
      })
    },
    close: async () => {
      await stopServer(place.data, silentLog)
      for (const folder of [place.data, found.directory]) {
        await rm(folder, { recursive: true, force: true })
      }
      await rm(home, { recursive: true, force: true })
    },
  }
}

async function migrateAll(url: string): Promise<void> {
  const { db, pool, close } = openDatabase({ url, applicationName: 'test', log: silentLog })
  await migrate(db)
  const client = await pool.connect()
  await migrateQueue(client)
  client.release()
  await close()
}
