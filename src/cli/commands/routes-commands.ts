import { once } from 'node:events'
import { type Command, Option } from 'commander'
import type { Logger } from '../../base/logger.ts'
import type { Db } from '../../db/database.ts'
import {
  EXPORT_FORMATS,
  type ExportFormat,
  exportRoutes,
} from '../../route-sync/read/export-routes.ts'
import { readHistorySpan } from '../../route-sync/read/route-queries.ts'
import { ROUTE_LISTS, type RouteListName } from '../../upstream/route-list.ts'
import { createContext, withApp } from '../context.ts'
import { interruptSignal } from '../interrupt.ts'
import { instantOption } from '../option-parsers.ts'
import { megabytes } from '../text/text-format.ts'

interface ExportOptions {
  readonly asOf?: Date
  readonly format: ExportFormat
  readonly list: RouteListName
}

export function addRoutesCommands(program: Command): void {
  const routes = program.command('routes').description('the routes that we hold')
  routes
    .command('export')
    .description('write the live routes, or those of a past instant, to standard output')
    .option('--as-of <instant>', 'as they stood then', instantOption)
    .addOption(
      new Option('--list <list>', 'all routes, or those with availability')
        .choices(ROUTE_LISTS)
        .default('routes'),
    )
    .addOption(new Option('--format <format>').choices(EXPORT_FORMATS).default('csv'))
    .addHelpText(
      'after',
      '\nExample:\n  bin/farewatch routes export --as-of 2026-01-31 --format csv > routes.csv',
    )
    .action(writeRoutes)
}

async function writeRoutes({ asOf, format, list }: ExportOptions): Promise<void> {
  const context = createContext({ quiet: true })
  const signal = interruptSignal()
  await withApp(context, { role: 'export', sandbox: false }, async ({ database }) => {
    await tellInstant(context.log, database.db, { asOf, list })
    const onlyAvailable = list === 'with-availability'
    let bytes = 0
    for await (const text of exportRoutes(database.db, { asOf, format, onlyAvailable })) {
      // Nobody reads on: the export ends here, with the page that was under way.
      if (signal.aborted) return
      if (!process.stdout.write(text)) await once(process.stdout, 'drain', { signal })
      bytes += Buffer.byteLength(text)
      // Between the lines that somebody reads on the screen it would only be in the way.
      if (process.stdout.isTTY !== true) context.terminal.progress(`${megabytes(bytes)} written`)
    }
  })
}

/** An export has no place to say that it is of another instant than the one asked for, or of none. */
async function tellInstant(
  log: Logger,
  db: Db,
  { asOf, list }: { asOf: Date | undefined; list: RouteListName },
): Promise<void> {
  const { first, last } = await readHistorySpan(db, list)
  if (first === null || last === null) {
    log.warn({ list }, 'nothing to export: no list was accepted yet')
  } else if (asOf !== undefined && asOf < first) {
    log.warn({ asOf, list, first }, 'nothing to export: the first list was accepted later')
  } else if (asOf !== undefined && asOf > last) {
    log.warn({ asOf, last }, 'exported as of the last accepted list: nothing later is known')
  }
}
