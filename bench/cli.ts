/**
 * Measures what a command costs, as a multiple of an empty program in the same run: `node -e 0`, `--version`, `--help`, and
 * `status` of a farewatch that runs. Processor time is that of all processes of a command, the shell script included; memory is
 * the most that its Node.js had.
 *
 *   npm run bench:cli -- [runs]
 */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { findPlace } from '../src/embedded/postgres-place.ts'

const RUNS = Number(process.argv[2] ?? 20)
const FAREWATCH = path.join(import.meta.dirname, '../bin/farewatch')

const home = await mkdtemp(path.join(os.tmpdir(), 'farewatch-bench-cli-'))
const env = { ...process.env, FAREWATCH_HOME: home, API_PORT: '0', ADMIN_PORT: '0' }
const COMMANDS: Readonly<Record<string, readonly string[]>> = {
  'node -e 0': [process.execPath, '-e', '0'],
  '--version': [FAREWATCH, '--version'],
  '--help': [FAREWATCH, '--help'],
  status: [FAREWATCH, 'status'],
}

/** Milliseconds of processor time of one run. The first one compiles, so it does not count. */
function processorMs(command: readonly string[]): number {
  const words = command.map((word) => `'${word}'`).join(' ')
  const run = `${words} > /dev/null 2>&1 < /dev/null`
  const script = `${run}; times; i=0; while [ $i -lt ${RUNS} ]; do ${run}; i=$((i+1)); done; times`
  const { stdout } = spawnSync('sh', ['-c', script], { env, encoding: 'utf8' })
  const [before = 0, after = 0] = [1, 3].map((line) => secondsOf(stdout.split('\n')[line] ?? ''))
  return (1_000 * (after - before)) / RUNS
}

/** @example secondsOf('0m1.20s 0m0.30s') // 1.5 */
function secondsOf(times: string): number {
  return [...times.matchAll(/(\d+)m([\d.]+)s/g)].reduce(
    (sum, [, minutes, seconds]) => sum + 60 * Number(minutes) + Number(seconds),
    0,
  )
}

const AT_EXIT =
  "process.on('exit', () => process.stderr.write('@' + process.resourceUsage().maxRSS))"

function megabytes([program = '', ...args]: readonly string[]): number {
  const hook = `--import=data:text/javascript,${encodeURIComponent(AT_EXIT)}`
  const { stderr } = spawnSync(program, args, {
    env: { ...env, NODE_OPTIONS: hook },
    encoding: 'utf8',
  })
  return Number(/@(\d+)/.exec(stderr)?.[1]) / 1024
}

const up = spawn(FAREWATCH, ['up'], { env, stdio: ['ignore', 'pipe', 'inherit'] })
const ended = once(up, 'close')
await new Promise<void>((resolve) => {
  up.stdout.on('data', (part) => String(part).includes('"msg":"ready"') && resolve())
})
try {
  const floor = processorMs(COMMANDS['node -e 0'] ?? [])
  console.log('command | processor ms | of node -e 0 | MB')
  for (const [name, command] of Object.entries(COMMANDS)) {
    const ms = processorMs(command)
    const row = [ms.toFixed(0), (ms / floor).toFixed(1), megabytes(command).toFixed(0)]
    console.log([name, ...row].join(' | '))
  }
} finally {
  up.kill('SIGTERM')
  await ended
  await rm((await findPlace(home)).directory, { recursive: true, force: true })
  await rm(home, { recursive: true, force: true })
}
