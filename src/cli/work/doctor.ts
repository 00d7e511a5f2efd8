import { setTimeout as delay } from 'node:timers/promises'
import { openApp, openQueue } from '../../app/app.ts'
import { type Examination, examine } from '../../app/doctor.ts'
import { embedMissing } from '../../embedded/embed-missing.ts'
import { findRunning } from '../../embedded/running-services.ts'
import { systemClock } from '../../platform/base/clock.ts'
import { type CliContext, createContext } from '../context.ts'
import type { ProgramOptions } from '../describe.ts'
import { exitOfWarnings, exitSoon, untilInterrupted } from '../exit-codes.ts'
import { warningsText } from '../text/status-text.ts'
import { labelledLines, printable } from '../text/text-format.ts'

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
  return exitOfWarnings(warnings)
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
    const sandbox = await findRunning(config.FAREWATCH_HOME, 'sandbox')
    return await examine({ app, queue, given: config, runsSandbox: sandbox !== undefined })
  } finally {
    await Promise.race([close(), delay(CLOSE_MS, undefined, { ref: false })])
    await embedded.release()
    exitSoon()
  }
}
