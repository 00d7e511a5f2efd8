import { setTimeout as delay } from 'node:timers/promises'
import { type App, openApp, openQueue } from '../../app/app.ts'
import { type Examination, examine } from '../../app/doctor.ts'
import { statusDeps } from '../../app/read-work.ts'
import { embedMissing } from '../../embedded/embed-missing.ts'
import { readStatus } from '../../health/status-operations.ts'
import type { Status, StatusWarning } from '../../health/status-shapes.ts'
import { type Clock, systemClock, TimeoutError, withTimeout } from '../../platform/base/clock.ts'
import { AppError, messageOf } from '../../platform/base/errors.ts'
import { openDatabase } from '../../platform/db/database.ts'
import { blockerText, endSession, listBlockers } from '../../platform/db/database-health.ts'
import { type CallSums, readCallSeries, sumCalls } from '../../schedule/budget-operations.ts'
import { type CliContext, createContext, withQueue } from '../context.ts'
import type { ProgramOptions } from '../describe.ts'
import { EXIT, exitSoon, untilInterrupted } from '../exit-codes.ts'
import { statusText, warningsText } from '../text/status-text.ts'
import { escapeControls, labelledLines, printable } from '../text/text-format.ts'

interface StatusOptions extends ProgramOptions {
  readonly watch?: boolean
}

/** Reading the status takes tens of milliseconds; with a million fares, a second. */
const WATCH_MS = 2_000
/** A status that comes later waits for a lock, or for a database that is overloaded. */
const STATUS_MS = 15_000
/** Each line is written over the old one, and the rest of the screen is erased: clearing first would flicker. */
const CURSOR_HOME = '\x1b[H'
const ERASE_LINE = '\x1b[K'
const ERASE_BELOW = '\x1b[J'
const ERASE_ALL = '\x1b[2J'

export function printStatus(options: StatusOptions): Promise<void> {
  const { watch = false, output, json = output === 'json' } = options
  return withQueue({ role: 'status', options }, async (app, queue, context) => {
    const { width } = context.terminal
    const { db } = app.database
    const read = async (): Promise<Shown> => {
      const [status, calls] = await Promise.all([
        readStatus(statusDeps(app, queue)),
        readCallSeries(db),
      ])
      return { ...status, callsLastHour: sumCalls(calls) }
    }
    const textOf = (shown: Shown) =>
      json ? JSON.stringify(shown) : statusText(shown, shown.callsLastHour, width)
    if (watch) return keepPrinting(async () => textOf(await read()), context, app.clock)
    const shown = await withTimeout(read(), STATUS_MS).catch(async (err: unknown) => {
      throw await explainWait(app, err)
    })
    context.terminal.out(textOf(shown))
    return exitOf(shown.warnings)
  })
}

/** The status of the API, and what the budget was used for. */
interface Shown extends Status {
  readonly callsLastHour: CallSums
}

function exitOf(warnings: readonly StatusWarning[]): number {
  return warnings.some(({ level }) => level === 'bad') ? EXIT.failed : EXIT.ok
}

/** The database answers, but the status did not come in time. */
class StatusWaitsError extends AppError {
  override readonly name = 'StatusWaitsError'
  override readonly code = 'cli.status_waits'
  override readonly retryable = true
}

/** Names what the status waits for. The connections of the pool may all wait for the same. */
async function explainWait({ config, log }: App, err: unknown): Promise<unknown> {
  if (!(err instanceof TimeoutError)) return err
  const { DATABASE_URL: url } = config
  const own = openDatabase({ url, log, applicationName: 'farewatch status', maxConnections: 1 })
  const blockers = await withTimeout(listBlockers(own.db), STATUS_MS).catch(() => [])
  const found = blockers.map((one) => `${blockerText(one)}: ${endSession(one)}`)
  const why = found.length === 0 ? '"bin/farewatch doctor" looks for the reason' : found.join('; ')
  return new StatusWaitsError(`the status did not come within ${STATUS_MS / 1_000} s: ${why}`)
}

/** Prints the status until the signal aborts; a failure to read it is printed too. */
async function keepPrinting(
  read: () => Promise<string>,
  { terminal, signal }: CliContext,
  clock: Clock,
): Promise<void> {
  const redraws = process.stdout.isTTY === true
  if (redraws) process.stdout.write(ERASE_ALL)
  while (!signal.aborted) {
    const text = await read().catch((err: unknown) => printable(`no answer: ${messageOf(err)}`))
    if (redraws) process.stdout.write(redrawn(escapeControls(text)))
    else terminal.out(text)
    await clock.sleep(WATCH_MS, signal).catch(() => undefined)
  }
}

function redrawn(text: string): string {
  return `${CURSOR_HOME}${text.replaceAll('\n', `${ERASE_LINE}\n`)}${ERASE_LINE}${ERASE_BELOW}\n`
}

/** The result does not wait longer for a store that hangs. */
const CLOSE_MS = 2_000

export async function diagnose(options: ProgramOptions): Promise<number> {
  const context = createContext({ quiet: true, options })
  const { warnings, facts } = await untilInterrupted(examineAll(context), context.signal)
  context.terminal.print({ at: systemClock.now(), warnings, facts }, () => {
    const { width } = context.terminal
    const rows = facts.map(({ about, text }) => [about, printable(text)] as const)
    return [labelledLines(rows, width), '', warningsText(warnings, width)].join('\n')
  })
  return exitOf(warnings)
}

/** Unlike withApp it accepts a database that does not answer or lacks migrations. */
async function examineAll({ config, log }: CliContext): Promise<Examination> {
  const embedded = await embedMissing(config, { log, clock: systemClock, sandbox: 'none' })
  // The warnings report stores that do not answer, so the log need not.
  const silent = log.child({}, { level: 'silent' })
  const app = openApp({ config: embedded.config, log: silent, clock: systemClock, role: 'doctor' })
  const queue = openQueue(app)
  const close = async () => {
    await queue.close({ graceMs: CLOSE_MS })
    await app.close()
  }
  try {
    return await examine({ app, queue, given: config })
  } finally {
    await Promise.race([close(), delay(CLOSE_MS, undefined, { ref: false })])
    await embedded.release()
    exitSoon()
  }
}
