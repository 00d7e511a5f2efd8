/** `npm run db:types`: writes src/db/tables.ts from a database that has all migrations. */
import { writeFile } from 'node:fs/promises'
import { openDatabase } from '../../src/db/database.ts'
import { migrate } from '../../src/db/migrate.ts'
import { adminQuery, databaseUrl } from '../support/postgres-server.ts'
import { startPostgresTier } from '../support/postgres-tier.ts'
import { silentLog } from '../support/silent-log.ts'
import { generateTables } from './generate-tables.ts'

const NAME = 'farewatch_test_types'

const server = await startPostgresTier(false)
try {
  await adminQuery(server.url, `drop database if exists ${NAME} with (force)`)
  await adminQuery(server.url, `create database ${NAME}`)
  const url = databaseUrl(server.url, NAME)
  const { db, close } = openDatabase({ url, applicationName: 'db:types', log: silentLog })
  await migrate(db)
  await writeFile(new URL('../../src/db/tables.ts', import.meta.url), await generateTables(db))
  await close()
} finally {
  await server.stop()
}
