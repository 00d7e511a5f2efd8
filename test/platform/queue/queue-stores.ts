import { afterAll, beforeAll, describe, inject } from 'vitest'
import { hasRedisServer } from '../../support/redis-tier.ts'
import { openPostgres } from './postgres-store.ts'
import { openOwnRedis, openRedis } from './redis-store.ts'
import type { TestStore } from './test-store.ts'

type StoreTests = (store: () => TestStore) => void

/** Runs the same tests on every available backend. */
export function describeStores(name: string, tests: StoreTests): void {
  describePostgres(name, tests)
  describe.skipIf(inject('redisUrl') === null)(`${name} on redis`, () => useStore(openRedis, tests))
}

export function describePostgres(name: string, tests: StoreTests): void {
  describe(`${name} on postgres`, () => useStore(openPostgres, tests))
}

/** For tests that stop or reconfigure the server. */
export function describeOwnRedis(name: string, tests: StoreTests): void {
  describe.skipIf(!hasRedisServer())(`${name} on redis`, () => useStore(openOwnRedis, tests))
}

function useStore(open: () => Promise<TestStore>, tests: StoreTests): void {
  let store: TestStore
  beforeAll(async () => {
    store = await open()
  })
  afterAll(() => store.close())
  tests(() => store)
}
