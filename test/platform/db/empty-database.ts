import { randomUUID } from 'node:crypto'
import { inject, onTestFinished } from 'vitest'
import { type Database, openDatabase } from '../../../src/platform/db/database.ts'
import { adminQuery, databaseUrl } from '../../support/postgres-server.ts'
import { silentLog } from '../../support/silent-log.ts'

/** The address of an empty database for this test. */
export async function createEmptyDatabase(): Promise<string> {
  const server = inject('postgresUrl')
  const name = `farewatch_test_${randomUUID().replaceAll('-', '')}`
  await adminQuery(server, `create database ${name}`)
  onTestFinished(() => adminQuery(server, `drop database if exists ${name} with (force)`))
  return databaseUrl(server, name)
}

/** A second pool, like that of another process. It is closed after the test. */
export function openAnother(url: string): Database {
  const database = openDatabase({ url, applicationName: 'test another', log: silentLog })
  onTestFinished(() => database.close())
  return database
}
