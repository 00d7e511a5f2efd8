import { inject, onTestFinished } from 'vitest'
import type { QueueConnection } from '../../src/platform/queue/queue-connection.ts'
import { createQueueSystem, type QueueSystem } from '../../src/platform/queue/queue-system.ts'
import { freePort, hasRedisServer, startRedisServer } from '../support/redis-tier.ts'
import { type Ran, runCommand } from '../support/run-command.ts'
import { silentLog } from '../support/silent-log.ts'
import { until } from '../support/until.ts'

/** The stores of the queue that this test run has. */
export const STORES: readonly ('postgres' | 'redis')[] =
  inject('redisUrl') === null || !hasRedisServer() ? ['postgres'] : ['postgres', 'redis']

/** A Redis for this test alone, because the queues of real processes always have the same names. */
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

/** The environment of commands without an upstream. */
export async function aWorld(databaseUrl: string, store: 'postgres' | 'redis'): Promise<World> {
  const env = { DATABASE_URL: databaseUrl, UPSTREAM_BASE_URL: 'http://127.0.0.1:9' }
  if (store === 'postgres') return { env, connection: { kind: 'postgres', url: databaseUrl } }
  const url = await ownRedis()
  return { env: { ...env, REDIS_URL: url }, connection: { kind: 'redis', url } }
}

/** Runs a command in that environment, given as one line or by its words. */
export function inWorld({ env }: World): (...args: string[]) => Promise<Ran> {
  return (...args) => runCommand(args.length === 1 ? (args[0]?.split(' ') ?? []) : args, env)
}

/** The lines of `--json`. */
export function jsonLines({ stdout }: Ran): Record<string, unknown>[] {
  return stdout
    .trim()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
}

/** A queue system on the store of the environment, closed after the test. */
export function queueOf({ connection }: World): QueueSystem {
  const system = createQueueSystem({ connection, log: silentLog, scrub: (text) => text })
  onTestFinished(() => system.close({ graceMs: 1_000 }))
  return system
}

/** Makes jobs of a queue fail for good, each with this message. */
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
