import { type Command, Option } from 'commander'
import {
  listAttempts,
  listDeliveries,
  requireDelivery,
} from '../../delivery/endpoints/delivery-queries.ts'
import type { Delivery } from '../../delivery/endpoints/delivery-shapes.ts'
import type { Attempt } from '../../delivery/endpoints/endpoint-shapes.ts'
import {
  MAX_REPLAYED,
  replayFailed,
  replayRange,
  retryDelivery,
} from '../../delivery/endpoints/replay-deliveries.ts'
import { DELIVERY_STATES, type DeliveryState } from '../../platform/base/kinds.ts'
import type { Db } from '../../platform/db/database.ts'
import { requireReseller } from '../../resellers/resellers.ts'
import { withApp, withReseller } from '../context.ts'
import { UsageError } from '../exit-codes.ts'
import { instantOption, integerOption, uuidOption } from '../option-parsers.ts'
import {
  countOf,
  example,
  labelledLines,
  printable,
  secondText,
  table,
} from '../text/text-format.ts'

interface Flags {
  readonly reseller: string
  readonly json?: boolean
}

interface ListFlags extends Omit<Flags, 'reseller'> {
  readonly reseller?: string
  readonly endpoint?: string
  readonly state?: DeliveryState
  readonly limit: number
}

interface ReplayFlags extends Flags {
  readonly endpoint?: string
  readonly from: number | Date
  readonly to?: number
}

const PRESET_LIMIT = 50
const seqOption = integerOption(1, Number.MAX_SAFE_INTEGER)

/** Reads a number of a feed, or an instant. */
function fromOption(text: string): number | Date {
  return /^\d{1,15}$/.test(text) ? seqOption(text) : instantOption(text)
}

export function addDeliveriesCommands(program: Command): void {
  const deliveries = program
    .command('deliveries')
    .description('Show deliveries, and send them again')
  const command = (name: string, about: string) =>
    deliveries
      .command(name)
      .description(about)
      .requiredOption('--reseller <name>', 'the owner of the endpoint')
      .option('--json', 'print one JSON object')
  const one = (name: string, about: string) =>
    command(name, about).argument('<id>', 'as "deliveries list" prints it', uuidOption)
  deliveries
    .command('list')
    .description('List deliveries, newest first')
    .option('--reseller <name>', 'only of this reseller; unset: of all')
    .option('--json', 'print one line of JSON per delivery')
    .option('--endpoint <id>', 'only of this endpoint', uuidOption)
    .addOption(new Option('--state <state>', 'only of this state').choices(DELIVERY_STATES))
    .option('--limit <count>', 'how many', integerOption(1, 10_000), PRESET_LIMIT)
    .addHelpText('after', example('deliveries list --state dead'))
    .action(list)
  one('show', 'Show a delivery with its attempts')
    .addHelpText('after', example('deliveries show ID --reseller northwind'))
    .action(show)
  one('retry', 'Send a delivery again, under the same id')
    .addHelpText('after', example('deliveries retry ID --reseller northwind'))
    .action(retry)
  command('replay', 'Send many deliveries again: a range of numbers, or all that died')
    .option('--endpoint <id>', 'only to this endpoint; needed for a range', uuidOption)
    .requiredOption(
      '--from <from>',
      'the first number of the feed; or an instant: all that died since',
      fromOption,
    )
    .option('--to <seq>', 'the last number of the feed', seqOption)
    .addHelpText('after', example('deliveries replay --reseller northwind --from 2026-01-31'))
    .action(replay)
}

async function list({ reseller, endpoint, state, limit, json }: ListFlags): Promise<void> {
  if (reseller === undefined && endpoint !== undefined) {
    throw new UsageError('name the owner of --endpoint: --reseller')
  }
  await withApp({ role: 'deliveries' }, async ({ database: { db } }, { terminal }) => {
    const found = await listDeliveries(db, {
      resellerId: reseller === undefined ? undefined : (await requireReseller(db, reseller)).id,
      endpointId: endpoint,
      states: state === undefined ? undefined : [state],
      limit,
    })
    terminal.printRows(json, found, () =>
      found.length === 0 ? 'no deliveries' : deliveryTable(found, reseller === undefined),
    )
  })
}

