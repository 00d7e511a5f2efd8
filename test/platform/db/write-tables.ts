/** `npm run db:types`: writes src/platform/db/tables.ts from a database that has all migrations. */
import { writeFile } from 'node:fs/promises'
import { openDatabase } from '../../../src/platform/db/database.ts'
import { migrate } from '../../../src/platform/db/migrate.ts'
import { adminQuery, databaseUrl } from '../../support/postgres-server.ts'
import { startPostgresTier } from '../../support/postgres-tier.ts'
import { silentLog } from '../../support/silent-log.ts'
import { generateTables } from './generate-tables.ts'

const NAME = 'farewatch_test_types'

const server = await startPostgresTier(false)
try {
  await adminQuery(server.url, `drop database if exists ${NAME} with (force)`)
  await adminQuery(server.url, `create database ${NAME}`)
  const url = databaseUrl(server.url, NAME)
  const { db, close } = openDatabase({ url, applicationName: 'db:types', log: silentLog })
  await migrate(db)
  await writeFile(
    new URL('../../../src/platform/db/tables.ts', import.meta.url),
    await generateTables(db),
  )
  await close()
} finally {
  await server.stop()
}
