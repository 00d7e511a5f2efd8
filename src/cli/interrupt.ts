import { AppError } from '../base/errors.ts'
import { EXIT } from './exit-codes.ts'

/** Ends the process when an orderly end takes longer: a store that is frozen must not keep us from stopping. */
const HARD_STOP_MS = 15_000

/** What the last line of a log has to get out. */
const LINGER_MS = 500

/** Somebody asked the command to stop, or its reader has gone. */
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
 * The signal of this process: Ctrl-C, SIGTERM, a closed terminal and a closed pipe abort it. A second signal ends
 * the process at once, and so does an orderly end that does not come.
 */
export function interruptSignal(): AbortSignal {
  if (controller !== undefined) return controller.signal
  controller = new AbortController()
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(name, () => interrupt(EXIT.interrupted))
  }
  return controller.signal
}

/** A reader that has seen enough (`| head`) closes the pipe; that is no error of ours, but nobody listens any more. */
export function interruptOnClosedPipe(): void {
  process.stdout.on('error', (err: NodeJS.ErrnoException) => {
    if (err.code !== 'EPIPE') throw err
    if (!interruptSignal().aborted) interrupt(EXIT.ok)
  })
}

function interrupt(exit: number): void {
  if (controller?.signal.aborted === true) process.exit(exit)
  setTimeout(() => process.exit(EXIT.failed), HARD_STOP_MS).unref()
  controller?.abort(new InterruptedError(exit))
}

/**
 * Ends the process by itself a moment after all is done, whatever still holds it open: a connection that went silent
 * would do so for hours.
 */
export function endSoon(): void {
  setTimeout(() => process.exit(), LINGER_MS).unref()
}

/** Waits for the work, or rejects with the signal's reason as soon as it aborts. */
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
