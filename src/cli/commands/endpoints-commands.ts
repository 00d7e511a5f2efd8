import { type Command, InvalidArgumentError, Option } from 'commander'
import { targetRulesOf } from '../../app/settings-for.ts'
import {
  createEndpoint,
  deleteEndpoint,
  type EndpointDeps,
  rotateSecret,
  updateEndpoint,
} from '../../delivery/endpoints/change-endpoints.ts'
import {
  type EndpointOwner,
  listEndpoints,
  requireEndpoint,
} from '../../delivery/endpoints/endpoint-queries.ts'
import type { Given, NewEndpoint } from '../../delivery/endpoints/endpoint-settings.ts'
import {
  type Digest,
  type EndpointRules,
  type EndpointSettings,
  MAX_COUNTED,
  type ShownEndpoint,
} from '../../delivery/endpoints/endpoint-shapes.ts'
import { resealEndpoints } from '../../delivery/endpoints/sealer.ts'
import { addExample, addTestEvent } from '../../delivery/endpoints/test-events.ts'
import { WATCH_CHANGE_KINDS } from '../../platform/base/change-kinds.ts'
import { CHANGE_REASONS, ENDPOINT_FORMATS } from '../../platform/base/kinds.ts'
import { confirmDeletion, YES, type YesOption } from '../confirm.ts'
import { type CliContext, withApp, withReseller } from '../context.ts'
import { UsageError } from '../exit-codes.ts'
import { uuidOption } from '../option-parsers.ts'
import { count, countOf, example, table } from '../text/text-format.ts'

interface OwnerFlags {
  readonly reseller: string
  readonly json?: boolean
}

/** The filters and rules of the command line. */
interface SettingFlags extends OwnerFlags {
  readonly target?: string
  readonly format?: NewEndpoint['format']
  readonly description?: string
  readonly kinds?: EndpointSettings['kinds']
  readonly reasons?: EndpointSettings['reasons']
  readonly lists?: EndpointSettings['lists']
  readonly soldOut?: true
  readonly bookable?: true
  readonly priceBelow?: EndpointRules['priceBelow']
  readonly digest?: Digest
  readonly clear?: readonly Clearable[]
  readonly enable?: true
  readonly disable?: true
}

const CLEARABLE = ['kinds', 'reasons', 'lists', 'rules', 'digest'] as const
type Clearable = (typeof CLEARABLE)[number]

export function addEndpointsCommands(program: Command): void {
  const endpoints = program
    .command('endpoints')
    .description('Manage the webhook endpoints of resellers')
  const command = (name: string, about: string, json = 'print one JSON object') =>
    endpoints
      .command(name)
      .description(about)
      .requiredOption('--reseller <name>', 'the owner of the endpoint')
      .option('--json', json)
  const one: Declare = (name, about) =>
    command(name, about).argument('<id>', 'as "endpoints list" prints it', uuidOption)
  command('list', 'List the endpoints of a reseller', 'print one line of JSON per endpoint')
    .addHelpText('after', example('endpoints list --reseller northwind'))
    .action(printEndpoints)
  addCreate(command('create', 'Create an endpoint and print its secret; it is not shown again'))
  const update = one('update', 'Change an endpoint; what is not given stays')
  update.option('--target <target>', 'the new URL or address')
  settingOptions(update)
    .addOption(new Option('--clear <settings...>', 'remove these settings').choices(CLEARABLE))
    .option('--enable', 'enable the endpoint; it continues where it stopped')
    .addOption(new Option('--disable', 'disable the endpoint').conflicts('enable'))
    .addHelpText('after', example('endpoints update ID --reseller northwind --disable'))
    .action(updateOne)
  addActions(one)
  endpoints
    .command('reseal')
    .description('Encrypt all endpoints with the present ENCRYPTION_KEY')
    .option('--json', 'print one JSON object')
    .addHelpText('after', '\nENCRYPTION_KEY_PREVIOUS must hold the former key.')
    .addHelpText('after', example('endpoints reseal'))
    .action(reseal)
}

function addCreate(create: Command): void {
  create
    .requiredOption('--target <target>', 'the https URL, or the address for the format email')
    .addOption(
      new Option('--format <format>', 'the format').choices(ENDPOINT_FORMATS).default('webhook'),
    )
  settingOptions(create)
    .addHelpText(
      'after',
      example(
        'endpoints create --reseller northwind --target https://receiver.example/fares --sold-out',
      ),
    )
    .action(createOne)
}

