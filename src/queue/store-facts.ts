import { type IQueueBackend, PostgresQueueBackend, RedisQueueBackend } from 'bullmq'
import type { Clock } from '../base/clock.ts'

/** What the store says of itself. */
export interface StoreFacts {
  /**
   * The store's clock minus ours, in milliseconds, good to about the half of one round trip.
   *
   * Delays, and on Postgres locks and stall checks, are reckoned with the client's clock: a process that is
   * wrong by more than a lock's length takes jobs away from others, or loses its own.
   */
  readonly clockSkewMs: number
  /** Where the store is Redis. */
  readonly redis?: RedisFacts
}

export interface RedisFacts {
  readonly version: string
  /** Anything but `noeviction` drops jobs when memory is short. */
  readonly evictionPolicy: string
  readonly usedBytes: number
  /** 0 where nothing but the machine is the limit. */
  readonly maxBytes: number
  /** Whether every write is kept in a file (AOF): without, a restart forgets what came since the last dump. */
  readonly appendOnly: boolean
  /** Whether its last write to the disk failed: it refuses commands then. */
  readonly writesFail: boolean
  /** A replica refuses to be written. */
  readonly replica: boolean
}

/** Asks the store once. Throws what the driver throws. */
export async function readStoreFacts(backend: IQueueBackend, clock: Clock): Promise<StoreFacts> {
  const asked = clock.now().getTime()
  const { storeNow, ...rest } = await askStore(backend)
  const middle = (asked + clock.now().getTime()) / 2
  return { clockSkewMs: Math.round(storeNow - middle), ...rest }
}

async function askStore(backend: IQueueBackend): Promise<{ storeNow: number; redis?: RedisFacts }> {
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
  throw new TypeError('no backend of ours')
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
