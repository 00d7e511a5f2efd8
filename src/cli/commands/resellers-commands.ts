import type { Command } from 'commander'
import {
  createReseller,
  listResellers,
  type ResellerSummary,
  requireReseller,
} from '../../resellers/resellers.ts'
import { disableReseller } from '../../watch/disable-reseller.ts'
import { createContext, withApp } from '../context.ts'
import { count, countOf, printable, table } from '../text/text-format.ts'

const NEEDS = { role: 'resellers', sandbox: false }

export function addResellersCommands(program: Command): void {
  const resellers = program
    .command('resellers')
    .description('who keeps watch lists and is told of changes')
  resellers
    .command('create <name>')
    .description('add a reseller')
    .option('--json', 'as one JSON object')
    .addHelpText('after', '\nExample:\n  bin/farewatch resellers create northwind')
    .action(createNamed)
  resellers
    .command('list')
    .description('all resellers, with the size of their watch lists')
    .option('--json', 'one line of JSON a reseller')
    .addHelpText('after', '\nExample:\n  bin/farewatch resellers list')
    .action(printResellers)
  resellers
    .command('disable <name>')
    .description('stop all watches of a reseller; its watch lists and its feed stay')
    .option('--json', 'as one JSON object')
    .addHelpText('after', '\nExample:\n  bin/farewatch resellers disable northwind')
    .action(disableNamed)
}

async function createNamed(name: string, { json }: { json?: boolean }): Promise<void> {
  const context = createContext({ quiet: true })
  await withApp(context, NEEDS, async ({ database }) => {
    const created = await createReseller(database.db, name)
    context.terminal.out(
      json === true ? JSON.stringify(created) : `reseller ${printable(created.name)} created`,
    )
  })
}

async function printResellers({ json }: { json?: boolean }): Promise<void> {
  const context = createContext({ quiet: true })
  await withApp(context, NEEDS, async ({ database }) => {
    const resellers = await listResellers(database.db)
    if (json === true)
      for (const reseller of resellers) context.terminal.out(JSON.stringify(reseller))
    else
      context.terminal.out(resellers.length === 0 ? 'no resellers yet' : resellersTable(resellers))
  })
}

function resellersTable(resellers: readonly ResellerSummary[]): string {
  const rows = resellers.map((reseller) => [
    reseller.name,
    reseller.createdAt.toISOString(),
    count(reseller.lists),
    count(reseller.watches),
    count(reseller.active),
    reseller.disabledAt?.toISOString() ?? null,
  ])
  return table(['reseller', 'created at', 'lists', 'watches', 'active', 'disabled at'], rows)
}

async function disableNamed(name: string, { json }: { json?: boolean }): Promise<void> {
  const context = createContext({ quiet: true })
  await withApp(context, NEEDS, async ({ database }) => {
    const reseller = await requireReseller(database.db, name)
    const { trackedFaresEnded } = await disableReseller(database.db, reseller.id)
    const ended = `${countOf(trackedFaresEnded, 'tracked fare')} ended`
    context.terminal.out(
      json === true
        ? JSON.stringify({ id: reseller.id, name: reseller.name, trackedFaresEnded })
        : `reseller ${printable(reseller.name)} disabled: ${ended}`,
    )
  })
}
