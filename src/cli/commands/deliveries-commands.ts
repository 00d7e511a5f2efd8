import type { Command } from 'commander'
import {
  listAttempts,
  listDead,
  listDeadOfAll,
  requireDelivery,
} from '../../delivery/endpoints/delivery-queries.ts'
import type { DeadDelivery, ShownDelivery } from '../../delivery/endpoints/delivery-shapes.ts'
import type { Attempt } from '../../delivery/endpoints/endpoint-shapes.ts'
import {
  MAX_REPLAYED,
  replayFailed,
  replayRange,
  retryDelivery,
} from '../../delivery/endpoints/replay-deliveries.ts'
import type { Db } from '../../platform/db/database.ts'
import { type CliContext, withApp, withReseller } from '../context.ts'
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
  readonly limit: number
}

interface ReplayFlags extends Flags {
  readonly endpoint?: string
  readonly from?: number
  readonly through?: number
  readonly since?: Date
}

const PRESET_LIMIT = 50
const seqOption = integerOption(1, Number.MAX_SAFE_INTEGER)

export function addDeliveriesCommands(program: Command): void {
  const deliveries = program
    .command('deliveries')
    .description('Show deliveries that failed, and send deliveries again')
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
    .description('List dead deliveries, newest first')
    .option('--reseller <name>', 'only of this reseller; unset: of all')
    .option('--json', 'print one line of JSON per delivery')
    .option('--endpoint <id>', 'only of this endpoint', uuidOption)
    .option('--limit <count>', 'how many', integerOption(1, 10_000), PRESET_LIMIT)
    .addHelpText('after', example('deliveries list'))
    .action(list)
  one('show', 'Show a delivery with its attempts')
    .addHelpText('after', example('deliveries show ID --reseller northwind'))
    .action(show)
  one('retry', 'Send a delivery again, under the same id')
    .addHelpText('after', example('deliveries retry ID --reseller northwind'))
    .action(retry)
  command('replay', 'Send many deliveries again: a range of numbers, or all that died')
    .option('--endpoint <id>', 'only to this endpoint; needed for a range', uuidOption)
    .option('--from <seq>', 'the first number of the feed', seqOption)
    .option('--through <seq>', 'the last number of the feed', seqOption)
    .option('--since <instant>', 'all that died after this instant', instantOption)
    .addHelpText('after', example('deliveries replay --reseller northwind --since 2026-01-31'))
    .action(replay)
}

function list({ reseller, endpoint: endpointId, limit, json }: ListFlags): Promise<void> {
  const show = ({ terminal }: Pick<CliContext, 'terminal'>, dead: readonly ListedDelivery[]) =>
    terminal.printRows(json, dead, () =>
      dead.length === 0 ? 'no dead deliveries' : deadTable(dead),
    )
  if (reseller === undefined) {
    if (endpointId !== undefined) throw new UsageError('name the owner of --endpoint: --reseller')
    return withApp({ role: 'deliveries' }, async ({ database: { db } }, cli) =>
      show(cli, await listDeadOfAll(db, { limit })),
    )
  }
  return withReseller('deliveries', reseller, async (resellerId, { database: { db } }, cli) =>
    show(cli, await listDead(db, resellerId, { endpointId, limit })),
  )
}

function show(id: string, flags: Flags): Promise<void> {
  return withReseller(
    'deliveries',
    flags.reseller,
    async (resellerId, { database: { db } }, { terminal }) => {
      const delivery = await requireDelivery({ db, resellerId }, { deliveryId: id })
      const attemptsMade = await listAttempts(db, resellerId, id)
      terminal.print(flags.json, { ...delivery, attemptsMade }, () =>
        deliveryText(delivery, attemptsMade),
      )
    },
  )
}

function retry(id: string, flags: Flags): Promise<void> {
  return withReseller(
    'deliveries',
    flags.reseller,
    async (resellerId, { database: { db } }, { terminal }) => {
      await requireDelivery({ db, resellerId }, { deliveryId: id })
      const retried = await retryDelivery(db, resellerId, id)
      terminal.print(flags.json, { id, retried }, () =>
        retried ? `delivery ${id} is sent again` : `delivery ${id} is not over yet`,
      )
    },
  )
}

function replay(flags: ReplayFlags): Promise<void> {
  const { endpoint: endpointId, from, through, since, json } = flags
  const isRange = endpointId !== undefined && from !== undefined && through !== undefined
  if ((since === undefined) !== isRange) {
    throw new UsageError('name either --since, or --endpoint, --from and --through')
  }
  return withReseller(
    'deliveries',
    flags.reseller,
    async (resellerId, { database: { db } }, { terminal }) => {
      const replayed = isRange
        ? await replayRange(db, resellerId, { endpointId, from, through })
        : await replayAllFailed(db, resellerId, { endpointId, since: since ?? new Date() })
      terminal.print(
        json,
        { replayed },
        () => `${countOf(replayed, 'delivery', 'deliveries')} sent again`,
      )
    },
  )
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

type ListedDelivery = DeadDelivery & { readonly reseller?: string }

function deadTable(dead: readonly ListedDelivery[]): string {
  const hasResellers = dead.some(({ reseller }) => reseller !== undefined)
  const rows = dead.map(({ id, endpointId, lastAttempt, reseller, ...delivery }) => [
    ...(hasResellers ? [reseller ?? null] : []),
    id,
    endpointId,
    subjectOf(delivery),
    delivery.deadReason,
    secondText(delivery.endedAt),
    lastAttempt === null ? null : attemptText(lastAttempt),
  ])
  const columns = hasResellers ? ['reseller', 'id'] : ['id']
  return table([...columns, 'endpoint', 'record', 'why', 'ended', 'last attempt'], rows)
}

function deliveryText(delivery: ShownDelivery, attempts: readonly Attempt[]): string {
  const { state, deadReason, dueAt, recordedAt, endpointId } = delivery
  const head = labelledLines(
    [
      ['delivery', delivery.id],
      ['endpoint', endpointId],
      ['record', `${subjectOf(delivery)}, of ${secondText(recordedAt)}`],
      ['state', deadReason === null ? state : `${state}: ${deadReason}`],
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

function subjectOf({ seq, type }: Pick<DeadDelivery, 'seq' | 'type'>): string {
  return seq === null ? (type ?? '') : `#${seq}`
}

function attemptText({ outcome, status }: Attempt): string {
  return status === null ? outcome : `${outcome} (${status})`
}
