import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { describe, expect, onTestFinished } from 'vitest'
import { startTestSandbox } from '../sandbox/support.ts'
import { firstLine, type RunningCommand, startInTest } from '../support/child-process.ts'
import { runCommand } from '../support/run-command.ts'
import { it } from '../support/test-database.ts'
import { until } from '../support/until.ts'

/** Starts `up` on a database and an upstream of its own, and reads where its API is. */
async function startUp(env: Record<string, string>) {
  const up = startInTest(['up'], { API_PORT: '0', ADMIN_PORT: '0', ...env })
  const link = await until('the link', () => /"link":"([^"]+)"/.exec(up.stdout())?.[1])
  return { up, link, base: new URL(link).origin }
}

async function stop({ child, ended }: RunningCommand): Promise<void> {
  child.kill('SIGTERM')
  await ended
}

describe('signing in', () => {
  // Fault: `up` starts for the first time, where other machines reach it.
  it('up makes keys once and prints a link, and commands call the API with the keys', async ({
    databaseUrl,
  }) => {
    const home = await mkdtemp(path.join(os.tmpdir(), 'farewatch-keys-'))
    onTestFinished(() => rm(home, { recursive: true, force: true }))
    const sandbox = await startTestSandbox()
    onTestFinished(() => sandbox.close())
    const env = {
      DATABASE_URL: databaseUrl,
      UPSTREAM_BASE_URL: sandbox.url,
      FAREWATCH_HOME: home,
      API_HOST: '0.0.0.0',
    }
    const { up, link, base } = await startUp(env)

    expect(base).toMatch(/^http:\/\/localhost:\d+$/)
    expect((await fetch(`${base}/api/v1/status`)).status).toBe(401)
    const code = /#\/sign-in\/(\S+)$/.exec(link)?.[1]
    const headers = { 'content-type': 'application/json' }
    const body = JSON.stringify({ code })
    const given = await fetch(`${base}/api/v1/sign-in`, { method: 'POST', headers, body })
    expect(given.status).toBe(201)
    expect(await given.json()).toMatchObject({ keys: [{ kind: 'operator' }] })

    const file = path.join(home, 'keys/operator')
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    expect(await readFile(file, 'utf8')).toMatch(/^Authorization: Bearer fwk_\w{36}\n$/)
    const caller = await runCommand(['api', 'GET', '/caller', '--url', base], env)
    expect(JSON.parse(caller.stdout)).toMatchObject({ kind: 'operator' })
    const refused = await runCommand(['api', 'GET', '/nothing', '--url', base], env)
    expect(refused).toMatchObject({ exit: 1, stdout: expect.stringContaining('not_found') })
    const theirs = await runCommand(['api', 'GET', '/own-keys', '--url', base], env)
    expect(theirs).toMatchObject({ exit: 1, stdout: expect.stringContaining('resellers_only') })

    // The first key of the list is that of the home.
    await runCommand(['keys', 'revoke', '1'], env)
    await stop(up)
    await rm(file)
    const again = await startUp({ ...env, PUBLIC_URL: 'https://fares.example/watch/' })
    expect(again.link).toMatch(/^https:\/\/fares\.example\/watch\/#\/sign-in\/[\w-]{24}$/)
    const ready = await firstLine(again.up, 'ready')
    expect(ready).toMatchObject({ page: 'https://fares.example/watch/' })
    await expect(stat(file)).rejects.toThrow('ENOENT')
    await stop(again.up)
  })

  it('keys link prints a link for whom it names', async ({ databaseUrl }) => {
    const env = { DATABASE_URL: databaseUrl, API_PORT: '8123' }
    await runCommand(['resellers', 'create', 'northwind'], env)

    const plain = await runCommand(['keys', 'link'], env)
    const named = await runCommand(['keys', 'link', '--reseller', 'northwind', '--json'], {
      ...env,
      PUBLIC_URL: 'https://fares.example/watch/',
    })
    const unknown = await runCommand(['keys', 'link', '--reseller', 'nobody'], env)

    expect(plain.stdout).toMatch(/^http:\/\/127\.0\.0\.1:8123\/#\/sign-in\/[\w-]{24}\n$/)
    const { url } = JSON.parse(named.stdout)
    expect(url).toMatch(/^https:\/\/fares\.example\/watch\/#\/sign-in\/[\w-]{24}$/)
    expect(unknown).toMatchObject({ exit: 1 })
  })
})
