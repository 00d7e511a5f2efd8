import { type Command, Option } from 'commander'
import {
  EXPORT_FORMATS,
  type ExportFormat,
  ROUTE_LISTS,
  type RouteListName,
} from '../../platform/base/kinds.ts'
import { type Asking, ask, call, list, readAll } from '../api-command.ts'
import { add, type Commands, help, load, type ProgramOptions } from '../describe.ts'
import { instantOption, integerOption, limitOption } from '../option-parsers.ts'
import { copyOut } from '../terminal.ts'
import { reviewText } from '../text/sync-report-text.ts'
import { heldText, RUN_COLUMNS, syncSentence } from '../text/sync-runs-text.ts'

interface ExportOptions extends ProgramOptions {
  readonly asOf?: Date
  readonly format: ExportFormat
  readonly list: RouteListName
}

const runNumber = integerOption(1, Number.MAX_SAFE_INTEGER)

export const COMMANDS: Commands = { sync: addSync, runs: addRuns, routes: addRoutes }

function addSync(sync: Command): void {
  help(sync, {
    examples: ['--list routes --json'],
    remark: 'Exits with 3 if a list is held for review, or would be.',
  })
    .addOption(
      new Option('--list <list>', 'the list to pull')
        .choices([...ROUTE_LISTS, 'all'])
        .default('all'),
    )
    .option('--dry-run', 'fetch the list and print what a sync would do; change nothing')
    .action(load('sync', 'sync'))
}

function addRuns(runs: Command): void {
  add(runs, 'list', 'List the last runs, newest first', { examples: ['--limit 5'] })
    .addOption(new Option('--list <list>', 'only runs of this list').choices(ROUTE_LISTS))
    .addOption(limitOption('runs'))
    .action(list('GET /sync-runs', { columns: RUN_COLUMNS, none: 'no runs yet' }))
  add(
    runs,
    'review',
    'List the held runs; or show why one is held and what approving it would do',
    { examples: ['7'] },
  )
    .argument('[run]', 'a held run; unset: all of them', runNumber)
    .action(ask(review))
  const one = (name: string, about: string) =>
    add(runs, name, about, { examples: ['7'] }).argument(
      '<run>',
      'the number of the run',
      runNumber,
    )
  one('approve', 'Apply the list of a held run as it was fetched').action(
    call('POST /held-runs/{runId}/approve', syncSentence),
  )
  one('reject', 'Drop the list of a held run').action(
    call(
      'POST /held-runs/{runId}/reject',
      ({ dropped }) => `dropped run ${dropped.join(', ')}; nothing else changed`,
    ),
  )
  one('show', 'Show everything about a finished run').action(call('GET /sync-runs/{runId}'))
  add(runs, 'diff', 'Print the differences between the kept lists of two runs of one list', {
    examples: ['6 7'],
    remark: '+ is a route that the second list adds, - one that it lacks, ~ a place.',
  })
    .argument('<from>', 'the first run', runNumber)
    .argument('<to>', 'the second run', runNumber)
    .action(load('sync', 'printDifferences'))
}

async function review({ api, terminal }: Asking, runId: number | undefined): Promise<void> {
  if (runId !== undefined) {
    const answer = await api.call('GET /held-runs/{runId}', { params: { runId } })
    return terminal.print(answer, () => reviewText(answer, terminal.width))
  }
  const held = await readAll(api, 'GET /held-runs', {})
  terminal.printRows(held, () =>
    held.length === 0 ? 'nothing is held' : heldText(held, terminal.width),
  )
}

function addRoutes(program: Command): void {
  add(
    program,
    'export',
    'Write the routes that are live, or were live at an instant, to standard output',
    { examples: ['--as-of 2026-01-31 --format csv > routes.csv'] },
  )
    .option('--as-of <instant>', 'the instant; unset: now', instantOption)
    .addOption(
      new Option('--list <list>', 'all routes, or those with availability')
        .choices(ROUTE_LISTS)
        .default('routes'),
    )
    .addOption(
      new Option('--format <format>', 'the file format').choices(EXPORT_FORMATS).default('csv'),
    )
    .action(ask(exportRoutes))
}

const EXPORTS = {
  routes: 'GET /data/routes',
  'with-availability': 'GET /data/routes/with-availability',
} as const

async function exportRoutes({ api }: Asking, { asOf, format, list }: ExportOptions): Promise<void> {
  const isCsv = format === 'csv'
  const onlyAvailable = isCsv && list === 'with-availability' ? true : undefined
  const query = { asOf: asOf?.toISOString(), onlyAvailable }
  await copyOut(await api.open(isCsv ? 'GET /data/routes/csv' : EXPORTS[list], { query }))
}
