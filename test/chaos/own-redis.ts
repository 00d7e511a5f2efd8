import { Redis } from 'ioredis'
import { freePort, startRedisServer, stopRedisServer } from '../support/redis-tier.ts'
import { createTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts'

/** A Redis for one test, behind a TCP proxy. */
export interface OwnRedis {
  readonly proxy: TcpProxy
  /** The direct URL, not through the proxy. */
  readonly url: string
  /** Runs a command, not through the proxy. */
  command(...command: readonly string[]): Promise<unknown>
  /** Stops the server and starts it again with no data. */
  restart(): Promise<void>
  close(): Promise<void>
}

export async function startOwnRedis(): Promise<OwnRedis> {
  const port = await freePort()
  let server = await startRedisServer(port)
  const proxy = await createTcpProxy({ host: '127.0.0.1', port })
  return {
    proxy,
    url: `redis://127.0.0.1:${port}`,
    command: async (name = '', ...args) => {
      const redis = new Redis(port, '127.0.0.1')
      try {
        return await redis.call(name, ...args)
      } finally {
        redis.disconnect()
      }
    },
    restart: async () => {
      await stopRedisServer(server)
      server = await startRedisServer(port)
    },
    close: async () => {
      await proxy.close()
      await stopRedisServer(server)
    },
  }
}
