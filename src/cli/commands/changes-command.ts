import type { Command } from 'commander'
import type { App } from '../../app/app.ts'
import { readAvailabilityChanges } from '../../changes/feed-queries.ts'
import { readWatchChanges } from '../../changes/watch-feed-queries.ts'
import { findReseller } from '../../resellers/resellers.ts'
import { createContext, withApp } from '../context.ts'
import { UsageError } from '../exit-codes.ts'
import { interruptSignal } from '../interrupt.ts'
import { integerOption } from '../option-parsers.ts'
import type { Terminal } from '../terminal.ts'
import { changeSentence, type ShownChange } from '../text/change-text.ts'
import { printable } from '../text/text-format.ts'

interface ChangesOptions {
  readonly reseller?: string
  readonly after: number
  readonly limit: number
  readonly follow?: boolean
  readonly json?: boolean
}

interface FeedRow extends ShownChange {
  readonly seq: number
  readonly recordedAt: Date
  readonly reference?: string
}

const POLL_MS = 1_000
const PAGE = 1_000

export function addChangesCommand(program: Command): void {
  program
    .command('changes')
    .description(
      'the changes of watched fares, in order: of all fares, or of one reseller’s watches',
    )
    .option('--reseller <name>', 'the feed of this reseller')
    .option('--after <seq>', 'only what comes after this number', integerOption(0, 2 ** 50), 0)
    .option('--limit <n>', 'at most so many', integerOption(1, 1_000_000), 1_000_000)
    .option('--follow', 'go on as more come')
    .option('--json', 'one line of JSON a change')
    .addHelpText('after', '\nExample:\n  bin/farewatch changes --reseller demo --follow')
    .action(async (options: ChangesOptions) => {
      const context = createContext({ quiet: true })
      const signal = interruptSignal()
      await withApp(context, { role: 'changes', sandbox: false }, (app) =>
        printChanges(app, context.terminal, options, signal),
      )
    })
}

async function printChanges(
  app: App,
  terminal: Terminal,
  options: ChangesOptions,
  signal: AbortSignal,
): Promise<void> {
  const read = await readerOf(app, options.reseller)
  let { after, limit } = options
  while (!signal.aborted && limit > 0) {
    const rows = await read({ after, limit: Math.min(limit, PAGE) })
    for (const row of rows) terminal.out(options.json === true ? JSON.stringify(row) : lineOf(row))
    after = rows.at(-1)?.seq ?? after
    limit -= rows.length
    if (rows.length > 0) continue
    if (options.follow !== true) return
    await app.clock.sleep(POLL_MS, signal).catch(() => undefined)
  }
}

async function readerOf({ database }: App, name: string | undefined) {
  const { db } = database
  if (name === undefined) {
    return (page: { after: number; limit: number }): Promise<FeedRow[]> =>
      readAvailabilityChanges(db, page)
  }
  const reseller = await findReseller(db, name)
  if (reseller === undefined) throw new UsageError(`there is no reseller "${name}"`)
  return (page: { after: number; limit: number }): Promise<FeedRow[]> =>
    readWatchChanges(db, reseller.id, page)
}

function lineOf(row: FeedRow): string {
  const reference = row.reference === undefined ? '' : `${printable(row.reference)}  `
  return `${String(row.seq).padStart(6)}  ${row.recordedAt.toISOString()}  ${reference}${changeSentence(row)}`
}
