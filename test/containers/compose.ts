import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'

const ROOT = path.resolve(import.meta.dirname, '../..')
/** The files of this repository that a deployment needs. */
const DEPLOYED = [
  '.dockerignore',
  'bin',
  'deploy',
  'docker-compose.yml',
  'Dockerfile',
  'docs',
  'grafana',
  'migrations',
  'package-lock.json',
  'package.json',
  'src',
]
const ENGINE_TIMEOUT_MS = 5_000

/** The stack of docker-compose.yml, with its own folder and project name. */
export interface Stack {
  readonly folder: string
  /** Runs compose. Returns its standard output, or throws an error with all of its output. */
  compose(...args: readonly string[]): string
  docker(...args: readonly string[]): string
  /** Removes the containers, networks, volumes and the folder, but not the image. */
  remove(): void
}

/** The compose command of this machine: `docker compose` or `docker-compose`. Undefined without a container engine. */
export function findCompose(): readonly string[] | undefined {
  const answers = ([command = '', ...args]: readonly string[]) =>
    spawnSync(command, args, { timeout: ENGINE_TIMEOUT_MS }).status === 0
  if (!answers(['docker', 'info'])) return undefined
  return [['docker', 'compose'], ['docker-compose']].find((call) => answers([...call, 'version']))
}

/** Copies the files of a deployment to a new folder, in which its secrets and its .env will be created. */
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

/** Runs a program to its end. Throws an error with its output if it fails. */
export function run(cwd: string, command: string, args: readonly string[]): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd, encoding: 'utf8' })
  if (error !== undefined) throw error
  if (status !== 0) {
    throw new Error(`${command} ${args.join(' ')}: exit ${status}\n${stdout}\n${stderr}`)
  }
  return stdout
}