function show(id: string, flags: Flags): Promise<void> {
  return withReseller(
    'deliveries',
    flags.reseller,
    async (resellerId, { database: { db } }, { terminal }) => {
      const delivery = await requireDelivery({ db, resellerId }, id)
      const attempts = await listAttempts(db, resellerId, id)
      terminal.print(flags.json, { ...delivery, attempts }, () => deliveryText(delivery, attempts))
    },
  )
}

function retry(id: string, flags: Flags): Promise<void> {
  return withReseller(
    'deliveries',
    flags.reseller,
    async (resellerId, { database: { db } }, { terminal }) => {
      await requireDelivery({ db, resellerId }, id)
      const retried = await retryDelivery(db, resellerId, id)
      terminal.print(flags.json, { id, retried }, () =>
        retried ? `delivery ${id} is sent again` : `delivery ${id} is not over yet`,
      )
    },
  )
}

function replay(flags: ReplayFlags): Promise<void> {
  const { endpoint: endpointId, from, to, json } = flags
  return withReseller(
    'deliveries',
    flags.reseller,
    async (resellerId, { database: { db } }, { terminal }) => {
      const replayed = await replayFrom(db, resellerId, { endpointId, from, to })
      terminal.print(
        json,
        { replayed },
        () => `${countOf(replayed, 'delivery', 'deliveries')} sent again`,
      )
    },
  )
}

interface Replayed {
  readonly endpointId: string | undefined
  readonly from: number | Date
  readonly to: number | undefined
}

function replayFrom(db: Db, resellerId: number, { endpointId, from, to }: Replayed) {
  if (typeof from === 'object' && to === undefined) {
    return replayAllFailed(db, resellerId, { endpointId, diedFrom: from })
  }
  if (typeof from === 'number' && to !== undefined && endpointId !== undefined) {
    return replayRange(db, resellerId, { endpointId, from, to })
  }
  throw new UsageError('--from takes an instant alone, or a number with --to and --endpoint')
}

/**
 * One statement replays a limited number. It is repeated only while it was full, so that what dies again at once
 * ends it.
 */
async function replayAllFailed(
  db: Db,
  resellerId: number,
  given: Parameters<typeof replayFailed>[2],
): Promise<number> {
  let sum = 0
  for (;;) {
    const replayed = await replayFailed(db, resellerId, given)
    sum += replayed
    if (replayed < MAX_REPLAYED) return sum
  }
}

function deliveryTable(found: readonly Delivery[], hasResellers: boolean): string {
  const rows = found.map((delivery) => {
    const { id, endpointId, reseller, dueAt, endedAt, recordedAt, lastAttempt } = delivery
    return [
      ...(hasResellers ? [reseller] : []),
      id,
      endpointId,
      subjectOf(delivery),
      stateText(delivery),
      secondText(endedAt ?? dueAt ?? recordedAt),
      lastAttempt === null ? null : attemptText(lastAttempt),
    ]
  })
  const columns = hasResellers ? ['reseller', 'id'] : ['id']
  return table([...columns, 'endpoint', 'record', 'state', 'ended or due', 'last attempt'], rows)
}

function stateText({ state, deadReason }: Delivery): string {
  return deadReason === null ? state : `${state}: ${deadReason}`
}

function deliveryText(delivery: Delivery, attempts: readonly Attempt[]): string {
  const { dueAt, recordedAt, endpointId } = delivery
  const head = labelledLines(
    [
      ['delivery', delivery.id],
      ['endpoint', endpointId],
      ['record', `${subjectOf(delivery)}, of ${secondText(recordedAt)}`],
      ['state', stateText(delivery)],
      ...(dueAt === null ? [] : [['due', secondText(dueAt)] as const]),
    ],
    Number.POSITIVE_INFINITY,
  )
  const lines = attempts.map((attempt) => {
    const answer = attempt.answer === '' ? '' : `  ${printable(attempt.answer)}`
    return `${secondText(attempt.startedAt)}  ${attempt.durationMs} ms  ${attemptText(attempt)}${answer}`
  })
  return [head, ...(lines.length === 0 ? ['no attempt yet'] : lines)].join('\n')
}

function subjectOf({ seq, type }: Delivery): string {
  return seq === null ? (type ?? '') : `#${seq}`
}

function attemptText({ outcome, status }: Attempt): string {
  return status === null ? outcome : `${outcome} (${status})`
}
