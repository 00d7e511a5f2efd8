import { Writable } from 'node:stream'
import { runCommandLine } from '../../src/cli/program.ts'

/** The result of a command that has ended. */
export interface Ran {
  readonly exit: number | string
  readonly stdout: string
  readonly stderr: string
}

type Environment = Readonly<Record<string, string>>

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

let previous: Promise<unknown> = Promise.resolve()

/**
 * Runs a command to its end in the process of the test, one command after another.
 *
 * The start of a process costs half a second of CPU time, so only tests of processes start one: runFarewatch and
 * startFarewatch do. Services and "doctor" end their process, so they cannot run here. On a database without an API, a
 * command calls the one in its own process.
 */
export function runCommand(args: readonly string[], env: Environment, cwd?: string): Promise<Ran> {
  const given = 'DATABASE_URL' in env && !('FAREWATCH_URL' in env) ? [...args, '--database'] : args
  const run = previous.then(() => runInProcess(given, env, cwd ?? process.cwd()))
  previous = run.catch(() => undefined)
  return run
}

/** Gives the command its own environment, folder, output and exit code, and restores those of the test. */
async function runInProcess(args: readonly string[], env: Environment, cwd: string): Promise<Ran> {
  const [stdout, stderr] = [collector(), collector()]
  const before = { env: process.env, cwd: process.cwd(), exitCode: process.exitCode }
  const streams = {
    stdout: Object.getOwnPropertyDescriptor(process, 'stdout'),
    stderr: Object.getOwnPropertyDescriptor(process, 'stderr'),
  }
  const listeners = SIGNALS.map((signal) => process.listeners(signal))
  try {
    process.env = { PATH: before.env.PATH, ...env }
    process.chdir(cwd)
    process.exitCode = undefined
    Object.defineProperty(process, 'stdout', { ...streams.stdout, get: () => stdout.stream })
    Object.defineProperty(process, 'stderr', { ...streams.stderr, get: () => stderr.stream })
    const exit = await runCommandLine(['node', 'farewatch', ...args])
    return { exit, stdout: stdout.text(), stderr: stderr.text() }
  } finally {
    Object.defineProperty(process, 'stdout', streams.stdout ?? {})
    Object.defineProperty(process, 'stderr', streams.stderr ?? {})
    process.env = before.env
    process.chdir(before.cwd)
    process.exitCode = before.exitCode
    SIGNALS.forEach((signal, i) => {
      for (const listener of process.listeners(signal)) {
        if (!listeners[i]?.includes(listener)) process.removeListener(signal, listener)
      }
    })
  }
}

function collector(): { readonly stream: Writable; text(): string } {
  const chunks: Buffer[] = []
  const stream = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      chunks.push(chunk)
      done()
    },
  })
  return { stream, text: () => Buffer.concat(chunks).toString() }
}
