import { test } from 'vitest'
import { type Db, openDatabase } from '../../src/db/database.ts'
import { openApi } from '../support/api-server.ts'
import { silentLog } from '../support/silent-log.ts'
import { cloneDatabase } from '../support/test-database.ts'
import { type Seed, seedApi } from './seed.ts'

export interface SharedApi {
  readonly db: Db
  readonly seed: Seed
  readonly base: string
}

/** One seeded API for all tests of a file. Its requests are refused or only read, so no test affects another. */
export const it = test.extend<{ api: SharedApi }>({
  api: [
    // biome-ignore lint/correctness/noEmptyPattern: vitest reads the names of the fixtures from this pattern
    async ({}, use) => {
      const clone = await cloneDatabase()
      const { db, close } = openDatabase({
        url: clone.url,
        applicationName: 'test',
        log: silentLog,
      })
      const seed = await seedApi(db)
      const api = await openApi(db)
      await use({ db, seed, base: api.base })
      await api.close()
      await close()
      await clone.drop()
    },
    { scope: 'file' },
  ],
})
