import { type Db, openDatabase } from '../../src/platform/db/database.ts'
import { type ApiArgs, openApi } from '../support/api-server.ts'
import { silentLog } from '../support/silent-log.ts'
import { cloneDatabase, it as withDatabase } from '../support/test-database.ts'
import { newCaller, type ResellerCalls } from './reseller-calls.ts'
import { type Seed, seedApi } from './seed.ts'

export interface SeededDatabase {
  readonly db: Db
  readonly seed: Seed
}

export interface SharedApi extends SeededDatabase {
  readonly base: string
}

interface Fixtures {
  /** A seeded database that other fixtures copy. A copy takes a fifth of the time that the seed takes. */
  template: { readonly name: string; readonly seed: Seed }
  /** A seeded database for one test. */
  seeded: SeededDatabase
  /** One seeded API for all tests of a file: they refuse, only read, or have a reseller of their own. */
  api: SharedApi
  /** A reseller of its own on that API. */
  ana: ResellerCalls
}

let callers = 0

/** A reseller of its own, with a key, on an API that tests share. */
export function ownCaller({ db, base }: SharedApi): Promise<ResellerCalls> {
  callers += 1
  return newCaller(db, base, `reseller ${callers}`)
}

/** Opens a copy of the template, or of the migrated database. */
async function openCopy(template?: string) {
  const clone = await cloneDatabase(template)
  const { db, close } = openDatabase({ url: clone.url, applicationName: 'test', log: silentLog })
  return { name: clone.name, drop: clone.drop, db, close }
}

/** Serves a copy of the seeded database while it is used. */
export async function useSeededApi(
  { name, seed }: Fixtures['template'],
  args: ApiArgs,
  use: (api: SharedApi) => Promise<void>,
): Promise<void> {
  const { db, close, drop } = await openCopy(name)
  const { base, close: closeApi } = await openApi(db, args)
  await use({ db, seed, base })
  await closeApi()
  await close()
  await drop()
}

export const it = withDatabase.extend<Fixtures>({
  template: [
    // biome-ignore lint/correctness/noEmptyPattern: vitest reads the names of the fixtures from this pattern
    async ({}, use) => {
      const { name, db, close, drop } = await openCopy()
      const seed = await seedApi(db)
      await close()
      await use({ name, seed })
      await drop()
    },
    { scope: 'worker' },
  ],
  seeded: async ({ template: { name, seed } }, use) => {
    const { db, close, drop } = await openCopy(name)
    await use({ db, seed })
    await close()
    await drop()
  },
  api: [async ({ template }, use) => useSeededApi(template, {}, use), { scope: 'file' }],
  ana: async ({ api }, use) => use(await ownCaller(api)),
})
