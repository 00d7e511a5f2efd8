import { once } from 'node:events'
import { type Command, Option } from 'commander'
import { ROUTE_LISTS, type RouteListName } from '../../platform/base/kinds.ts'
import type { Logger } from '../../platform/base/logger.ts'
import type { Db } from '../../platform/db/database.ts'
import { assertKept } from '../../platform/db/history-floor.ts'
import { EXPORT_FORMATS, type ExportFormat, exportRoutes } from '../../routes/read/export-routes.ts'
import { readHistorySpan } from '../../routes/read/route-queries.ts'
import { withApp } from '../context.ts'
import { instantOption } from '../option-parsers.ts'
import { example, forScreen, megabytes } from '../text/text-format.ts'

interface ExportOptions {
  readonly asOf?: Date
  readonly format: ExportFormat
  readonly list: RouteListName
}

export function addRoutesCommands(program: Command): void {
  program
    .command('routes')
    .description('Export routes')
    .command('export')
    .description('Write the routes that are live, or were live at an instant, to standard output')
    .option('--as-of <instant>', 'the instant; unset: now', instantOption)
    .addOption(
      new Option('--list <list>', 'all routes, or those with availability')
        .choices(ROUTE_LISTS)
        .default('routes'),
    )
    .addOption(
      new Option('--format <format>', 'the file format').choices(EXPORT_FORMATS).default('csv'),
    )
    .addHelpText('after', example('routes export --as-of 2026-01-31 --format csv > routes.csv'))
    .action(writeRoutes)
}

async function writeRoutes({ asOf, format, list }: ExportOptions): Promise<void> {
  await withApp({ role: 'export' }, async ({ database: { db } }, { log, terminal, signal }) => {
    if (asOf !== undefined) await assertKept(db, asOf)
    await warnAboutInstant(log, db, { asOf, list })
    const onlyAvailable = list === 'with-availability'
    let bytes = 0
    for await (const text of exportRoutes(db, { asOf, format, onlyAvailable })) {
      if (signal.aborted) return
      if (!process.stdout.write(forScreen(text, process.stdout)))
        await once(process.stdout, 'drain', { signal })
      bytes += Buffer.byteLength(text)
      // On a terminal the progress would stand between the exported lines.
      if (process.stdout.isTTY !== true) terminal.progress(`${megabytes(bytes)} written`)
    }
  })
}

/** Warns where the export is empty or of an earlier instant than was asked for: the file cannot say so. */
async function warnAboutInstant(
  log: Logger,
  db: Db,
  { asOf, list }: { asOf: Date | undefined; list: RouteListName },
): Promise<void> {
  const { first, last } = await readHistorySpan(db, list)
  if (first === null || last === null) {
    log.warn({ list }, 'nothing to export: no list has been accepted yet')
  } else if (asOf !== undefined && asOf < first) {
    log.warn({ asOf, list, first }, 'nothing to export: the first list was accepted later')
  } else if (asOf !== undefined && asOf > last) {
    log.warn({ asOf, last }, 'exported as of the last accepted list: nothing later is known')
  }
}
