import { readFileSync } from 'node:fs'
import { Argument, type Command, InvalidArgumentError, Option } from 'commander'
import { WATCH_CHANGE_KINDS } from '../../platform/base/change-kinds.ts'
import { CHANGE_REASONS, ENDPOINT_FORMATS, OPERATORS } from '../../platform/base/kinds.ts'
import type { Item } from '../api-client.ts'
import { call, list } from '../api-command.ts'
import { confirmDeletion, YES, type YesOption } from '../confirm.ts'
import { add, type Commands, load } from '../describe.ts'
import { UsageError } from '../exit-codes.ts'
import { type Columns, count, present } from '../text/text-format.ts'

type Endpoint = Item<'GET /webhook-endpoints'>

interface Owner {
  readonly reseller: string
}

/** The filters and rules of the command line. */
interface SettingFlags extends Owner {
  readonly target?: string
  readonly format?: string
  readonly description?: string
  readonly kinds?: readonly string[]
  readonly reasons?: readonly string[]
  readonly lists?: readonly string[]
  readonly soldOut?: true
  readonly bookable?: true
  readonly priceBelow?: object
  readonly digest?: object
  readonly quiet?: object
  readonly template?: object
  readonly headers?: Readonly<Record<string, string>>
  readonly clear?: readonly string[]
  readonly enable?: true
  readonly disable?: true
}

const CLEARABLE = ['kinds', 'reasons', 'lists', 'rules', 'digest', 'quietHours', 'headers'] as const
/** Counts stop here. */
const MAX_COUNTED = 10_000

const COLUMNS: Columns<Endpoint> = {
  id: 'id',
  reseller: 'reseller',
  target: 'target',
  state: ({ disabledReason, failingSince }) =>
    disabledReason ?? (failingSince === null ? 'enabled' : 'failing'),
  pending: ({ pending }) => `${count(pending)}${pending === MAX_COUNTED ? ' or more' : ''}`,
  dead: 'dead',
  receives: filterText,
  format: 'format',
  about: 'description',
}

const added = ({ deliveryId }: { readonly deliveryId: string }) => `delivery ${deliveryId} added`

export const COMMANDS: Commands = { endpoints: addEndpoints }

function refuseTwoOwners(command: Command): void {
  if (command.opts().operator !== true || command.getOptionValueSource('reseller') === 'implied')
    return
  throw new UsageError('--operator is instead of --reseller')
}

function addEndpoints(group: Command): void {
  const command = (name: string, about: string, args = '', remark = '', isOwned = true) =>
    add(group, name, about, {
      examples: [`${args}--reseller northwind`.trim()],
      remark,
    })
      .addOption(
        new Option('--reseller <name>', 'the owner of the endpoint').makeOptionMandatory(isOwned),
      )
      .addOption(
        new Option('--operator', 'instead of --reseller: the endpoints of operators').implies({
          reseller: OPERATORS.name,
        }),
      )
      .hook('preAction', refuseTwoOwners)
  const one = (name: string, about: string, args = '', remark = '') =>
    command(name, about, `ID ${args}`, remark).argument('<id>', 'as "endpoints list" prints it')
  command('list', 'List the endpoints of all or of one', '', '', false).action(
    list(
      ({ reseller }) =>
        reseller === undefined ? 'GET /all-webhook-endpoints' : 'GET /webhook-endpoints',
      { columns: COLUMNS, none: 'no endpoints yet' },
    ),
  )
  settingOptions(
    command(
      'create',
      'Create an endpoint and print its secret; it is not shown again',
      '--target https://receiver.example/fares --sold-out ',
    )
      .requiredOption('--target <target>', 'the https URL, or the address for the format email')
      .addOption(
        new Option('--format <format>', 'the format').choices(ENDPOINT_FORMATS).default('webhook'),
      ),
  ).action(
    call(
      'POST /webhook-endpoints',
      ({ secret }) => secret ?? 'no secret: only webhooks are signed',
      settingsOf,
    ),
  )
  settingOptions(
    one('update', 'Change an endpoint; what is not given stays', '--disable ').option(
      '--target <target>',
      'the new URL or address',
    ),
  )
    .addOption(new Option('--clear <settings...>', 'remove these settings').choices(CLEARABLE))
    .option('--enable', 'enable the endpoint; it continues where it stopped')
    .addOption(new Option('--disable', 'disable the endpoint').conflicts('enable'))
    .action(
      call('PATCH /webhook-endpoints/{endpointId}', undefined, (_id: string, flags: SettingFlags) =>
        settingsOf(flags),
      ),
    )
  one('show', 'Print one endpoint').action(call('GET /webhook-endpoints/{endpointId}'))
  one('delete', 'Delete an endpoint with its deliveries')
    .option(...YES)
    .action(
      call(
        'DELETE /webhook-endpoints/{endpointId}',
        (_answer, _terminal, id: string) => `endpoint ${id} deleted`,
        async (id: string, flags: Owner & YesOption) => {
          await confirmDeletion(`endpoint ${id} is deleted with its deliveries`, flags)
          return {}
        },
      ),
    )
  one('rotate', 'Print a new secret; the former one signs too for 24 hours').action(
    call('POST /webhook-endpoints/{endpointId}/rotate-secret', ({ secret }) => String(secret)),
  )
  one(
    'test',
    'Send a test event to an endpoint',
    '',
    'The worker sends it; "deliveries show" prints its attempts.',
  ).action(call('POST /webhook-endpoints/{endpointId}/test', added))
  one(
    'trigger',
    'Send an example of a record to an endpoint',
    'became_unavailable ',
    'Its type is "example." and the kind. It is no part of the feed.',
  )
    .addArgument(new Argument('<kind>', 'the kind of the record').choices(WATCH_CHANGE_KINDS))
    .action(call('POST /webhook-endpoints/{endpointId}/trigger', added))
  add(group, 'reseal', 'Encrypt all endpoints with the present ENCRYPTION_KEY', {
    remark: 'It works on the database itself. ENCRYPTION_KEY_PREVIOUS must hold the former key.',
  }).action(load('reseal', 'reseal'))
}

