import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { onTestFinished } from 'vitest'
import { until } from './until.ts'

const FAREWATCH = path.resolve(import.meta.dirname, '../../bin/farewatch')

const { NODE_COMPILE_CACHE } = process.env
/** The folder in which Node keeps compiled code. vitest.config.ts sets it. */
const COMPILE_CACHE = NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE }

/** A farewatch process and its output so far. */
export interface RunningCommand {
  readonly child: ChildProcess
  stdout(): string
  stderr(): string
  /** Resolves with the exit code or the name of the signal. */
  readonly ended: Promise<number | string>
}

/** A demo that does not break by itself and starts at once. */
const QUIET_DEMO = { DEMO_FAULTS: 'off', DEMO_HISTORY_DAYS: '0' }

/** Starts the real command line. Its environment has only PATH, the compile cache, a quiet demo and `env`. */
export function startFarewatch(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  cwd?: string,
): RunningCommand {
  return startCommand([FAREWATCH, ...args], env, cwd)
}

/** Starts the real command line. If it still runs at the end of the test, it is killed. */
export function startInTest(...args: Parameters<typeof startFarewatch>): RunningCommand {
  const running = startFarewatch(...args)
  onTestFinished(() => void running.child.kill('SIGKILL'))
  return running
}

/** Starts a command in the environment of `startFarewatch`. */
export function startCommand(
  [command = '', ...args]: readonly string[],
  env: Readonly<Record<string, string>>,
  cwd?: string,
): RunningCommand {
  const child = spawn(command, args, {
    cwd,
    env: { PATH: process.env.PATH ?? '', ...QUIET_DEMO, ...COMPILE_CACHE, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const output = { stdout: '', stderr: '' }
  child.stdout?.on('data', (chunk: Buffer) => {
    output.stdout += chunk.toString()
  })
  child.stderr?.on('data', (chunk: Buffer) => {
    output.stderr += chunk.toString()
  })
  const ended = once(child, 'close').then(([code, signal]) => (code ?? signal) as number | string)
  return { child, stdout: () => output.stdout, stderr: () => output.stderr, ended }
}

/** Runs a command in a process and waits for its end. */
export async function runFarewatch(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  cwd?: string,
): Promise<{ exit: number | string; stdout: string; stderr: string }> {
  const running = startFarewatch(args, env, cwd)
  const exit = await running.ended
  return { exit, stdout: running.stdout(), stderr: running.stderr() }
}

export interface LogLine {
  readonly msg: string
  readonly [field: string]: unknown
}

/** The complete lines of a log. */
export function logLines({ stdout }: RunningCommand): LogLine[] {
  const whole = stdout().split('\n').slice(0, -1)
  return whole.map((line) => JSON.parse(line) as LogLine)
}

/** Waits for a log line with this message. Long enough for a busy machine. */
export function firstLine(command: RunningCommand, msg: string): Promise<LogLine> {
  const find = () => {
    const found = logLines(command).find((line) => line.msg === msg)
    if (found === undefined && command.child.exitCode !== null) {
      throw new Error(`the process ended: ${command.stdout()}${command.stderr()}`)
    }
    return found
  }
  return until(`the log line "${msg}"`, find, 120_000)
}

/** Waits until a service is ready. Returns its addresses. */
export async function addressesOf(command: RunningCommand) {
  const { api, health, metrics } = await firstLine(command, 'ready')
  return { api: String(api), health: String(health), metrics: String(metrics) }
}
