import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { embedMissing } from '../../src/embedded/embed-missing.ts'
import { findRunning, recordRunning, withRunningApi } from '../../src/embedded/running-services.ts'
import { systemClock } from '../../src/platform/base/clock.ts'
import { localUrlOf } from '../../src/platform/config/addresses.ts'
import { loadConfig } from '../../src/platform/config/config.ts'
import { runCommand } from '../support/run-command.ts'
import { silentLog } from '../support/silent-log.ts'
import { temporaryFolder } from './postgres-home.ts'

const DATABASE_URL = 'postgres://127.0.0.1:9/none'

async function aHome(): Promise<string> {
  const home = join(await temporaryFolder(), 'home')
  await mkdir(home)
  return home
}

async function embed(home: string, sandbox: 'start' | 'join' | 'none') {
  const config = loadConfig({ DATABASE_URL, FAREWATCH_HOME: home }, home)
  const embedded = await embedMissing(config, { log: silentLog, clock: systemClock, sandbox })
  onTestFinished(() => embedded.release())
  return embedded
}

describe('a command that calls the upstream', () => {
  // Fault: A command calls the upstream while `up` runs its sandbox.
  it('joins the sandbox of the running service of its home, and starts none', async () => {
    const home = await aHome()
    const service = await embed(home, 'start')

    const command = await embed(home, 'join')

    expect(command.sandbox).toBeUndefined()
    expect(command.config).toEqual(service.config)
    const calls = `${command.config.UPSTREAM_BASE_URL}/sandbox/world`
    expect(await (await fetch(calls)).json()).toMatchObject({ seed: 1, speed: 60 })
  })

  it('is refused when no sandbox answers any more', async () => {
    const home = await aHome()
    await (await embed(home, 'start')).release()
    await expect(embed(home, 'join')).rejects.toMatchObject({ code: 'embedded.no_sandbox' })
  })

  it.each([
    ['upstream', 'probe'],
    ['sync', '--list', 'routes'],
    ['sync', '--dry-run'],
  ])('exits with 2 and names "npm start" where no sandbox runs: %s %s', async (...args) => {
    const home = await aHome()

    const { exit, stderr } = await runCommand(args, { FAREWATCH_HOME: home }, home)

    expect(exit).toBe(2)
    expect(stderr).toContain(`no sandbox runs for ${home}: start one with "npm start"`)
  })
})

describe('a command of a home whose farewatch runs', () => {
  const API = { API_HOST: '127.0.0.1', API_PORT: 8123, PUBLIC_URL: undefined }

  it('finds the API at the port that was given to the start alone', async () => {
    const home = await aHome()
    const config = loadConfig({ FAREWATCH_HOME: home }, home)
    const service = await embed(home, 'start')

    await service.recordApi(8123)

    expect(localUrlOf(await withRunningApi(config))).toBe('http://127.0.0.1:8123')
    await service.release()
    expect(await withRunningApi(config)).toEqual(config)
  })

  // Fault: A killed farewatch has left its addresses in its folder.
  it('does not follow what a killed process has left in the home', async () => {
    const home = await aHome()
    const child = spawn('true')
    await once(child, 'exit')
    await recordRunning(home, 'api', API)
    const file = join(home, 'running-api.json')
    expect(await findRunning(home, 'api')).toMatchObject({ API_PORT: 8123 })

    await writeFile(
      file,
      JSON.stringify({ ...JSON.parse(await readFile(file, 'utf8')), pid: child.pid }),
    )

    expect(await findRunning(home, 'api')).toBeUndefined()
  })
})
