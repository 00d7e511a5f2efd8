import { type Command, Option } from 'commander'
import { DELIVERY_STATES } from '../../platform/base/kinds.ts'
import type { Item } from '../api-client.ts'
import { type Asking, ask, call, list, readAll } from '../api-command.ts'
import { add, type Commands, type ProgramOptions } from '../describe.ts'
import { UsageError } from '../exit-codes.ts'
import { instantOption, integerOption, limitOption } from '../option-parsers.ts'
import { type Columns, countOf } from '../text/text-format.ts'

type Delivery = Item<'GET /deliveries'>

interface Owner extends ProgramOptions {
  readonly reseller: string
}

interface ReplayFlags extends Owner {
  readonly endpoint?: string
  readonly from: number | Date
  readonly to?: number
}

const seqOption = integerOption(1, Number.MAX_SAFE_INTEGER)

const COLUMNS: Columns<Delivery> = {
  id: 'id',
  record: subjectOf,
  state: stateText,
  'ended or due': ({ endedAt, dueAt, recordedAt }) => endedAt ?? dueAt ?? recordedAt,
  'last attempt': attemptText,
  reseller: 'reseller',
  endpoint: 'target',
}

/** Reads a number of a feed, or an instant. */
function fromOption(text: string): number | Date {
  return /^\d{1,15}$/.test(text) ? seqOption(text) : instantOption(text)
}

export const COMMANDS: Commands = { deliveries: addDeliveries }

function addDeliveries(group: Command): void {
  const command = (name: string, about: string, args: string) =>
    add(group, name, about, { examples: [args] }).requiredOption(
      '--reseller <name>',
      'the owner of the endpoint',
    )
  const one = (name: string, about: string) =>
    command(name, about, 'ID --reseller northwind').argument(
      '<id>',
      'as "deliveries list" prints it',
    )
  add(group, 'list', 'List deliveries, newest first', { examples: ['--state dead'] })
    .option('--reseller <name>', 'only of this reseller; unset: of all')
    .option('--endpoint <id>', 'only of this endpoint')
    .addOption(new Option('--state <state>', 'only of this state').choices(DELIVERY_STATES))
    .addOption(limitOption('deliveries'))
    .action(
      list(({ reseller }) => (reseller === undefined ? 'GET /all-deliveries' : 'GET /deliveries'), {
        columns: COLUMNS,
        none: 'no deliveries',
      }),
    )
  one('show', 'Show a delivery with its attempts').action(call('GET /deliveries/{deliveryId}'))
  one('retry', 'Send a delivery again, under the same id').action(
    call(
      'POST /deliveries/{deliveryId}/retry',
      ({ id }) => `delivery ${id} is sent again, if it is over`,
    ),
  )
  command(
    'replay',
    'Send many deliveries again: a range of numbers, or all that died',
    '--reseller northwind --from 2026-01-31',
  )
    .option('--endpoint <id>', 'only to this endpoint; needed for a range')
    .requiredOption(
      '--from <from>',
      'the first number of the feed; or an instant: all that died since',
      fromOption,
    )
    .option('--to <seq>', 'the last number of the feed', seqOption)
    .action(ask(replay))
}

/** How many dead deliveries one request sends again. */
const MOST_AT_ONCE = 10_000

async function replay({ api, terminal }: Asking, flags: ReplayFlags): Promise<void> {
  const { endpoint, reseller } = flags
  const body = replayed(flags)
  const ids =
    endpoint === undefined
      ? (await readAll(api, 'GET /webhook-endpoints', { reseller })).map(({ id }) => id)
      : [endpoint]
  let sum = 0
  for (const endpointId of ids) {
    let last: number
    do {
      const asked = { params: { endpointId }, reseller, body }
      last = (await api.call('POST /webhook-endpoints/{endpointId}/replay', asked)).replayed
      sum += last
      // It is repeated only while it was full, so that what dies again at once ends it.
    } while ('diedFrom' in body && last === MOST_AT_ONCE)
  }
  terminal.print({ replayed: sum }, () => `${countOf(sum, 'delivery', 'deliveries')} sent again`)
}

function replayed({ from, to, endpoint }: ReplayFlags) {
  if (typeof from === 'object' && to === undefined) return { diedFrom: from }
  if (typeof from === 'number' && to !== undefined && endpoint !== undefined) {
    return { from, to }
  }
  throw new UsageError('--from takes an instant alone, or a number with --to and --endpoint')
}

function stateText({ state, deadReason }: Delivery): string {
  return deadReason === null ? state : `${state}: ${deadReason}`
}

function subjectOf({ seq, type }: Delivery): string {
  return seq === null ? (type ?? '') : `#${seq}`
}

function attemptText({ lastAttempt }: Delivery): string {
  const { outcome = '', status = null } = lastAttempt ?? {}
  return status === null ? outcome : `${outcome} (${status})`
}