function settingOptions(command: Command): Command {
  return command
    .option('--description <text>', 'your own text')
    .addOption(new Option('--kinds <kinds...>', 'only these kinds').choices(WATCH_CHANGE_KINDS))
    .addOption(new Option('--reasons <reasons...>', 'only these reasons').choices(CHANGE_REASONS))
    .option('--lists <lists...>', 'only watches of these lists')
    .option('--sold-out', 'rule: the fare sold out')
    .option('--bookable', 'rule: the fare became bookable')
    .option('--price-below <price>', 'rule: the price fell below it, as 99.50EUR', priceOption)
    .option('--digest <when>', 'join records: 15m, 1h, or 7@Europe/Madrid', digestOption)
    .option('--quiet <hours>', 'send nothing in these hours: 22-7@Europe/Madrid', quietOption)
    .option(
      '--template <file>',
      'the JSON file with the form of a body, for the format json',
      jsonOption,
    )
    .option(
      '--headers <file>',
      'the JSON file with headers of each request: {"authorization": "Bearer …"}',
      jsonOption,
    )
}

/** A file, because other users of the machine can read the words of a command. */
function jsonOption(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch (err) {
    // The text of a parser's error quotes the file, which may hold a token.
    const why = (err as NodeJS.ErrnoException).code ?? 'it is not JSON'
    throw new InvalidArgumentError(`${file} cannot be read (${why}).`)
  }
}

function settingsOf(flags: SettingFlags) {
  const { target, format, description, kinds, reasons, lists, digest, quiet, template } = flags
  const { soldOut, bookable, priceBelow, clear = [], enable, disable, headers } = flags
  const rules = { soldOut, bookable, priceBelow }
  return {
    target,
    format,
    description,
    kinds,
    reasons,
    lists,
    digest,
    quietHours: quiet,
    template,
    headers,
    ...(Object.values(rules).some((rule) => rule !== undefined) && { rules }),
    ...Object.fromEntries(clear.map((name) => [name, null])),
    ...(enable && { enabled: true }),
    ...(disable && { enabled: false }),
  }
}

function priceOption(text: string) {
  const [, amount, currency] = /^(\d{1,9}(?:\.\d{1,6})?) ?([A-Z]{3})$/.exec(text) ?? []
  if (amount !== undefined && currency !== undefined) return { amount, currency }
  throw new InvalidArgumentError('It must be an amount with its currency, such as 99.50EUR.')
}

function digestOption(text: string) {
  if (text === '15m' || text === '1h') return { type: 'interval', every: text }
  const [, hour, zone] = /^(\d{1,2})@(\S+)$/.exec(text) ?? []
  if (hour !== undefined && zone !== undefined) return { type: 'daily', hour: Number(hour), zone }
  throw new InvalidArgumentError('It must be 15m, 1h, or an hour and a zone: 7@Europe/Madrid.')
}

function quietOption(text: string) {
  const [, from, to, zone] = /^(\d{1,2})-(\d{1,2})@(\S+)$/.exec(text) ?? []
  if (zone !== undefined) return { from: Number(from), to: Number(to), zone }
  throw new InvalidArgumentError('It must be two hours and a zone: 22-7@Europe/Madrid.')
}

/** "became_available of summer; sold out or below 99.50 EUR". */
function filterText({ kinds, reasons, lists, rules, digest }: Endpoint): string {
  const records = [...(kinds ?? []), ...(reasons ?? [])].join(', ') || 'all'
  const below = rules?.priceBelow
  const passes = present(
    rules?.soldOut && 'sold out',
    rules?.bookable && 'bookable',
    below && `below ${below.amount} ${below.currency}`,
  )
  const of = lists === null ? '' : ` of ${lists.join(', ')}`
  return present(
    `${records}${of}`,
    passes.length > 0 && passes.join(' or '),
    digest && (digest.type === 'daily' ? 'daily' : `every ${digest.every}`),
  ).join('; ')
}
