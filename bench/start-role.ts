/** Starts a role of the product in a process of its own, for the benchmarks. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import type { Fixture } from './verify-fixture.ts'

export interface Role {
  readonly child: ChildProcess
  readonly url: string
}

export const MAIN = path.join(import.meta.dirname, '../src/cli/main.ts')
/** Sets the limits of memory of the role, as in production. */
export const PRODUCT = path.join(import.meta.dirname, '../bin/farewatch')

export async function startRole(
  fixture: Pick<Fixture, 'databaseUrl' | 'upstreamUrl'>,
  role: 'api' | 'worker',
  settings: Readonly<Record<string, string>>,
  command: readonly [string, ...string[]] = [process.execPath, MAIN],
): Promise<Role> {
  const [program, ...args] = command
  const child = spawn(program, [...args, role], {
    env: {
      PATH: process.env.PATH ?? '',
      DATABASE_URL: fixture.databaseUrl,
      UPSTREAM_BASE_URL: fixture.upstreamUrl,
      MIN_INTERVAL_SECONDS: '1',
      ROUTE_SYNC_SCHEDULE: '0 0 1 1 *',
      AVAILABILITY_SYNC_SCHEDULE: '0 0 1 1 *',
      API_PORT: '0',
      ADMIN_PORT: '0',
      ...settings,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ready = await new Promise<string>((resolve, reject) => {
    let output = ''
    // Read as long as it runs: a process ends when its output is not read.
    child.stdout.on('data', (chunk: Buffer) => {
      output = `${output}${chunk.toString()}`.slice(-10_000)
      if (output.includes('"msg":"ready"')) resolve(output)
    })
    child.once('exit', (code) => reject(new Error(`the ${role} ended with ${code}`)))
  })
  const status = /"api":"([^"]+)"/.exec(ready)?.[1] ?? ''
  return { child, url: status.replace('/api/v1/status', '') }
}

export async function stop({ child }: Pick<Role, 'child'>): Promise<void> {
  child.kill('SIGTERM')
  if (child.exitCode === null) await once(child, 'exit')
}
