import { once } from 'node:events'
import { type Command, Option } from 'commander'
import {
  EXPORT_FORMATS,
  type ExportFormat,
  exportRoutes,
} from '../../route-sync/read/export-routes.ts'
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
      '\nExample:\n  farewatch routes export --as-of 2026-01-31 --format csv > routes.csv',
    )
    .action(writeRoutes)
}

async function writeRoutes({ asOf, format, list }: ExportOptions): Promise<void> {
  const context = createContext({ quiet: true })
  const signal = interruptSignal()
  await withApp(context, { role: 'export', sandbox: false }, async ({ database }) => {
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
