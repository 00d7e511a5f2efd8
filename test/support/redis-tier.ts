import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import net from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { RedisContainer } from '@testcontainers/redis'
import { listenLocally } from './local-server.ts'
import { containerOf, type Tier } from './postgres-tier.ts'

/**
 * Starts Redis for the tests. Returns undefined on a machine without Redis. With CI or REQUIRE_REDIS=1 that is an error,
 * so that the tests cannot be skipped silently.
 */
export async function startRedisTier(containers: boolean): Promise<Tier | undefined> {
  const given = process.env.TEST_REDIS_URL
  if (given !== undefined && given !== '') {
    return { url: given, how: 'TEST_REDIS_URL', stop: async () => undefined }
  }
  const container = containers && (await containerOf(startContainer))
  if (container) return container
  if (hasRedisServer()) return startProcess()
  if (process.env.CI !== undefined || process.env.REQUIRE_REDIS !== undefined) {
    throw new Error('Redis is required here: install redis-server, or set TEST_REDIS_URL')
  }
  return undefined
}

/** Whether this machine has redis-server, so that a test can freeze or restart its own Redis. */
export function hasRedisServer(): boolean {
  return spawnSync('redis-server', ['--version']).error === undefined
}

async function startContainer(): Promise<Tier> {
  const container = await new RedisContainer('redis:8-alpine').start()
  return {
    url: container.getConnectionUrl(),
    how: 'a container',
    stop: async () => {
      await container.stop()
    },
  }
}

async function startProcess(): Promise<Tier> {
  const port = await freePort()
  const server = await startRedisServer(port)
  return {
    url: `redis://127.0.0.1:${port}`,
    how: 'redis-server',
    stop: () => stopRedisServer(server),
  }
}

/** Starts a redis-server in a temporary directory. Resolves when it accepts connections. */
export async function startRedisServer(port: number): Promise<ChildProcess> {
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no']
  const dir = mkdtempSync(join(tmpdir(), 'farewatch-redis-'))
  const server = spawn('redis-server', [...args, '--maxmemory-policy', 'noeviction'], {
    cwd: dir,
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  server.once('exit', () => rmSync(dir, { recursive: true, force: true }))
  for await (const chunk of server.stdout) {
    if (String(chunk).includes('Ready to accept connections')) return server
  }
  throw new Error(`redis-server did not start on port ${port}`)
}

export async function stopRedisServer(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return
  server.kill('SIGTERM')
  await once(server, 'exit')
}

export async function freePort(): Promise<number> {
  const { port, close } = await listenLocally(net.createServer())
  await close()
  return port
}