function settingOptions(command: Command): Command {
  return command
    .option('--description <text>', 'a text of your own')
    .addOption(new Option('--kinds <kinds...>', 'only these kinds').choices(WATCH_CHANGE_KINDS))
    .addOption(new Option('--reasons <reasons...>', 'only these reasons').choices(CHANGE_REASONS))
    .option('--lists <lists...>', 'only watches of these lists')
    .option('--sold-out', 'rule: the fare sold out')
    .option('--bookable', 'rule: the fare became bookable')
    .option('--price-below <price>', 'rule: the price fell below it, as 99.50EUR', priceOption)
    .option('--digest <when>', 'join records: 15m, 1h, or 7@Europe/Madrid', digestOption)
}

type Declare = (name: string, about: string) => Command

function addActions(one: Declare): void {
  one('show', 'Print one endpoint')
    .addHelpText('after', example('endpoints show ID --reseller northwind'))
    .action((id: string, flags: OwnerFlags) =>
      withOwner(flags, async ({ owner }, { terminal }) => {
        const endpoint = await requireEndpoint(owner, id)
        terminal.print(flags.json, endpoint, () => endpointsTable([endpoint]))
      }),
    )
  one('delete', 'Delete an endpoint with its deliveries')
    .addHelpText('after', example('endpoints delete ID --reseller northwind'))
    .option(...YES)
    .action(async (id: string, flags: OwnerFlags & YesOption) => {
      await confirmDeletion(`endpoint ${id} is deleted with its deliveries`, flags)
      await withOwner(flags, async ({ owner }, { terminal }) => {
        await deleteEndpoint(owner, id)
        terminal.print(flags.json, { id, deleted: true }, () => `endpoint ${id} deleted`)
      })
    })
  one('rotate', 'Print a new secret; the former one signs too for 24 hours')
    .addHelpText('after', example('endpoints rotate ID --reseller northwind'))
    .action((id: string, flags: OwnerFlags) =>
      withOwner(flags, async ({ owner, deps }, { terminal }) => {
        const rotated = await rotateSecret(owner, deps.sealer, id)
        terminal.print(flags.json, rotated, () => String(rotated.secret))
      }),
    )
  one('test', 'Send a test event to an endpoint')
    .addHelpText('after', '\nThe worker sends it; "deliveries show" prints its attempts.')
    .addHelpText('after', example('endpoints test ID --reseller northwind'))
    .action((id: string, flags: OwnerFlags) =>
      withOwner(flags, async ({ owner }, { terminal }) => {
        const deliveryId = await addTestEvent(owner, id)
        terminal.print(flags.json, { deliveryId }, () => `delivery ${deliveryId} added`)
      }),
    )
}

/** Adds `trigger`, which sends an example of a record. */
export function addTriggerCommand(program: Command): void {
  program
    .command('trigger')
    .description('Send an example of a record to an endpoint')
    .argument('[kind]', `one of ${WATCH_CHANGE_KINDS.join(', ')}`)
    .option('--endpoint <id>', 'as "endpoints list" prints it', uuidOption)
    .option('--reseller <name>', 'the owner of the endpoint')
    .option('--json', 'print one JSON object')
    .addHelpText('after', '\nIts type is "example." and the kind. It is no part of the feed.')
    .addHelpText('after', example('trigger became_unavailable --endpoint ID --reseller northwind'))
    .action(trigger)
}

/** The kind is checked first, so that a command without anything names them. */
function trigger(
  kind: string | undefined,
  { endpoint, reseller, json }: Partial<OwnerFlags> & { readonly endpoint?: string },
): Promise<void> {
  const known = WATCH_CHANGE_KINDS.find((one) => one === kind)
  if (known === undefined) {
    const fault = kind ? `"${kind}" is no kind` : 'name the kind of the record'
    throw new UsageError(`${fault}: one of ${WATCH_CHANGE_KINDS.join(', ')}`)
  }
  if (endpoint === undefined || reseller === undefined) {
    throw new UsageError(
      'name the endpoint, by the id that "endpoints list" prints, and its owner: --endpoint ID --reseller NAME',
    )
  }
  return withOwner({ reseller }, async ({ owner }, { terminal }) => {
    const deliveryId = await addExample(owner, endpoint, known)
    terminal.print(json, { deliveryId }, () => `delivery ${deliveryId} added`)
  })
}

/** Runs work for the endpoints of the reseller that the command line names. */
function withOwner(
  { reseller }: OwnerFlags,
  work: (
    opened: { owner: EndpointOwner; deps: EndpointDeps },
    context: CliContext,
  ) => Promise<unknown>,
): Promise<void> {
  return withReseller('endpoints', reseller, async (resellerId, app, context) => {
    const deps = { sealer: app.sealer, targetRules: targetRulesOf(app.config) }
    return work({ owner: { db: app.database.db, resellerId }, deps }, context)
  })
}

