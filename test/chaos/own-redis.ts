import { Redis } from 'ioredis'
import { freePort, startRedisServer, stopRedisServer } from '../support/redis-tier.ts'
import { createTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts'

/** A Redis of one world alone, behind a door. */
export interface OwnRedis {
  readonly door: TcpProxy
  /** Not through the door. */
  readonly url: string
  /** A command, not through the door. */
  ask(...command: readonly string[]): Promise<unknown>
  /** Ends the server and starts it again; it has kept nothing. */
  restart(): Promise<void>
  close(): Promise<void>
}

export async function startOwnRedis(): Promise<OwnRedis> {
  const port = await freePort()
  let server = await startRedisServer(port)
  const door = await createTcpProxy({ host: '127.0.0.1', port })
  return {
    door,
    url: `redis://127.0.0.1:${port}`,
    ask: async (name = '', ...args) => {
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
      await door.close()
      await stopRedisServer(server)
    },
  }
}
