/** `npm run db:dictionary`: writes the dictionary and the dbt sources from a database that has all migrations. */
import { writeFile } from 'node:fs/promises'
import { openDatabase } from '../../src/platform/db/database.ts'
import { migrate } from '../../src/platform/db/migrate.ts'
import { adminQuery, databaseUrl } from '../support/postgres-server.ts'
import { startPostgresTier } from '../support/postgres-tier.ts'
import { silentLog } from '../support/silent-log.ts'
import { dbtSources, dictionaryPage, readDictionary } from './generate-dictionary.ts'

const NAME = 'farewatch_test_dictionary'
const ROOT = new URL('../../', import.meta.url)

const server = await startPostgresTier(false)
try {
  await adminQuery(server.url, `drop database if exists ${NAME} with (force)`)
  await adminQuery(server.url, `create database ${NAME}`)
  const url = databaseUrl(server.url, NAME)
  const { db, close } = openDatabase({ url, applicationName: 'db:dictionary', log: silentLog })
  await migrate(db)
  const tables = await readDictionary(db)
  await writeFile(new URL('docs/reference/dictionary.md', ROOT), dictionaryPage(tables))
  await writeFile(new URL('docs/analytics/dbt/sources.yml', ROOT), dbtSources(tables))
  await close()
} finally {
  await server.stop()
}
