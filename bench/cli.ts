/**
 * Measures what a command costs, as a multiple of an empty program in the same run: `node -e 0`, `--version`, `--help`, and
 * `status` of a farewatch that runs. Processor time is that of all processes of a command, the shell script included; memory is
 * the most that its Node.js had.
 *
 *   npm run bench:cli -- [runs]
 */
import { spawnSync } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { findPlace } from '../src/embedded/postgres-place.ts'
import { FAREWATCH, numbers, peakMegabytes, printHead, printRow, startRole } from './harness.ts'

const [RUNS] = numbers(20)
const home = await mkdtemp(path.join(os.tmpdir(), 'farewatch-bench-cli-'))
const given = { FAREWATCH_HOME: home, API_PORT: '0', ADMIN_PORT: '0' }
const env = { ...process.env, ...given }
const COMMANDS = [
  [process.execPath, '-e', '0'],
  [FAREWATCH, '--version'],
  [FAREWATCH, '--help'],
  [FAREWATCH, 'status'],
]

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

const up = await startRole('up', given)
try {
  printHead(`${RUNS} runs`, ['command', 'processor ms', 'of node -e 0', 'MB'])
  let floor: number | undefined
  for (const command of COMMANDS) {
    const ms = processorMs(command)
    floor ??= ms
    printRow([path.basename(command.join(' ')), ms, ms / floor, await peakMegabytes(command, env)])
  }
} finally {
  await up.stop()
  await rm((await findPlace(home)).directory, { recursive: true, force: true })
  await rm(home, { recursive: true, force: true })
}
