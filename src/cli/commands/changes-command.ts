import type { Command } from 'commander'
import type { App } from '../../app/app.ts'
import { changeSentence, type ShownChange } from '../../delivery/formats/sentences.ts'
import { type FeedBounds, readFeedBounds, startAfter } from '../../feeds/feed-bounds.ts'
import { readAvailabilityChanges } from '../../feeds/operator-feed-queries.ts'
import { readWatchChanges, readWatchFeedBounds } from '../../feeds/watch-feed-queries.ts'
import { requireReseller } from '../../resellers/resellers.ts'
import { type CliContext, withApp } from '../context.ts'
import { integerOption } from '../option-parsers.ts'
import { example, printable } from '../text/text-format.ts'

interface ChangesOptions {
  readonly reseller?: string
  readonly after?: number
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
    .option(
      '--after <seq>',
      'start after this number; unset: at the first record',
      integerOption(0, 2 ** 50),
    )
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
  const { read, bounds } = await openFeed(app, reseller)
  let { after = bounds.first - 1, limit = Number.POSITIVE_INFINITY } = options
  // A number beyond the end is waited for.
  startAfter({ ...bounds, head: Number.POSITIVE_INFINITY }, after, '--after')
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

async function openFeed(
  { database }: App,
  name: string | undefined,
): Promise<{ readonly read: ReadPage; readonly bounds: FeedBounds }> {
  const { db } = database
  if (name === undefined) {
    const bounds = await readFeedBounds(db, 'availability')
    return { read: (page) => readAvailabilityChanges(db, page), bounds }
  }
  const { id } = await requireReseller(db, name)
  const bounds = await readWatchFeedBounds(db, id)
  return { read: (page) => readWatchChanges(db, id, page), bounds }
}

function lineOf(row: FeedRow): string {
  const reference = row.reference === undefined ? '' : `${printable(row.reference)}  `
  const sentence = changeSentence(row, row.recordedAt.getUTCFullYear())
  return `${String(row.seq).padStart(6)}  ${row.recordedAt.toISOString()}  ${reference}${sentence}`
}
