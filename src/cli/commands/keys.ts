import type { Command } from 'commander'
import { SCOPES, type Scope } from '../../platform/base/kinds.ts'
import type { Item } from '../api-client.ts'
import { call, list } from '../api-command.ts'
import { add, type Commands, load } from '../describe.ts'
import { UsageError } from '../exit-codes.ts'
import { instantOption, integerOption } from '../option-parsers.ts'
import type { Columns } from '../text/text-format.ts'

interface CreateOptions {
  readonly reseller?: string
  readonly operator?: boolean
  readonly scopes?: readonly Scope[]
  readonly expires?: Date
}

const COLUMNS: Columns<Item<'GET /keys'>> = {
  id: 'id',
  key: ({ prefix }) => `${prefix}…`,
  owner: ({ reseller }) => reseller ?? 'operator',
  scopes: 'scopes',
  created: 'createdAt',
  expires: 'expiresAt',
  'last used': 'lastUsedAt',
  revoked: 'revokedAt',
}

export const COMMANDS: Commands = { keys: addKeys }

function addKeys(keys: Command): void {
  add(keys, 'create', 'Create a key and print it; it is not shown again', {
    examples: ['--reseller northwind --scopes read', '--operator --database'],
    remark: 'The first key of an operator is made on the database itself: no other opens the API.',
  })
    .option('--reseller <name>', 'create a key of this reseller')
    .option('--operator', 'create a key of an operator')
    .option(
      '--scopes <scopes>',
      `some of ${SCOPES.join(', ')}; unset: all that this kind of key may have`,
      scopesOption,
    )
    .option('--expires <instant>', 'when the key expires; unset: never', instantOption)
    .action(call('POST /keys', ({ key }) => key, created))
  add(keys, 'link', 'Print a link that signs the page in once, within 10 minutes', {
    examples: ['--reseller northwind'],
    remark:
      'It is made on the database itself. Without an option: as an operator, and as the reseller "demo" if there is one. The page keeps its keys for 30 days.',
  })
    .option('--operator', 'as an operator')
    .option('--reseller <name>', 'as this reseller')
    .action(load('sign-in-link', 'printLink'))
  add(
    keys,
    'list',
    'List all keys by their first characters, also expired and revoked ones',
  ).action(list('GET /keys', { columns: COLUMNS, none: 'no keys yet' }))
  const one = (name: string, about: string) =>
    add(keys, name, about, { examples: ['3'] }).argument(
      '<id>',
      'as "keys list" prints it',
      integerOption(1, Number.MAX_SAFE_INTEGER),
    )
  one('show', 'Print one key, without its text').action(call('GET /keys/{keyId}'))
  one('revoke', 'Revoke a key for good, within a second').action(
    call('POST /keys/{keyId}/revoke', ({ id, prefix }) => `key ${id} (${prefix}…) is revoked`),
  )
}

function scopesOption(text: string): Scope[] {
  return text.split(',').map((name) => {
    const scope = SCOPES.find((known) => known === name.trim())
    if (scope === undefined) throw new UsageError(`scopes are some of ${SCOPES.join(', ')}`)
    return scope
  })
}

function created({ reseller, operator = false, scopes, expires }: CreateOptions) {
  if ((reseller !== undefined) === operator) {
    throw new UsageError('name the owner of the key: either --reseller NAME or --operator')
  }
  return { reseller: reseller ?? null, scopes, expiresAt: expires }
}
