import { Redis } from 'ioredis'
import { inject } from 'vitest'
import { freePort, startRedisServer, stopRedisServer } from '../../support/redis-tier.ts'
import { createTcpProxy } from '../../support/tcp-proxy.ts'
import type { TestStore } from './test-store.ts'

/** A database on the Redis of this run. Other tests share the server, so a restart only closes the connections. */
export async function openRedis(): Promise<TestStore> {
  const url = new URL(inject('redisUrl') ?? '')
  url.pathname = `/${Number(process.env.VITEST_POOL_ID ?? 1) % 16}`
  const store = await openAt(url)
  return {
    ...store,
    restart: async () => store.door.cut(),
  }
}

/** A Redis for one test file, which may be stopped, filled and reconfigured. */
export async function openOwnRedis(): Promise<TestStore> {
  const port = await freePort()
  let server = await startRedisServer(port)
  const store = await openAt(new URL(`redis://127.0.0.1:${port}`))
  return {
    ...store,
    restart: async () => {
      await stopRedisServer(server)
      server = await startRedisServer(port)
    },
    close: async () => {
      await store.close()
      await stopRedisServer(server)
    },
  }
}

async function openAt(url: URL): Promise<Omit<TestStore, 'restart'>> {
  const door = await createTcpProxy({ host: url.hostname, port: Number(url.port || 6379) })
  const throughDoor = new URL(url)
  throughDoor.host = `127.0.0.1:${door.port}`
  return {
    connection: { kind: 'redis', url: throughDoor.href },
    door,
    ask: (command) => {
      const [name = '', ...args] = command.split(' ')
      return withRedis(url, (redis) => redis.call(name, ...args))
    },
    wipe: async () => {
      await withRedis(url, (redis) => redis.flushdb())
    },
    dump: async () => JSON.stringify(await withRedis(url, dumpKeys)),
    close: () => door.close(),
  }
}

async function dumpKeys(redis: Redis): Promise<unknown[]> {
  const keys = await redis.keys('*')
  const read: Record<string, (key: string) => Promise<unknown>> = {
    string: (key) => redis.get(key),
    hash: (key) => redis.hgetall(key),
    list: (key) => redis.lrange(key, 0, -1),
    set: (key) => redis.smembers(key),
    zset: (key) => redis.zrange(key, '0', '-1'),
    stream: (key) => redis.xrange(key, '-', '+'),
  }
  return Promise.all(keys.map(async (key) => [key, await read[await redis.type(key)]?.(key)]))
}

async function withRedis<T>(url: URL, work: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = new Redis(url.href)
  try {
    return await work(redis)
  } finally {
    redis.disconnect()
  }
}
