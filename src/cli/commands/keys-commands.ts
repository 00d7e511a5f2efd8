import type { Command } from 'commander'
import { systemClock } from '../../base/clock.ts'
import { SCOPES, type Scope } from '../../http/caller.ts'
import { type ApiKey, createApiKey, listApiKeys, revokeApiKey } from '../../resellers/api-keys.ts'
import { requireReseller } from '../../resellers/resellers.ts'
import { createContext, withApp } from '../context.ts'
import { UsageError } from '../exit-codes.ts'
import { instantOption, integerOption } from '../option-parsers.ts'
import { table } from '../text/text-format.ts'

const NEEDS = { role: 'keys', sandbox: false }

interface CreateOptions {
  readonly reseller?: string
  readonly operator?: boolean
  readonly scopes?: readonly Scope[]
  readonly expires?: Date
  readonly json?: boolean
}

export function addKeysCommands(program: Command): void {
  const keys = program.command('keys').description('who may use the API')
  keys
    .command('create')
    .description('make a key; it is shown this once')
    .option('--reseller <name>', 'a key of this reseller')
    .option('--operator', 'a key of who runs the service')
    .option(
      '--scopes <scopes>',
      `some of ${SCOPES.join(', ')}; all that its kind has`,
      scopesOption,
    )
    .option('--expires <instant>', 'when it ends; never', instantOption)
    .option('--json', 'one line of JSON')
    .addHelpText(
      'after',
      '\nExample:\n  bin/farewatch keys create --reseller northwind --scopes read',
    )
    .action(create)
  keys
    .command('list')
    .description('all keys, by their first characters; the ended ones too')
    .option('--json', 'one line of JSON a key')
    .addHelpText('after', '\nExample:\n  bin/farewatch keys list')
    .action(printKeys)
  keys
    .command('revoke')
    .argument('<id>', 'as "keys list" shows it', integerOption(1, Number.MAX_SAFE_INTEGER))
    .description('end a key for good, within a second')
    .option('--json', 'one line of JSON')
    .addHelpText('after', '\nExample:\n  bin/farewatch keys revoke 3')
    .action(revoke)
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
    throw new UsageError('say whose key it is: either --reseller NAME or --operator')
  }
  const context = createContext({ quiet: true })
  if (expires !== undefined && expires <= systemClock.now()) {
    throw new UsageError('--expires lies in the past')
  }
  await withApp(context, NEEDS, async ({ database: { db } }) => {
    const resellerId = reseller === undefined ? null : (await requireReseller(db, reseller)).id
    const { text, key } = await createApiKey(db, { resellerId, scopes, expiresAt: expires })
    if (json === true) {
      context.terminal.out(JSON.stringify({ ...key, key: text }))
      return
    }
    context.terminal.out(text)
    context.terminal.step(`key ${key.id} for ${key.scopes.join(', ')}: it is not shown again`)
  })
}

async function printKeys({ json }: { json?: boolean }): Promise<void> {
  const context = createContext({ quiet: true })
  await withApp(context, NEEDS, async ({ database }) => {
    const keys = await listApiKeys(database.db)
    if (json === true) for (const key of keys) context.terminal.out(JSON.stringify(key))
    else context.terminal.out(keys.length === 0 ? 'no keys yet' : keysTable(keys))
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
  const headings = ['id', 'key', 'of', 'scopes', 'created at', 'expires at', 'last used', 'revoked']
  return table(headings, rows)
}

async function revoke(id: number, { json }: { json?: boolean }): Promise<void> {
  const context = createContext({ quiet: true })
  await withApp(context, NEEDS, async ({ database }) => {
    const key = await revokeApiKey(database.db, id)
    context.terminal.out(
      json === true ? JSON.stringify(key) : `key ${key.id} (${key.prefix}…) is revoked`,
    )
  })
}
