import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { inject, test } from 'vitest'
import { type Database, type Db, openDatabase } from '../../src/platform/db/database.ts'
import { databaseUrl } from './postgres-server.ts'
import { silentLog } from './silent-log.ts'

let admin: pg.Pool | undefined

/** The connection over which all tests of this worker create and drop their databases. */
function adminPool(): pg.Pool {
  admin ??= new pg.Pool({
    connectionString: inject('postgresUrl'),
    max: 1,
    idleTimeoutMillis: 0,
    allowExitOnIdle: true,
  })
  return admin
}

/** A database of one test. */
export interface TestDatabase {
  readonly name: string
  readonly url: string
  drop(): Promise<void>
}

/** Copies a template database, by default the migrated one. PostgreSQL refuses the copy while a session is connected to the template. */
export async function cloneDatabase(template = inject('templateName')): Promise<TestDatabase> {
  const name = `farewatch_test_${randomUUID().replaceAll('-', '')}`
  await adminPool().query(`create database ${name} template ${template} strategy file_copy`)
  return {
    name,
    url: databaseUrl(inject('postgresUrl'), name),
    drop: async () => {
      await adminPool().query(`drop database if exists ${name} with (force)`)
    },
  }
}

interface StoreFixtures {
  /** The URL of a database that only this test uses. */
  databaseUrl: string
  database: Database
  db: Db
}

/** A test that takes `db` or `databaseUrl` gets a fresh clone on a real PostgreSQL. */
export const it = test.extend<StoreFixtures>({
  // biome-ignore lint/correctness/noEmptyPattern: vitest reads the names of the fixtures from this pattern
  databaseUrl: async ({}, use) => {
    const clone = await cloneDatabase()
    await use(clone.url)
    await clone.drop()
  },
  database: async ({ databaseUrl: url }, use) => {
    const database = openDatabase({ url, applicationName: 'test', log: silentLog })
    await use(database)
    await database.close()
  },
  db: async ({ database }, use) => {
    await use(database.db)
  },
})

/** Counts the connections taken from the pool since the call. */
export function countQueries({ pool }: Database): () => number {
  let taken = 0
  pool.on('acquire', () => {
    taken += 1
  })
  return () => taken
}
