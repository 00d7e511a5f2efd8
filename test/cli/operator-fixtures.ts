import { inject, onTestFinished } from 'vitest'
import type { QueueConnection } from '../../src/queue/queue-connection.ts'
import { createQueueSystem, type QueueSystem } from '../../src/queue/queue-system.ts'
import { freePort, hasRedisServer, startRedisServer } from '../support/redis-tier.ts'
import { type Ran, runCommand } from '../support/run-command.ts'
import { silentLog } from '../support/silent-log.ts'
import { until } from '../support/until.ts'

/** The stores on which the queue may live, of those that this run has. */
export const STORES: readonly ('postgres' | 'redis')[] =
  inject('redisUrl') === null || !hasRedisServer() ? ['postgres'] : ['postgres', 'redis']

/** A Redis of this test's own: the queues of a real process have the same names everywhere. */
export async function ownRedis(): Promise<string> {
  const port = await freePort()
  const server = await startRedisServer(port)
  onTestFinished(() => void server.kill('SIGKILL'))
  return `redis://127.0.0.1:${port}`
}

export interface World {
  readonly env: Readonly<Record<string, string>>
  readonly connection: QueueConnection
}

/** What commands need to know of a world whose upstream is nobody. */
export async function aWorld(databaseUrl: string, store: 'postgres' | 'redis'): Promise<World> {
  const env = { DATABASE_URL: databaseUrl, UPSTREAM_BASE_URL: 'http://127.0.0.1:9' }
  if (store === 'postgres') return { env, connection: { kind: 'postgres', url: databaseUrl } }
  const url = await ownRedis()
  return { env: { ...env, REDIS_URL: url }, connection: { kind: 'redis', url } }
}

/** Runs a command in that world. */
export function inWorld({ env }: World): (...args: string[]) => Promise<Ran> {
  return (...args) => runCommand(args, env)
}

/** The lines of `--json`. */
export function jsonLines({ stdout }: Ran): Record<string, unknown>[] {
  return stdout
    .trim()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
}

/** A queue system on the world's store, closed after the test. */
export function queueOf({ connection }: World): QueueSystem {
  const system = createQueueSystem({ connection, log: silentLog, scrub: (text) => text })
  onTestFinished(() => system.close({ graceMs: 1_000 }))
  return system
}

/** Makes so many jobs of a queue die, each with this message. */
export async function killJobs(
  system: QueueSystem,
  { queue, count, message }: { queue: string; count: number; message: string },
): Promise<void> {
  for (let n = 1; n <= count; n += 1) {
    await system.enqueue(queue, { payload: { claimId: `claim-${n}` }, attempts: 1 })
  }
  const worker = await system.work(queue, () => Promise.reject(new Error(message)))
  await until('the jobs dead', async () => (await system.counts(queue)).failed === count)
  await worker.close(1_000)
}
