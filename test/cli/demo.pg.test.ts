import { describe, expect, onTestFinished } from 'vitest'
import { startTestSandbox } from '../sandbox/support.ts'
import { runCommand } from '../support/run-command.ts'
import { it } from '../support/test-database.ts'

/** A port on which nothing listens. */
const NO_CALLER = 'http://127.0.0.1:9'

describe('farewatch demo', () => {
  it('watches flights of the sandbox, and may run several times', async ({ databaseUrl }) => {
    const sandbox = await startTestSandbox()
    onTestFinished(() => sandbox.close())
    const env = { DATABASE_URL: databaseUrl, UPSTREAM_BASE_URL: sandbox.url }

    const first = await runCommand(['demo'], env)
    const second = await runCommand(['demo', '--json'], env)

    expect(first).toMatchObject({ exit: 0, stdout: 'the reseller "demo" watches 40 flights\n' })
    expect(JSON.parse(second.stdout)).toEqual({ reseller: 'demo', watches: 40 })
    const { stdout } = await runCommand(['resellers', 'list', '--json'], env)
    expect(JSON.parse(stdout)).toMatchObject({ name: 'demo', lists: 1, watches: 40 })
  })

  it('reports a missing setting or sandbox', async ({ databaseUrl }) => {
    const unset = await runCommand(['demo'], { DATABASE_URL: databaseUrl })
    const silent = await runCommand(['demo'], {
      DATABASE_URL: databaseUrl,
      UPSTREAM_BASE_URL: NO_CALLER,
    })

    expect(unset).toMatchObject({
      exit: 2,
      stderr: expect.stringMatching(/UPSTREAM_BASE_URL is not set/),
    })
    expect(silent).toMatchObject({
      exit: 1,
      stderr: expect.stringContaining('there is no sandbox at http://127.0.0.1:9'),
    })
  })
})
