import type { Command } from 'commander'
import { readOverview } from '../../app/read-overview.ts'
import type { Clock } from '../../base/clock.ts'
import { messageOf } from '../../base/errors.ts'
import { createContext, withQueue } from '../context.ts'
import { interruptSignal } from '../interrupt.ts'
import type { Terminal } from '../terminal.ts'
import { statusText } from '../text/status-text.ts'
import { printable, screenWidth } from '../text/text-format.ts'

interface StatusOptions {
  readonly watch?: boolean
  readonly json?: boolean
}

/** A reading of everything takes tens of milliseconds, of a million fares a second. */
const WATCH_MS = 2_000
/** To the upper left, without a flicker: each line is then written over, and what is left below is erased. */
const HOME = '\x1b[H'
const ERASE_LINE = '\x1b[K'
const ERASE_BELOW = '\x1b[J'
const ERASE_ALL = '\x1b[2J'

export function addStatusCommand(program: Command): void {
  program
    .command('status')
    .description('the state of everything, on one screen')
    .option('--watch', 'go on, every two seconds, until Ctrl-C')
    .option('--json', 'one line of JSON a reading')
    .addHelpText('after', '\nExample:\n  bin/farewatch status --watch')
    .action(printStatus)
}

async function printStatus({ watch = false, json = false }: StatusOptions): Promise<void> {
  const context = createContext({ quiet: true })
  const signal = interruptSignal()
  await withQueue(context, 'status', async (app, queue) => {
    const read = async () => {
      const overview = await readOverview(app, queue)
      return json ? JSON.stringify(overview) : statusText(overview, screenWidth(process.stdout))
    }
    if (!watch) context.terminal.out(await read())
    else await keepPrinting(read, { terminal: context.terminal, clock: app.clock, signal })
  })
}

/** An outage does not end the watch: it is what one watches for. */
async function keepPrinting(
  read: () => Promise<string>,
  { terminal, clock, signal }: { terminal: Terminal; clock: Clock; signal: AbortSignal },
): Promise<void> {
  const redraws = process.stdout.isTTY === true
  if (redraws) process.stdout.write(ERASE_ALL)
  while (!signal.aborted) {
    const text = await read().catch((err: unknown) => printable(`no answer: ${messageOf(err)}`))
    terminal.out(redraws ? redrawn(text) : text)
    await clock.sleep(WATCH_MS, signal).catch(() => undefined)
  }
}

function redrawn(text: string): string {
  return `${HOME}${text.replaceAll('\n', `${ERASE_LINE}\n`)}${ERASE_LINE}${ERASE_BELOW}`
}
