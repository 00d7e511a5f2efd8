import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chmod, cp, mkdir, mkdtemp, readFile, readlink, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { isRunning } from '../../src/platform/base/running-pid.ts'
import { type RunningCommand, startCommand } from '../support/child-process.ts'
import { until } from '../support/until.ts'

const ROOT = path.resolve(import.meta.dirname, '../..')

/** In place of npm: notes its arguments, makes a tree, and while there is a file "hold" it goes on, whatever the signal. */
const NPM = `#!/bin/sh
echo "$*" >>npm.log
mkdir -p node_modules
echo $$ >npm.pid
trap '' INT TERM
while [ -e hold ]; do sleep 0.05; done
[ ! -e fail ]
`

interface Checkout {
  readonly folder: string
  /** Starts the install of a set. */
  start(set: 'run' | 'all'): RunningCommand
  /** The exit code of the install of a set. */
  run(set: 'run' | 'all'): Promise<number | string>
  /** How often npm was run, and its last arguments. */
  npm(): Promise<{ readonly runs: number; readonly last: string }>
}

async function aCheckout(): Promise<Checkout> {
  const folder = await mkdtemp(path.join(tmpdir(), 'install $a "b" é😀-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true, maxRetries: 10 }))
  await cp(path.join(ROOT, 'bin'), path.join(folder, 'bin'), { recursive: true })
  for (const name of ['package.json', 'package-lock.json']) {
    await cp(path.join(ROOT, name), path.join(folder, name))
  }
  await mkdir(path.join(folder, 'tools'))
  await writeFile(path.join(folder, 'tools/npm'), NPM, { mode: 0o755 })
  const start = (set: 'run' | 'all') => {
    const command = [process.execPath, path.join(folder, 'bin/install.mjs'), set]
    const running = startCommand(command, { PATH: `${folder}/tools:/usr/bin:/bin` }, folder)
    onTestFinished(() => void running.child.kill('SIGKILL'))
    return running
  }
  const npm = async () => {
    const runs = (await readFile(path.join(folder, 'npm.log'), 'utf8').catch(() => '')).split('\n')
    return { runs: runs.length - 1, last: runs.at(-2) ?? '' }
  }
  return { folder, start, run: (set) => start(set).ended, npm }
}

/** An install whose npm is at work until the returned `goOn` is called. */
async function held({ folder, start }: Checkout) {
  const hold = path.join(folder, 'hold')
  await writeFile(hold, '')
  const install = start('run')
  const npmPid = await until('npm', async () => {
    const pid = await readFile(path.join(folder, 'npm.pid'), 'utf8').catch(() => '')
    return Number(pid) || undefined
  })
  await until('its pid in the lock', async () =>
    (await readlink(path.join(folder, '.install-lock'))).endsWith(` ${npmPid}`),
  )
  return { install, npmPid, goOn: () => rm(hold, { force: true }) }
}

describe('the install before a script', () => {
  it('installs what runs at the first start, and nothing at the next', async () => {
    const { run, npm } = await aCheckout()

    expect([await run('run'), await run('run')]).toEqual([0, 0])

    expect(await npm()).toEqual({ runs: 1, last: expect.stringContaining('--omit=dev') as string })
  })

  it('adds the rest for the tests, which then has what runs', async () => {
    const { run, npm, folder } = await aCheckout()
    await run('run')
    await writeFile(path.join(folder, 'node_modules/kept'), '')

    expect([await run('all'), await run('run')]).toEqual([0, 0])

    expect(await npm()).toEqual({ runs: 2, last: expect.not.stringContaining('--omit') as string })
    expect(existsSync(path.join(folder, 'node_modules/kept'))).toBe(true)
  })

  it('waits for an install that is under way, says so, and has nothing left to do', async () => {
    const checkout = await aCheckout()
    const { install, goOn } = await held(checkout)
    const second = checkout.start('run')
    const reported = `waiting for the install of process ${install.child.pid}`
    await until('the report', () => second.stderr().includes(reported))

    await goOn()

    expect(await Promise.all([install.ended, second.ended])).toEqual([0, 0])
    expect((await checkout.npm()).runs).toBe(1)
    expect(existsSync(path.join(checkout.folder, '.install-lock'))).toBe(false)
  })

  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)(
    // Fault: The install of `npm start` is interrupted, and started again at once.
    'ends on %s with its npm, and the next start begins with an empty tree',
    async (signal, code) => {
      const checkout = await aCheckout()
      const { install, npmPid, goOn } = await held(checkout)
      const next = checkout.start('run')
      await writeFile(path.join(checkout.folder, 'node_modules/half'), '')

      install.child.kill(signal)

      expect(await install.ended).toBe(code)
      expect(isRunning(npmPid)).toBe(false)
      await goOn()
      expect(await next.ended).toBe(0)
      expect(existsSync(path.join(checkout.folder, 'node_modules/half'))).toBe(false)
      expect((await checkout.npm()).runs).toBe(2)
    },
  )

  // Fault: The install of `npm start` is killed.
  it('leaves after kill -9 a lock that holds until its npm has ended', async () => {
    const checkout = await aCheckout()
    const { install, npmPid, goOn } = await held(checkout)
    install.child.kill('SIGKILL')
    await once(install.child, 'exit')
    const next = checkout.start('run')
    const reported = `waiting for the install of process ${npmPid}`
    await until('the report', () => next.stderr().includes(reported))
    expect((await checkout.npm()).runs).toBe(1)

    await goOn()

    expect(await next.ended).toBe(0)
    expect((await checkout.npm()).runs).toBe(2)
  })
})

it('bin/farewatch names the missing Node.js 24 after "npm ci --omit=dev" on an older one', async () => {
  const { folder } = await aCheckout()
  await mkdir(path.join(folder, 'node_modules'))
  await writeFile(path.join(folder, 'tools/node'), '#!/bin/sh\necho v20.20.2\n')
  await chmod(path.join(folder, 'tools/node'), 0o755)

  const env = { PATH: `${folder}/tools:/usr/bin:/bin` }
  const command = startCommand([path.join(folder, 'bin/farewatch'), 'status'], env, folder)

  expect(await command.ended).toBe(1)
  expect(command.stderr()).toBe(
    `farewatch: Node.js 24 is missing, this machine has v20.20.2: install it, or run "npm start" in ${folder}, which does\n`,
  )
})
