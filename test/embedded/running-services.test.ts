import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { embedMissing } from '../../src/embedded/embed-missing.ts'
import { recordHome, warnOfOtherHome } from '../../src/embedded/running-services.ts'
import { systemClock } from '../../src/platform/base/clock.ts'
import type { Logger } from '../../src/platform/base/logger.ts'
import { loadConfig } from '../../src/platform/config/config.ts'
import { collectLog } from '../support/collected-log.ts'
import { runCommand } from '../support/run-command.ts'
import { silentLog } from '../support/silent-log.ts'
import { temporaryFolder } from './postgres-home.ts'

const DATABASE_URL = 'postgres://127.0.0.1:9/none'

/** A home with its own folder of temporary files, so that services of other tests are not seen. */
async function aHome(): Promise<string> {
  const folder = await temporaryFolder()
  vi.stubEnv('TMPDIR', folder)
  onTestFinished(() => void vi.unstubAllEnvs())
  const home = join(folder, 'home')
  await mkdir(home)
  return home
}

async function embed(home: string, sandbox: 'start' | 'join' | 'none') {
  const config = loadConfig({ DATABASE_URL, FAREWATCH_HOME: home }, home)
  const embedded = await embedMissing(config, { log: silentLog, clock: systemClock, sandbox })
  onTestFinished(() => embedded.release())
  return embedded
}

function collectingLogger(): { log: Logger; lines: () => Record<string, unknown>[] } {
  const { log, lines } = collectLog('warn')
  return { log, lines: () => lines.map((line) => JSON.parse(line)) }
}

describe('a command that calls the upstream', () => {
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
    ['verify', '--flight', '1', '--non-residents-adults', '1'],
  ])('exits with 2 and names "npm start" where no sandbox runs: %s %s', async (...args) => {
    const home = await aHome()

    const { exit, stderr } = await runCommand(args, { FAREWATCH_HOME: home }, home)

    expect(exit).toBe(2)
    expect(stderr).toContain(`no sandbox runs for ${home}: start one with "npm start"`)
  })
})

describe('a command with another home than the running farewatch', () => {
  it('warns that it uses another, empty database and names the running home', async () => {
    const home = await aHome()
    const other = join(home, 'other')
    await mkdir(other)
    const forget = await recordHome(home)
    const { log, lines } = collectingLogger()

    await warnOfOtherHome(home, false, log)
    expect(lines()).toEqual([])
    await warnOfOtherHome(other, true, log)

    expect(lines()).toMatchObject([
      {
        level: 'warn',
        msg: 'this command uses another, empty database: farewatch runs with another FAREWATCH_HOME',
        home: other,
        running: [home],
      },
    ])
    await forget()
  })

  it('warns of a new, empty database where no farewatch runs', async () => {
    const home = await aHome()
    const { log, lines } = collectingLogger()

    await warnOfOtherHome(home, false, log)
    await warnOfOtherHome(home, true, log)

    expect(lines()).toMatchObject([{ msg: 'this command uses a new, empty database', home }])
  })
})
