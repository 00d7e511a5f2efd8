import { once } from 'node:events'
import { type Command, Option } from 'commander'
import { stringify } from 'csv-stringify/sync'
import { type RouteRow, streamRoutes } from '../route-sync/route-queries.ts'
import { createContext, withApp } from './context.ts'
import { instantOption } from './option-parsers.ts'

interface ExportOptions {
  readonly asOf?: Date
  readonly format: 'csv' | 'json'
}

const COLUMNS: readonly (readonly [keyof RouteRow, string])[] = [
  ['departureId', 'departure_id'],
  ['departureIata', 'departure_iata'],
  ['departureCity', 'departure_city'],
  ['departureCountry', 'departure_country'],
  ['destinationId', 'destination_id'],
  ['destinationIata', 'destination_iata'],
  ['destinationCity', 'destination_city'],
  ['destinationCountry', 'destination_country'],
  ['since', 'since'],
  ['available', 'available'],
]

export function addRoutesCommands(program: Command): void {
  const routes = program.command('routes').description('the routes that we hold')
  routes
    .command('export')
    .description('write the live routes, or those of a past instant, to standard output')
    .option('--as-of <instant>', 'as they stood then', instantOption)
    .addOption(new Option('--format <format>').choices(['csv', 'json']).default('csv'))
    .addHelpText(
      'after',
      '\nExample:\n  farewatch routes export --as-of 2026-01-31 --format csv > routes.csv',
    )
    .action(exportRoutes)
}

async function exportRoutes({ asOf, format }: ExportOptions): Promise<void> {
  const context = createContext({ quiet: true })
  await withApp(context, { role: 'export', sandbox: false }, async ({ database }) => {
    const pages = streamRoutes(database.db, { asOf })
    const text = format === 'csv' ? csvText(pages) : jsonText(pages)
    for await (const chunk of text) {
      if (!process.stdout.write(chunk)) await once(process.stdout, 'drain')
    }
  })
}

async function* csvText(pages: AsyncIterable<RouteRow[]>): AsyncGenerator<string> {
  yield stringify([COLUMNS.map(([, column]) => column)])
  for await (const page of pages) {
    const rows = page.map((row) => COLUMNS.map(([field]) => csvValue(row[field])))
    // A cell that begins like a formula would run in a spreadsheet.
    yield stringify(rows, { escape_formulas: true })
  }
}

function csvValue(value: RouteRow[keyof RouteRow]): string {
  if (value instanceof Date) return value.toISOString()
  return value === null ? '' : String(value)
}

async function* jsonText(pages: AsyncIterable<RouteRow[]>): AsyncGenerator<string> {
  let separator = '[\n'
  for await (const page of pages) {
    yield separator + page.map((row) => JSON.stringify(jsonValue(row))).join(',\n')
    separator = ',\n'
  }
  yield separator === '[\n' ? '[]\n' : '\n]\n'
}

function jsonValue(row: RouteRow): Record<string, unknown> {
  return Object.fromEntries(COLUMNS.map(([field, column]) => [column, row[field]]))
}
