import type { Command } from 'commander'
import { readOverview } from '../../app/read-overview.ts'
import type { Clock } from '../../platform/base/clock.ts'
import { messageOf } from '../../platform/base/errors.ts'
import { type CliContext, withQueue } from '../context.ts'
import { statusText } from '../text/status-text.ts'
import { escapeControls, example, printable } from '../text/text-format.ts'

interface StatusOptions {
  readonly watch?: boolean
  readonly json?: boolean
}

/** Reading the status takes tens of milliseconds; with a million fares, a second. */
const WATCH_MS = 2_000
/** Each line is written over the old one, and the rest of the screen is erased: clearing first would flicker. */
const CURSOR_HOME = '\x1b[H'
const ERASE_LINE = '\x1b[K'
const ERASE_BELOW = '\x1b[J'
const ERASE_ALL = '\x1b[2J'

export function addStatusCommand(program: Command): void {
  program
    .command('status')
    .description('Show the state of everything on one screen, problems in capitals')
    .option('--watch', 'repeat every two seconds until Ctrl-C')
    .option('--json', 'print one line of JSON each time')
    .addHelpText('after', example('status --watch'))
    .action(printStatus)
}

async function printStatus({ watch = false, json = false }: StatusOptions): Promise<void> {
  await withQueue('status', async (app, queue, context) => {
    const read = async () => {
      const overview = await readOverview(app, queue)
      return json ? JSON.stringify(overview) : statusText(overview, context.terminal.width)
    }
    if (!watch) context.terminal.out(await read())
    else await keepPrinting(read, context, app.clock)
  })
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
