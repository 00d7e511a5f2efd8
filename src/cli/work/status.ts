import { systemClock, TimeoutError, withTimeout } from '../../platform/base/clock.ts'
import { AppError, messageOf } from '../../platform/base/errors.ts'
import { type Answer, type Api, withApi } from '../api-client.ts'
import type { ProgramOptions } from '../describe.ts'
import { exitOfWarnings, interruptSignal } from '../exit-codes.ts'
import { createTerminal } from '../terminal.ts'
import { statusText } from '../text/status-text.ts'
import { escapeControls, printable } from '../text/text-format.ts'

interface StatusOptions extends ProgramOptions {
  readonly watch?: boolean
}

const WATCH_MS = 2_000
/** Each line is written over the old one, and the rest of the screen is erased: clearing first would flicker. */
const CURSOR_HOME = '\x1b[H'
const ERASE_LINE = '\x1b[K'
const ERASE_BELOW = '\x1b[J'
const ERASE_ALL = '\x1b[2J'

export function printStatus(options: StatusOptions): Promise<number> {
  const terminal = createTerminal(process, options)
  return withApi(options, async (api) => {
    if (options.watch === true) return keepPrinting(api, options)
    const [status, calls] = await inTime(read(api))
    terminal.print(status, () => statusText(status, calls, terminal.width))
    return exitOfWarnings(status.warnings)
  })
}

type Read = readonly [Answer<'GET /status'>, Answer<'GET /budget/calls'>]

function read(api: Api): Promise<Read> {
  return Promise.all([api.call('GET /status'), api.call('GET /budget/calls')])
}

/** A status that comes later waits for a lock, or for a database that is overloaded. */
const STATUS_MS = 15_000

class StatusWaitsError extends AppError {
  override readonly name = 'StatusWaitsError'
  override readonly code = 'cli.status_waits'
  override readonly retryable = true
}

function inTime(reading: Promise<Read>): Promise<Read> {
  return withTimeout(reading, STATUS_MS).catch((err: unknown) => {
    if (!(err instanceof TimeoutError)) throw err
    throw new StatusWaitsError(
      `the status did not come within ${STATUS_MS / 1_000} s: "bin/farewatch doctor" looks for the reason`,
    )
  })
}

/** Prints the status until an interrupt; a failure to read it is printed too. */
async function keepPrinting(api: Api, options: StatusOptions): Promise<never> {
  const terminal = createTerminal(process, options)
  const signal = interruptSignal()
  const redraws = process.stdout.isTTY === true
  if (redraws) process.stdout.write(ERASE_ALL)
  for (;;) {
    const text = await read(api).then(
      ([status, calls]) =>
        options.output === 'json'
          ? JSON.stringify(status)
          : statusText(status, calls, terminal.width),
      (err: unknown) => printable(`no answer: ${messageOf(err)}`),
    )
    signal.throwIfAborted()
    if (redraws) process.stdout.write(redrawn(escapeControls(text)))
    else terminal.out(text)
    await systemClock.sleep(WATCH_MS, signal)
  }
}

function redrawn(text: string): string {
  return `${CURSOR_HOME}${text.replaceAll('\n', `${ERASE_LINE}\n`)}${ERASE_LINE}${ERASE_BELOW}\n`
}
