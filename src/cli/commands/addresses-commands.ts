import type { Command } from 'commander'
import { allowAddress, disallowAddress, listAddresses } from '../../delivery/endpoints/addresses.ts'
import { withApp, withReseller } from '../context.ts'
import { example, table } from '../text/text-format.ts'

interface Flags {
  readonly reseller: string
  readonly json?: boolean
}

const ROLE = 'addresses'

export function addAddressesCommands(program: Command): void {
  const addresses = program
    .command('addresses')
    .description('Allow the e-mail addresses that resellers may have messages sent to')
  const command = (name: string, about: string, json = 'print one JSON object') =>
    addresses
      .command(name)
      .description(about)
      .requiredOption('--reseller <name>', 'the reseller')
      .option('--json', json)
  command('list', 'List the allowed addresses', 'print one line of JSON per address')
    .addHelpText('after', example('addresses list --reseller northwind'))
    .action(printAddresses)
  command('allow <address>', 'Allow an address')
    .addHelpText('after', '\nEndpoints that were disabled as "not_allowed" continue.')
    .addHelpText('after', example('addresses allow ana@agency.example --reseller northwind'))
    .action(allow)
  command('disallow <address>', 'End the messages to an address and disable its endpoints')
    .addHelpText('after', example('addresses disallow ana@agency.example --reseller northwind'))
    .action(disallow)
}

function printAddresses({ reseller, json }: Flags): Promise<void> {
  return withReseller(ROLE, reseller, async (resellerId, { database }, { terminal }) => {
    const allowed = await listAddresses(database.db, resellerId)
    const rows = allowed.map(({ address, allowedAt }) => [address, allowedAt.toISOString()])
    terminal.printRows(json, allowed, () =>
      rows.length === 0 ? 'no addresses yet' : table(['address', 'allowed at'], rows),
    )
  })
}

function allow(address: string, { reseller, json }: Flags): Promise<void> {
  return withApp({ role: ROLE }, async ({ database }, { terminal }) => {
    const allowed = await allowAddress(database.db, { reseller, address, by: 'cli' })
    terminal.print(json, allowed, () => `${allowed.address} allowed`)
  })
}

function disallow(address: string, { reseller, json }: Flags): Promise<void> {
  return withApp({ role: ROLE }, async ({ database }, { terminal }) => {
    await disallowAddress(database.db, { reseller, address, by: 'cli' })
    terminal.print(json, { disallowed: true }, () => 'address disallowed')
  })
}
