import type { Command } from 'commander'
import { localUrlOf, publicUrlOf } from '../../app/settings-for.ts'
import { DEMO_RESELLER } from '../../embedded/demo.ts'
import { systemClock } from '../../platform/base/clock.ts'
import { recordAction } from '../../platform/db/audit.ts'
import { SCOPES, type Scope } from '../../platform/http/operation.ts'
import {
  type ApiKey,
  createApiKey,
  listApiKeys,
  requireApiKey,
  revokeApiKey,
} from '../../resellers/api-keys.ts'
import { findReseller, requireReseller } from '../../resellers/resellers.ts'
import { CODE_MINUTES, createSignInCode, signInLink } from '../../resellers/sign-in.ts'
import { withApp } from '../context.ts'
import { UsageError } from '../exit-codes.ts'
import { instantOption, integerOption } from '../option-parsers.ts'
import { example, table } from '../text/text-format.ts'

const KEYS = { role: 'keys' }

interface OwnerOptions {
  readonly reseller?: string
  readonly operator?: boolean
  readonly json?: boolean
}

interface CreateOptions extends OwnerOptions {
  readonly scopes?: readonly Scope[]
  readonly expires?: Date
}

export function addKeysCommands(program: Command): void {
  const keys = program
    .command('keys')
    .description('Create, list and revoke keys of the API, and print links for the page')
  keys
    .command('create')
    .description('Create a key and print it; it is not shown again')
    .option('--reseller <name>', 'create a key of this reseller')
    .option('--operator', 'create a key of an operator')
    .option(
      '--scopes <scopes>',
      `some of ${SCOPES.join(', ')}; unset: all that this kind of key may have`,
      scopesOption,
    )
    .option('--expires <instant>', 'when the key expires; unset: never', instantOption)
    .option('--json', 'print one JSON object')
    .addHelpText('after', example('keys create --reseller northwind --scopes read'))
    .action(create)
  addLinkCommand(keys)
  keys
    .command('list')
    .description('List all keys by their first characters, also expired and revoked ones')
    .option('--json', 'print one line of JSON per key')
    .addHelpText('after', example('keys list'))
    .action(printKeys)
  keys
    .command('show')
    .argument('<id>', 'as "keys list" prints it', integerOption(1, Number.MAX_SAFE_INTEGER))
    .description('Print one key, without its text')
    .option('--json', 'print one JSON object')
    .addHelpText('after', example('keys show 3'))
    .action(show)
  keys
    .command('revoke')
    .argument('<id>', 'as "keys list" prints it', integerOption(1, Number.MAX_SAFE_INTEGER))
    .description('Revoke a key for good, within a second')
    .option('--json', 'print one JSON object')
    .addHelpText('after', example('keys revoke 3'))
    .action(revoke)
}

function addLinkCommand(keys: Command): void {
  keys
    .command('link')
    .description(`Print a link that signs the page in once, within ${CODE_MINUTES} minutes`)
    .option('--operator', 'as an operator')
    .option('--reseller <name>', 'as this reseller')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      '\nWithout an option: as an operator, and as the reseller "demo" if there is one. The page keeps its keys for 30 days.',
    )
    .addHelpText('after', example('keys link --reseller northwind'))
    .action(link)
}

function scopesOption(text: string): Scope[] {
  return text.split(',').map((name) => {
    const scope = SCOPES.find((known) => known === name.trim())
    if (scope === undefined) throw new UsageError(`scopes are some of ${SCOPES.join(', ')}`)
    return scope
  })
}

async function create(options: CreateOptions): Promise<void> {
  const { reseller, operator = false, scopes, expires, json } = options
  if ((reseller !== undefined) === operator) {
    throw new UsageError('name the owner of the key: either --reseller NAME or --operator')
  }
  if (expires !== undefined && expires <= systemClock.now()) {
    throw new UsageError('--expires lies in the past')
  }
  await withApp(KEYS, async ({ database: { db } }, { terminal }) => {
    const resellerId = reseller === undefined ? null : (await requireReseller(db, reseller)).id
    const { text, key } = await createApiKey(db, { resellerId, scopes, expiresAt: expires })
    await recordAction(db, { by: 'cli', action: 'key created', target: `key ${key.id}` })
    terminal.print(json, { ...key, key: text }, () => text)
    if (json !== true) {
      terminal.step(`key ${key.id} with ${key.scopes.join(', ')}; it is not shown again`)
    }
  })
}

async function link({ operator = false, reseller, json }: OwnerOptions): Promise<void> {
  await withApp(KEYS, async ({ database: { db }, config }, { terminal }) => {
    const isAny = !operator && reseller === undefined
    const found = isAny ? await findReseller(db, DEMO_RESELLER) : undefined
    const owner = reseller === undefined ? found : await requireReseller(db, reseller)
    const { code } = await createSignInCode(db, {
      operator: operator || isAny,
      resellerId: owner?.id ?? null,
    })
    const url = signInLink(publicUrlOf(config) ?? localUrlOf(config), code)
    terminal.print(json, { url }, () => url)
  })
}

async function printKeys({ json }: { json?: boolean }): Promise<void> {
  await withApp(KEYS, async ({ database }, { terminal }) => {
    const keys = await listApiKeys(database.db)
    terminal.printRows(json, keys, () => (keys.length === 0 ? 'no keys yet' : keysTable(keys)))
  })
}

async function show(id: number, { json }: { json?: boolean }): Promise<void> {
  await withApp(KEYS, async ({ database }, { terminal }) => {
    const key = await requireApiKey(database.db, id)
    terminal.print(json, key, () => keysTable([key]))
  })
}

function keysTable(keys: readonly ApiKey[]): string {
  const rows = keys.map((key) => [
    String(key.id),
    `${key.prefix}…`,
    key.reseller ?? 'operator',
    key.scopes.join(', '),
    key.createdAt.toISOString(),
    key.expiresAt?.toISOString() ?? null,
    key.lastUsedAt?.toISOString() ?? null,
    key.revokedAt?.toISOString() ?? null,
  ])
  const times = ['created at', 'expires at', 'last used', 'revoked']
  return table(['id', 'key', 'owner', 'scopes', ...times], rows)
}

async function revoke(id: number, { json }: { json?: boolean }): Promise<void> {
  await withApp(KEYS, async ({ database }, { terminal }) => {
    const key = await revokeApiKey(database.db, id)
    await recordAction(database.db, { by: 'cli', action: 'key revoked', target: `key ${id}` })
    terminal.print(json, key, () => `key ${key.id} (${key.prefix}…) is revoked`)
  })
}
