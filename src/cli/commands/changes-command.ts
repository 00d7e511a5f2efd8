import type { Command } from 'commander'
import type { App } from '../../app/app.ts'
import { readAvailabilityChanges } from '../../changes/availability-feed.ts'
import { changeSentence, type ShownChange } from '../../changes/change-sentence.ts'
import { readWatchChanges } from '../../changes/watch-feed-queries.ts'
import { requireReseller } from '../../resellers/resellers.ts'
import { type CliContext, withApp } from '../context.ts'
import { integerOption } from '../option-parsers.ts'
import { example, printable } from '../text/text-format.ts'

interface ChangesOptions {
  readonly reseller?: string
  readonly after: number
  readonly limit?: number
  readonly follow?: boolean
  readonly json?: boolean
}

interface FeedRow extends ShownChange {
  readonly seq: number
  readonly recordedAt: Date
  readonly reference?: string
}

type ReadPage = (page: { after: number; limit: number }) => Promise<FeedRow[]>

const POLL_MS = 1_000
const PAGE = 1_000

export function addChangesCommand(program: Command): void {
  program
    .command('changes')
    .description('Print the changes of all tracked fares, or the feed of one reseller')
    .option('--reseller <name>', 'print the feed of this reseller')
    .option('--after <seq>', 'start after this number', integerOption(0, 2 ** 50), 0)
    .option('--limit <n>', 'print at most n changes', integerOption(1, 1_000_000))
    .option('--follow', 'wait for more changes until Ctrl-C')
    .option('--json', 'print one line of JSON per change')
    .addHelpText('after', example('changes --reseller demo --follow'))
    .action((options: ChangesOptions) =>
      withApp({ role: 'changes' }, (app, context) => printChanges(app, context, options)),
    )
}

async function printChanges(
  app: App,
  { terminal, signal }: CliContext,
  { reseller, follow, json, ...options }: ChangesOptions,
): Promise<void> {
  const read = await pageReader(app, reseller)
  let { after, limit = Number.POSITIVE_INFINITY } = options
  while (!signal.aborted && limit > 0) {
    const rows = await read({ after, limit: Math.min(limit, PAGE) })
    for (const row of rows) terminal.print(json, row, () => lineOf(row))
    after = rows.at(-1)?.seq ?? after
    limit -= rows.length
    if (rows.length > 0) continue
    if (follow !== true) return
    await app.clock.sleep(POLL_MS, signal).catch(() => undefined)
  }
}

async function pageReader({ database }: App, name: string | undefined): Promise<ReadPage> {
  const { db } = database
  if (name === undefined) return (page) => readAvailabilityChanges(db, page)
  const { id } = await requireReseller(db, name)
  return (page) => readWatchChanges(db, id, page)
}

function lineOf(row: FeedRow): string {
  const reference = row.reference === undefined ? '' : `${printable(row.reference)}  `
  const sentence = changeSentence(row, row.recordedAt.getUTCFullYear())
  return `${String(row.seq).padStart(6)}  ${row.recordedAt.toISOString()}  ${reference}${sentence}`
}
