import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, expect, onTestFinished } from 'vitest'
import { findPlace } from '../../src/embedded/postgres-place.ts'
import { postgresProcessesIn } from '../../src/embedded/server-process.ts'
import { addressesOf, startInTest } from '../support/child-process.ts'
import { freePort, hasRedisServer, startRedisServer } from '../support/redis-tier.ts'
import { it } from '../support/test-database.ts'
import { until } from '../support/until.ts'

const FAREWATCH = path.resolve(import.meta.dirname, '../../bin/farewatch')

async function newHome(): Promise<string> {
  const home = await mkdtemp(path.join(os.tmpdir(), 'farewatch-life-'))
  onTestFinished(async () => {
    const { directory } = await findPlace(home)
    await rm(directory, { recursive: true, force: true })
    await rm(home, { recursive: true, force: true })
  })
  return home
}

describe('a running farewatch', () => {
  it.runIf(hasRedisServer())('ends in time though its Redis is frozen', async ({ databaseUrl }) => {
    const port = await freePort()
    const redis = await startRedisServer(port)
    onTestFinished(() => void redis.kill('SIGKILL'))
    const worker = startInTest(['worker'], {
      DATABASE_URL: databaseUrl,
      REDIS_URL: `redis://127.0.0.1:${port}`,
      UPSTREAM_BASE_URL: 'http://127.0.0.1:9',
      ADMIN_PORT: '0',
    })
    await addressesOf(worker)
    redis.kill('SIGSTOP')

    worker.child.kill('SIGTERM')

    expect([0, 1]).toContain(await worker.ended)
  })
})

/** The text that the shell wrote about the end of its command. Undefined until the command has ended. */
function exitIn(folder: string): Promise<string | undefined> {
  return readFile(path.join(folder, 'exit'), 'utf8').then(
    (written) => written || undefined,
    () => undefined,
  )
}

it('a command whose output pipe is closed stops its embedded database', async () => {
  const home = await newHome()
  const env = { PATH: process.env.PATH ?? '', FAREWATCH_HOME: home }
  const question = 'select generate_series(1, 200000)'
  const pipeline = `{ "${FAREWATCH}" sql "${question}" --csv; echo $? > exit; } | head -1`
  const shell = spawn('sh', ['-c', pipeline], { env, cwd: home })
  const read = text(shell.stdout)
  await once(shell, 'close')

  expect(await read).toBe('generate_series\n')
  const exit = await until('the end of the command', () => exitIn(home))
  expect(exit).toBe('0\n')
  const { data } = await findPlace(home)
  expect(await readdir(data)).toContain('PG_VERSION')
  await until('no server', async () => (await postgresProcessesIn(data)).length === 0)
})
