import { openPlace } from '../../history/export-place.ts'
import { exportTables, streamTable } from '../../history/export-run.ts'
import { pruneHistory } from '../../history/prune-history.ts'
import { reopenDays, rollUpDays } from '../../history/roll-up-days.ts'
import type { TableFormat } from '../../platform/base/kinds.ts'
import { createAnalyst } from '../../platform/db/analyst-logins.ts'
import { assertKept } from '../../platform/db/history-floor.ts'
import { proveHistory } from '../../routes/prove/prove-history.ts'
import { confirmDeletion, type YesOption } from '../confirm.ts'
import { withApp } from '../context.ts'
import type { ProgramOptions } from '../describe.ts'
import { EXIT } from '../exit-codes.ts'
import { countOf, recordText } from '../text/text-format.ts'

interface RollUpOptions extends ProgramOptions {
  readonly from?: Date
}

export function rollUp(options: RollUpOptions): Promise<void> {
  const { from } = options
  return withApp({ role: 'rollup', options }, async ({ database }, { terminal, signal }) => {
    if (from !== undefined) await assertKept(database.db, from)
    if (from !== undefined) await reopenDays(database.db, from.toISOString().slice(0, 10))
    const days = await rollUpDays(database.db, { signal, onProgress: terminal.progress })
    terminal.print({ days }, () => `${countOf(days, 'day')} computed`)
  })
}

interface ExportOptions extends ProgramOptions {
  readonly format: TableFormat
  readonly from?: number | Date
  readonly to: string
  readonly state?: string
}

export function writeTables(tables: string[], options: ExportOptions): Promise<void> {
  return withApp({ role: 'export', options }, async ({ database }, { terminal }) => {
    const request = { ...options, tables }
    if (options.to === '-') return streamTable(database, request, process.stdout)
    const files = await exportTables(database, request, { onProgress: terminal.progress })
    for (const file of files) terminal.out(file)
  })
}

export function makeAnalyst(name: string, options: ProgramOptions): Promise<void> {
  return withApp({ role: 'analysts', options }, async (app, { terminal }, { postgres }) => {
    const address = new URL(app.config.DATABASE_URL)
    address.username = name
    address.password = await createAnalyst(app.database.db, name)
    const isEmbedded = postgres !== undefined
    terminal.print({ name, url: address.href, isEmbedded }, () =>
      [
        `psql '${address.href}'`,
        'The password is not shown again.',
        ...(isEmbedded
          ? [
              'This is the embedded server: it runs while a farewatch of this directory runs, on this machine only.',
            ]
          : []),
      ].join('\n'),
    )
  })
}

export function prove(options: ProgramOptions): Promise<void> {
  const needs = { role: 'prove', options }
  return withApp(needs, async ({ database, syncDeps }, { terminal, signal }) => {
    const result = await proveHistory(
      { ...syncDeps, db: database.db },
      {
        signal,
        most: options.output === 'json' ? null : 1,
        onRun: ({ list, runs }) => terminal.progress(`${list}: ${countOf(runs, 'run')} read`),
      },
    )
    terminal.print(result, () => recordText(result, terminal.width))
    return result.equal ? EXIT.ok : EXIT.failed
  })
}

interface PruneOptions extends YesOption, ProgramOptions {
  readonly before: Date
  readonly export: string
}

export async function prune(options: PruneOptions): Promise<void> {
  const { before } = options
  const day = before.toISOString().slice(0, 10)
  await confirmDeletion(`what is from before ${day} is deleted here if the export has it`, options)
  await withApp({ role: 'prune', options }, async ({ database }, { terminal, signal }) => {
    const place = await openPlace(options.export)
    const onProgress = terminal.progress
    const result = await pruneHistory(database.db, { before, place }, { signal, onProgress })
    terminal.print(result, () => recordText(result, terminal.width))
  })
}
