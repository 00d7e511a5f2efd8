import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'

const ROOT = path.resolve(import.meta.dirname, '../..')
/** What a deployment has of this repository. */
const DEPLOYED = [
  '.dockerignore',
  'bin',
  'deploy',
  'docker-compose.yml',
  'Dockerfile',
  'grafana',
  'migrations',
  'package-lock.json',
  'package.json',
  'src',
]
const ENGINE_DEADLINE_MS = 5_000

/** The stack of docker-compose.yml in a folder and under a name of its own. */
export interface Stack {
  readonly folder: string
  /** Runs compose and returns what it prints to standard output; throws with standard error when it fails. */
  compose(...args: readonly string[]): string
  docker(...args: readonly string[]): string
  /** Removes containers, networks, volumes and the folder; the image stays. */
  remove(): void
}

/** How compose is called on this machine: as docker's plugin, or alone; undefined where there is no engine. */
export function findCompose(): readonly string[] | undefined {
  const answers = ([command = '', ...args]: readonly string[]) =>
    spawnSync(command, args, { timeout: ENGINE_DEADLINE_MS }).status === 0
  if (!answers(['docker', 'info'])) return undefined
  return [['docker', 'compose'], ['docker-compose']].find((call) => answers([...call, 'version']))
}

/** Copies what a deployment needs to a folder of its own, where its secrets and its .env will be. */
export function createStack(call: readonly string[], project: string): Stack {
  const folder = mkdtempSync(path.join(os.tmpdir(), `${project}-`))
  for (const name of DEPLOYED) {
    cpSync(path.join(ROOT, name), path.join(folder, name), { recursive: true })
  }
  const [command = '', ...first] = call
  const compose = (...args: readonly string[]) =>
    run(folder, command, [...first, '--project-name', project, ...args])
  return {
    folder,
    compose,
    docker: (...args) => run(folder, 'docker', args),
    remove: () => {
      compose('down', '--volumes', '--remove-orphans')
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Runs a program to its end; throws with what it said when it fails. */
export function run(cwd: string, command: string, args: readonly string[]): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd, encoding: 'utf8' })
  if (error !== undefined) throw error
  if (status !== 0) {
    throw new Error(`${command} ${args.join(' ')}: exit ${status}\n${stdout}\n${stderr}`)
  }
  return stdout
}