function printEndpoints(flags: OwnerFlags): Promise<void> {
  return withOwner(flags, async ({ owner }, { terminal }) => {
    const endpoints = await listEndpoints(owner)
    terminal.printRows(flags.json, endpoints, () =>
      endpoints.length === 0 ? 'no endpoints yet' : endpointsTable(endpoints),
    )
  })
}

function createOne(flags: SettingFlags & { readonly target: string }): Promise<void> {
  return withOwner(flags, async ({ owner, deps }, { terminal }) => {
    const { target, format } = flags
    const made = await createEndpoint(owner, deps, { ...settingsOf(flags), target, format })
    const secret = made.secret ?? 'no secret: only webhooks are signed'
    terminal.print(flags.json, made, () => secret)
    if (flags.json !== true) terminal.step(`endpoint ${made.id} at ${made.target}`)
  })
}

function updateOne(id: string, flags: SettingFlags): Promise<void> {
  return withOwner(flags, async ({ owner, deps }, { terminal }) => {
    const given = settingsOf(flags)
    const changed = await updateEndpoint(owner, deps, { id, given })
    terminal.print(flags.json, changed, () => endpointsTable([changed]))
  })
}

function settingsOf(flags: SettingFlags): Given<EndpointSettings> {
  const { target, description, kinds, reasons, lists, digest } = flags
  const { soldOut, bookable, priceBelow, clear = [], enable, disable } = flags
  const rules = {
    ...(soldOut && { soldOut }),
    ...(bookable && { bookable }),
    ...(priceBelow && { priceBelow }),
  }
  return {
    ...{ target, description, kinds, reasons, lists, digest },
    ...(Object.keys(rules).length === 0 ? {} : { rules }),
    ...Object.fromEntries(clear.map((name) => [name, null])),
    ...(enable && { enabled: true }),
    ...(disable && { enabled: false }),
  }
}

function priceOption(text: string): EndpointRules['priceBelow'] {
  const [, amount, currency] = /^(\d{1,9}(?:\.\d{1,6})?) ?([A-Z]{3})$/.exec(text) ?? []
  if (amount !== undefined && currency !== undefined) return { amount, currency }
  throw new InvalidArgumentError('It must be an amount with its currency, such as 99.50EUR.')
}

function digestOption(text: string): Digest {
  if (text === '15m' || text === '1h') return { every: text }
  const [, hour, zone] = /^(\d{1,2})@(\S+)$/.exec(text) ?? []
  if (hour !== undefined && zone !== undefined) return { dailyAt: Number(hour), zone }
  throw new InvalidArgumentError('It must be 15m, 1h, or an hour and a zone: 7@Europe/Madrid.')
}

function reseal({ json }: { readonly json?: boolean }): Promise<void> {
  return withApp({ role: 'endpoints' }, async ({ database, sealer }, { terminal }) => {
    const resealed = await resealEndpoints(database.db, sealer)
    terminal.print(json, { resealed }, () => `${countOf(resealed, 'endpoint')} encrypted again`)
  })
}

function endpointsTable(endpoints: readonly ShownEndpoint[]): string {
  const rows = endpoints.map((endpoint) => [
    endpoint.id,
    endpoint.format,
    endpoint.target,
    endpoint.disabledReason ?? (endpoint.failingSince === null ? 'enabled' : 'failing'),
    filterText(endpoint),
    `${count(endpoint.pending)}${endpoint.pending === MAX_COUNTED ? ' or more' : ''}`,
    count(endpoint.dead),
    endpoint.description,
  ])
  return table(['id', 'format', 'target', 'state', 'receives', 'pending', 'dead', ''], rows)
}

/** "became_available of summer; sold_out or price below 99.50 EUR". */
function filterText({ kinds, reasons, lists, rules, digest }: ShownEndpoint): string {
  const records = [...(kinds ?? []), ...(reasons ?? [])].join(', ') || 'all'
  const below = rules?.priceBelow
  const passes = [
    ...(rules?.soldOut ? ['sold out'] : []),
    ...(rules?.bookable ? ['bookable'] : []),
    ...(below ? [`below ${below.amount} ${below.currency}`] : []),
  ]
  const joined = digest === null ? [] : ['dailyAt' in digest ? 'daily' : `every ${digest.every}`]
  const of = lists === null ? '' : ` of ${lists.join(', ')}`
  return [`${records}${of}`, ...(passes.length === 0 ? [] : [passes.join(' or ')]), ...joined].join(
    '; ',
  )
}
