import { AppError } from '../platform/base/errors.ts'
import { isProblemCode, PROBLEMS } from '../platform/http/problem-codes.ts'

/** The exit codes of every command. */
export const EXIT = { ok: 0, failed: 1, usage: 2, held: 3, interrupted: 130 } as const

/** What each exit code means, for docs/reference/cli.md; a command's help names its special cases. */
export const EXIT_MEANINGS: Readonly<Record<keyof typeof EXIT, string>> = {
  ok: 'The command did its work.',
  failed: 'The command failed, or what it names does not exist. The message says which.',
  usage: 'The command line, an input file or the configuration is wrong. Nothing was done.',
  held: 'A route list was held for review. Nothing of it was applied.',
  interrupted: 'A signal ended the command. A service that stops in order exits with 0.',
}

/** Wrong use that the API does not know. */
const USAGE_CODES: ReadonlySet<string> = new Set([
  'cli.usage',
  'config.invalid',
  'embedded.no_sandbox',
  'export.impossible',
  'prune.impossible',
  'sandbox.routes_file',
  'upstream.question',
  'watch.malformed_file',
  'watch.unreadable_file',
])

/** The exit code of an expected failure: wrong use is what the API answers with 400. */
export function exitOfError({ code }: AppError): number {
  const isWrong = isProblemCode(code) && PROBLEMS[code].status === 400
  return isWrong || USAGE_CODES.has(code) ? EXIT.usage : EXIT.failed
}

/** The exit code of a state: an operator must act, or need not. */
export function exitOfWarnings(warnings: readonly { readonly level: string }[]): number {
  return warnings.some(({ level }) => level === 'bad') ? EXIT.failed : EXIT.ok
}

/** The command line asks for something impossible. */
export class UsageError extends AppError {
  override readonly name = 'UsageError'
  override readonly code = 'cli.usage'
}

/** The process exits after this time even when its orderly stop hangs, as on a frozen store. */
const HARD_STOP_MS = 15_000

/** The time in which the last lines of the log are written. */
const LINGER_MS = 500

/** A signal or a closed pipe interrupted the command. */
export class InterruptedError extends AppError {
  override readonly name = 'InterruptedError'
  override readonly code = 'cli.interrupted'
  override readonly retryable = true
  readonly exit: number

  constructor(exit: number) {
    super('interrupted')
    this.exit = exit
  }
}

let controller: AbortController | undefined

/**
 * Aborts on Ctrl-C, SIGTERM, a closed terminal or a closed pipe. The process exits at once on a second signal, and 15 s
 * after the first.
 */
export function interruptSignal(): AbortSignal {
  if (controller !== undefined) return controller.signal
  controller = new AbortController()
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(name, () => isRepeated(name) || interrupt(EXIT.interrupted))
  }
  return controller.signal
}

/** A reader such as `head` closes the pipe when it has enough: the command stops, with exit code 0. */
export function interruptOnClosedPipe(): void {
  process.stdout.on('error', (err: NodeJS.ErrnoException) => {
    if (err.code !== 'EPIPE') throw err
    if (!interruptSignal().aborted) interrupt(EXIT.ok)
  })
}

/** npm passes on the Ctrl-C that the terminal has sent to farewatch already: a second one so soon is the same. */
const REPEATED_MS = 300
let ctrlCAtMs = Number.NEGATIVE_INFINITY

function isRepeated(name: string): boolean {
  if (name !== 'SIGINT') return false
  const beforeMs = ctrlCAtMs
  ctrlCAtMs = performance.now()
  return ctrlCAtMs - beforeMs < REPEATED_MS
}

function interrupt(exit: number): void {
  if (controller?.signal.aborted === true) process.exit(exit)
  setTimeout(() => process.exit(EXIT.failed), HARD_STOP_MS).unref()
  controller?.abort(new InterruptedError(exit))
}

/** Exits soon, even with open handles: a silent connection would keep the process running for hours. */
export function exitSoon(): void {
  setTimeout(() => process.exit(), LINGER_MS).unref()
}

/** Waits for the work, or rejects with the signal's reason when it aborts. */
export async function untilInterrupted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted()
  const aborted = Promise.withResolvers<never>()
  const abort = () => aborted.reject(signal.reason)
  signal.addEventListener('abort', abort)
  try {
    return await Promise.race([work, aborted.promise])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}
