import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chown, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { isRoot } from '../embedded/postgres-home.ts'
import { until } from '../support/until.ts'

const run = promisify(execFile)
const ROOT = path.resolve(import.meta.dirname, '../..')
const UNPRIVILEGED = 65_534
/** The folder with the node and the npm of each version. */
const BIN = { 20: '', 22: '', 24: '' }
type Version = keyof typeof BIN

let tools: string

beforeAll(async () => {
  tools = await mkdtemp(path.join(tmpdir(), 'farewatch-nodes-'))
  for (const version of [20, 22, 24] as const) {
    const folder = path.join(tools, String(version))
    await run('npm', ['install', '--silent', '--prefix', folder, `node@${version}`, 'npm@11'])
    BIN[version] = path.join(folder, 'node_modules/.bin')
  }
  await run('chmod', ['-R', 'a+rX', tools])
}, 600_000)
afterAll(() => rm(tools, { recursive: true, force: true }))

interface Machine {
  readonly node: Version
  readonly asRoot: boolean
  readonly env: Readonly<Record<string, string>>
  /** Part of the path of the clone. */
  readonly folder: string
}

const HOSTILE = {
  LANG: 'C',
  CDPATH: '/',
  PGHOST: 'nowhere.invalid',
  PGHOSTADDR: '192.0.2.1',
  PGPORT: '1',
  PGDATABASE: 'none',
  PGUSER: 'none',
  PGPASSWORD: 'none',
  PGDATA: '/nowhere',
  PGSSLMODE: 'verify-full',
  PGSSLNEGOTIATION: 'direct',
  PGOPTIONS: '-c none=1',
  PGAPPNAME: 'none',
  PGCLIENTENCODING: 'LATIN1',
  PGTZ: 'Mars/Olympus',
}
/** What this machine needs to reach the registry of npm. */
const REGISTRY = Object.fromEntries(
  Object.entries(process.env).filter(([name]) =>
    /^(NODE_EXTRA_CA_CERTS|SSL_CERT_|NPM_CONFIG_)/.test(name),
  ),
)
/** Of a proxy that does not answer. The commands get it, not the install, which needs the registry. */
const PROXY = {
  HTTP_PROXY: 'http://127.0.0.1:9',
  HTTPS_PROXY: 'http://127.0.0.1:9',
  NODE_USE_ENV_PROXY: '1',
}

const MACHINES: readonly (readonly [string, Machine])[] = [
  ['Node 20', { node: 20, asRoot: true, folder: 'plain', env: {} }],
  ['Node 22 and a hostile shell', { node: 22, asRoot: true, folder: 'a b', env: HOSTILE }],
  ['Node 24 and a hostile shell', { node: 24, asRoot: false, folder: 'a b', env: HOSTILE }],
  [
    'Node 20 and a path with quotes, an emoji and signs of a shell',
    { node: 20, asRoot: false, folder: `it's $a "b" \`c\` é😀`, env: { LANG: 'C' } },
  ],
]

async function clone({ folder, asRoot }: Machine): Promise<string> {
  const parent = await mkdtemp(path.join(tmpdir(), `first ${folder}-`))
  const root = path.join(parent, 'farewatch')
  await run('git', ['clone', '-q', '--no-hardlinks', ROOT, root])
  if (isRoot && !asRoot) {
    await run('chown', ['-R', `${UNPRIVILEGED}:${UNPRIVILEGED}`, parent])
    await chown(parent, UNPRIVILEGED, UNPRIVILEGED)
  }
  onTestFinished(async () => {
    const place = await readFile(path.join(root, '.farewatch/postgres-place.json'), 'utf8').catch(
      () => undefined,
    )
    if (place !== undefined) await rm(JSON.parse(place).directory, { recursive: true, force: true })
    await rm(parent, { recursive: true, force: true, maxRetries: 10 })
  })
  return root
}

/** Starts a command without a HOME, in a group of its own. */
function start(root: string, command: readonly string[], { node, asRoot, env }: Machine) {
  const identity = isRoot && !asRoot ? { uid: UNPRIVILEGED, gid: UNPRIVILEGED } : {}
  const child = spawn(command[0] ?? '', command.slice(1), {
    cwd: root,
    env: {
      PATH: `${BIN[node]}:/usr/bin:/bin`,
      npm_config_cache: path.join(root, '../cache'),
      ...REGISTRY,
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
    ...identity,
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString()
    })
  }
  onTestFinished(() => void child.kill('SIGKILL'))
  const ended = once(child, 'close').then(([code, signal]) => (code ?? signal) as number | string)
  return { child, output: () => output, ended }
}

const PORTS = { API_PORT: '0', ADMIN_PORT: '0' }

/** `npm start` reaches a first list, its commands find it, and Ctrl-C ends it. */
async function expectFirstStart(root: string, machine: Machine): Promise<void> {
  const env = { ...machine.env, ...PORTS }
  const up = start(root, ['npm', 'start'], { ...machine, env })
  const gone = up.ended.then((exit) => {
    throw new Error(`npm start ended with ${exit}: ${up.output()}`)
  })
  const synced = until('a list', () => up.output().includes('"status":"applied"'), 600_000)
  await Promise.race([synced, gone])
  gone.catch(() => undefined)
  const shell = { ...machine, env: { ...machine.env, ...PROXY } }
  const asked = start(root, ['bin/farewatch', 'api', 'GET', '/status'], shell)
  expect([await asked.ended, asked.output()]).toEqual([0, expect.stringContaining('{')])
  const linked = start(root, ['bin/farewatch', 'keys', 'link'], machine)
  expect(await linked.ended).toBe(0)
  expect(up.output()).toContain(new URL(linked.output().trim()).origin)
  process.kill(-(up.child.pid ?? 0), 'SIGINT')
  await up.ended.catch(() => undefined)
}

describe('npm start in a fresh clone', () => {
  it.each(MACHINES)(
    'comes up with %s',
    async (_what, machine) => {
      await expectFirstStart(await clone(machine), machine)
    },
    1_200_000,
  )

  it('comes up after an install that was interrupted at ten moments', async () => {
    const machine: Machine = { node: 20, asRoot: true, folder: 'cut', env: {} }
    const root = await clone(machine)
    for (let cut = 0; cut < 10; cut += 1) {
      const install = start(root, ['npm', 'start'], { ...machine, env: PORTS })
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 20_000))
      process.kill(-(install.child.pid ?? 0), cut % 2 === 0 ? 'SIGINT' : 'SIGKILL')
      await once(install.child, 'exit').catch(() => undefined)
    }

    await expectFirstStart(root, machine)
  }, 1_800_000)

  it('comes up while npm test installs the rest', async () => {
    const machine: Machine = { node: 20, asRoot: true, folder: 'two', env: {} }
    const root = await clone(machine)
    const install = start(root, ['node', 'bin/install.mjs', 'all'], machine)

    await expectFirstStart(root, machine)

    expect(await install.ended).toBe(0)
  }, 1_200_000)
})
