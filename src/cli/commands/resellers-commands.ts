import type { Command } from 'commander'
import { countContents, deleteMarked, markForDeletion } from '../../app/delete-reseller.ts'
import { recordAction } from '../../platform/db/audit.ts'
import {
  type ChosenRoutes,
  changeReseller,
  createReseller,
  listResellers,
  type ResellerSummary,
  requireReseller,
  SHARE_RANGE,
} from '../../resellers/resellers.ts'
import { disableReseller, enableReseller } from '../../watches/change-watches.ts'
import { confirmDeletion, YES, type YesOption } from '../confirm.ts'
import { withApp } from '../context.ts'
import { UsageError } from '../exit-codes.ts'
import { numberOption, pairOf } from '../option-parsers.ts'
import { count, countOf, example, printable, table } from '../text/text-format.ts'

const NEEDS = { role: 'resellers' }

export function addResellersCommands(program: Command): void {
  const resellers = program
    .command('resellers')
    .description('Create, list, change, disable, enable and delete resellers')
  resellers
    .command('create <name>')
    .description('Create a reseller')
    .option('--json', 'print one JSON object')
    .addHelpText('after', example('resellers create northwind'))
    .action(createNamed)
  resellers
    .command('list')
    .description('List all resellers with the number of their watches')
    .option('--json', 'print one line of JSON per reseller')
    .addHelpText('after', '\nActive watches are neither paused nor ended.')
    .addHelpText('after', example('resellers list'))
    .action(printResellers)
  resellers
    .command('update <name>')
    .description('Change the settings of a reseller; what is not given stays')
    .option(
      '--share <n>',
      `from ${SHARE_RANGE.min} to ${SHARE_RANGE.max}: 2 gets twice as many checks as 1 while both have fares due`,
      numberOption(SHARE_RANGE.min, SHARE_RANGE.max),
    )
    .option(
      '--routes <names...>',
      'changes of routes in its feed: places as PMI, pairs as PMI-OSL or, in either direction, PMI=OSL, countries as Norway; or none',
    )
    .option('--json', 'print one JSON object')
    .addHelpText('after', example('resellers update northwind --routes Norway PMI=OSL'))
    .action(setNamed)
  resellers
    .command('disable <name>')
    .description('Stop all watches of a reseller; its watch lists and its feed stay')
    .option('--json', 'print one JSON object')
    .addHelpText('after', example('resellers disable northwind'))
    .action(disableNamed)
  addEnableAndShow(resellers)
  addDeleteCommand(resellers)
}

function addEnableAndShow(resellers: Command): void {
  resellers
    .command('enable <name>')
    .description('Enable a disabled reseller; its watches begin again')
    .option('--json', 'print one JSON object')
    .addHelpText('after', example('resellers enable northwind'))
    .action(enableNamed)
  resellers
    .command('show <name>')
    .description('Print one reseller')
    .option('--json', 'print one JSON object')
    .addHelpText('after', example('resellers show northwind'))
    .action(showNamed)
}

async function enableNamed(name: string, { json }: { json?: boolean }): Promise<void> {
  await withApp(NEEDS, async ({ database: { db } }, { terminal }) => {
    const { id } = await requireReseller(db, name)
    await enableReseller(db, id)
    await recordAction(db, { by: 'cli', action: 'reseller enabled', target: name })
    const enabled = await requireReseller(db, name)
    terminal.print(json, enabled, () => `reseller ${printable(name)} enabled`)
  })
}

async function showNamed(name: string, { json }: { json?: boolean }): Promise<void> {
  await withApp(NEEDS, async ({ database: { db } }, { terminal }) => {
    const { id } = await requireReseller(db, name)
    const found = (await listResellers(db)).find((one) => one.id === id)
    if (found !== undefined) terminal.print(json, found, () => resellersTable([found]))
  })
}

function addDeleteCommand(resellers: Command): void {
  resellers
    .command('delete <name>')
    .description('Delete a reseller with all that it has, which is counted first')
    .option(...YES)
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      '\nIts keys, streams and deliveries end first. Fares that others watch stay. If it is interrupted, a worker goes on.',
    )
    .addHelpText('after', example('resellers delete northwind'))
    .action(deleteNamed)
}

interface DeleteOptions extends YesOption {
  readonly json?: boolean
}

