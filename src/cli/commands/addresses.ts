import type { Command } from 'commander'
import { call, list } from '../api-command.ts'
import { add, type Commands } from '../describe.ts'

export const COMMANDS: Commands = { addresses: addAddresses }

function addAddresses(group: Command): void {
  const command = (name: string, about: string, args: string, remark = '') =>
    add(group, name, about, {
      examples: [`${args}--reseller northwind`],
      remark,
    }).requiredOption('--reseller <name>', 'the reseller')
  command('list', 'List the allowed addresses', '').action(
    list('GET /resellers/{reseller}/addresses', {
      columns: { address: 'address', allowed: 'allowedAt' },
      none: 'no addresses yet',
    }),
  )
  command(
    'allow <address>',
    'Allow an address',
    'ana@agency.example ',
    'Endpoints that were disabled as "not_allowed" continue.',
  ).action(call('PUT /resellers/{reseller}/addresses', ({ address }) => `${address} allowed`))
  command(
    'disallow <address>',
    'End the messages to an address and disable its endpoints',
    'ana@agency.example ',
  ).action(call('POST /resellers/{reseller}/addresses/disallow', () => 'address disallowed'))
}
