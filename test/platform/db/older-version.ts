import { execFile, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm, symlink } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { afterAll, onTestFinished } from 'vitest'
import { until } from '../../support/until.ts'

export const ROOT = path.resolve(import.meta.dirname, '../../..')

/** A source archive without its history cannot show this. */
export function has(commit: string): boolean {
  try {
    execFileSync('git', ['-C', ROOT, 'cat-file', '-e', `${commit}^{commit}`], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'farewatch-upgrade-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return folder
}

const checkouts = new Map<string, Promise<string>>()

/** The program as of a commit, with its own packages. */
export function checkOut(commit: string): Promise<string> {
  const known = checkouts.get(commit) ?? checkOutNew(commit)
  checkouts.set(commit, known)
  return known
}

async function checkOutNew(commit: string): Promise<string> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'farewatch-version-'))
  const archive = execFileSync('git', ['-C', ROOT, 'archive', commit], { maxBuffer: 2 ** 28 })
  execFileSync('tar', ['-x', '-C', folder], { input: archive })
  if (await hasOurPackages(folder)) {
    await symlink(path.join(ROOT, 'node_modules'), path.join(folder, 'node_modules'))
    return folder
  }
  await promisify(execFile)(process.execPath, [path.join(folder, 'bin/install.mjs')], {
    cwd: folder,
  })
  return folder
}

/** Whether this checkout has the packages of a version: then they need no second install. */
async function hasOurPackages(folder: string): Promise<boolean> {
  const read = async (file: string) => JSON.parse(await readFile(file, 'utf8')) as Package
  const { dependencies = {} } = await read(path.join(folder, 'package.json'))
  for (const [name, version] of Object.entries(dependencies)) {
    const ours = path.join(ROOT, 'node_modules', name, 'package.json')
    if (!existsSync(ours) || (await read(ours)).version !== version) return false
  }
  return true
}

interface Package {
  readonly version: string
  readonly dependencies?: Readonly<Record<string, string>>
}

afterAll(async () => {
  for (const folder of checkouts.values()) await rm(await folder, { recursive: true, force: true })
})

interface Ended {
  readonly exit: number | string
  readonly output: string
}

/**
 * Runs `farewatch up` of a version on a home. Once its log has a line, unless it ends before, does something, and then stops it in
 * order.
 */
export async function upUntil(
  line: string,
  root: string,
  home: string,
  meanwhile: () => Promise<unknown> = () => Promise.resolve(),
  settings: Readonly<Record<string, string>> = {},
): Promise<Ended> {
  const ports = { API_PORT: '0', ADMIN_PORT: '0' }
  const env = { PATH: process.env.PATH, FAREWATCH_HOME: home, ...ports, ...settings }
  const child = spawn(path.join(root, 'bin/farewatch'), ['up'], {
    cwd: home,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString()
    })
  }
  const ended = once(child, 'close').then(([code, signal]) => (code ?? signal) as number | string)
  await Promise.race([until(`"${line}"`, () => output.includes(line)), ended])
  await meanwhile()
  child.kill('SIGTERM')
  return { exit: await ended, output }
}
