import { type IQueueBackend, PostgresQueueBackend, RedisQueueBackend } from 'bullmq'
import type { Clock } from '../base/clock.ts'

/** Properties of the store that can endanger jobs. */
export interface StoreFacts {
  /**
   * The store's clock minus ours, in milliseconds, accurate to about half of one round trip.
   *
   * Delays, and on Postgres also locks and stall checks, are computed with the client's clock. A process whose clock is
   * wrong by more than the duration of a lock takes jobs of other processes or loses its own.
   */
  readonly clockSkewMs: number
  /** Present if the store is Redis. */
  readonly redis?: RedisFacts
}

export interface RedisFacts {
  readonly version: string
  /** Any policy except `noeviction` drops jobs when memory runs out. */
  readonly evictionPolicy: string
  readonly usedBytes: number
  /** 0 if the memory of the machine is the only limit. */
  readonly maxBytes: number
  /** Whether every write is appended to a file (AOF). Without it a restart loses the writes since the last dump. */
  readonly appendOnly: boolean
  /** Whether its last write to disk failed. It then refuses commands. */
  readonly writesFail: boolean
  /** Whether it is a replica, which refuses writes. */
  readonly replica: boolean
}

/** Reads the facts from the store. Throws the driver's errors. */
export async function readStoreFacts(backend: IQueueBackend, clock: Clock): Promise<StoreFacts> {
  const sentAt = clock.now().getTime()
  const { storeNow, ...rest } = await queryStore(backend)
  const middle = (sentAt + clock.now().getTime()) / 2
  return { clockSkewMs: Math.round(storeNow - middle), ...rest }
}

async function queryStore(
  backend: IQueueBackend,
): Promise<{ storeNow: number; redis?: RedisFacts }> {
  if (backend instanceof PostgresQueueBackend) {
    const { rows } = await backend.connection.pool.query<{ ms: string }>(
      'select extract(epoch from clock_timestamp()) * 1000 as ms',
    )
    return { storeNow: Number(rows[0]?.ms) }
  }
  if (backend instanceof RedisQueueBackend) {
    const info = await (await backend.client).info()
    return { storeNow: Number(fieldOf(info, 'server_time_usec')) / 1000, redis: redisFacts(info) }
  }
  throw new TypeError('unknown queue backend')
}

function redisFacts(info: string): RedisFacts {
  const is = (name: string, value: string) => fieldOf(info, name) === value
  return {
    version: fieldOf(info, 'redis_version') ?? 'unknown',
    evictionPolicy: fieldOf(info, 'maxmemory_policy') ?? 'unknown',
    usedBytes: Number(fieldOf(info, 'used_memory') ?? 0),
    maxBytes: Number(fieldOf(info, 'maxmemory') ?? 0),
    appendOnly: is('aof_enabled', '1'),
    writesFail: is('aof_last_write_status', 'err') || is('rdb_last_bgsave_status', 'err'),
    replica: is('role', 'slave'),
  }
}

function fieldOf(info: string, name: string): string | undefined {
  return new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1]
}