async function deleteNamed(name: string, { yes, json }: DeleteOptions): Promise<void> {
  await withApp(NEEDS, async ({ database: { db }, log }, { terminal, signal }) => {
    const { id } = await requireReseller(db, name)
    const contents = await countContents(db, id)
    const held = Object.entries(contents).map(([what, n]) => `${count(n)} ${what}`)
    const whole = `reseller ${printable(name)} is deleted with ${held.join(', ')}`
    await confirmDeletion(whole, { yes })
    await markForDeletion(db, id)
    await recordAction(db, { by: 'cli', action: 'reseller deleted', target: name })
    log.warn({ reseller: name, ...contents }, 'reseller deleted')
    let rows = 0
    await deleteMarked(db, {
      signal,
      onBatch: (more) => {
        rows += more
        terminal.progress(`${count(rows)} rows deleted`)
      },
    })
    terminal.progress('')
    terminal.print(json, { reseller: name, contents }, () => whole)
  })
}

async function createNamed(name: string, { json }: { json?: boolean }): Promise<void> {
  await withApp(NEEDS, async ({ database }, { terminal }) => {
    const created = await createReseller(database.db, name)
    await recordAction(database.db, { by: 'cli', action: 'reseller created', target: name })
    terminal.print(json, created, () => `reseller ${printable(created.name)} created`)
  })
}

async function setNamed(
  name: string,
  { share, routes, json }: { share?: number; routes?: readonly string[]; json?: boolean },
): Promise<void> {
  if (share === undefined && routes === undefined) {
    throw new UsageError('give --share, --routes or both')
  }
  const change = { share, routes: routes && routesOf(routes) }
  await withApp(NEEDS, async ({ database }, { terminal }) => {
    const changed = await changeReseller(database.db, name, change)
    await recordAction(database.db, {
      by: 'cli',
      action: 'reseller changed',
      target: `${name} ${JSON.stringify(change)}`,
    })
    const chosen = changed.routes === null ? 'none' : JSON.stringify(changed.routes)
    terminal.print(
      json,
      changed,
      () => `reseller ${printable(name)}: share ${changed.share}, routes ${printable(chosen)}`,
    )
  })
}

/** @example routesOf(['Norway', 'PMI=OSL']) // {countries: ['Norway'], pairs: [{departure: 'PMI', …}]} */
function routesOf(names: readonly string[]): ChosenRoutes | null {
  if (names.length === 1 && names[0] === 'none') return null
  const pairs = names.flatMap((name) => pairOf(name) ?? [])
  const others = Object.groupBy(
    names.filter((name) => pairOf(name) === undefined),
    (name) => (/^[A-Z0-9]{3}$/.test(name) ? 'places' : 'countries'),
  )
  return { ...others, ...(pairs.length > 0 && { pairs }) }
}

async function printResellers({ json }: { json?: boolean }): Promise<void> {
  await withApp(NEEDS, async ({ database }, { terminal }) => {
    const resellers = await listResellers(database.db)
    terminal.printRows(json, resellers, () =>
      resellers.length === 0 ? 'no resellers yet' : resellersTable(resellers),
    )
  })
}

function resellersTable(resellers: readonly ResellerSummary[]): string {
  const rows = resellers.map((reseller) => [
    reseller.name,
    reseller.createdAt.toISOString(),
    count(reseller.lists),
    count(reseller.watches),
    count(reseller.active),
    String(reseller.share),
    reseller.disabledAt?.toISOString() ?? null,
  ])
  return table(
    ['reseller', 'created at', 'lists', 'watches', 'active', 'share', 'disabled at'],
    rows,
  )
}

async function disableNamed(name: string, { json }: { json?: boolean }): Promise<void> {
  await withApp(NEEDS, async ({ database: { db } }, { terminal }) => {
    const { id, name: known } = await requireReseller(db, name)
    const { trackedFaresEnded } = await disableReseller(db, id)
    await recordAction(db, { by: 'cli', action: 'reseller disabled', target: known })
    const ended = `${countOf(trackedFaresEnded, 'tracked fare')} ended`
    terminal.print(
      json,
      { id, name: known, trackedFaresEnded },
      () => `reseller ${printable(known)} disabled: ${ended}`,
    )
  })
}
