import type {
  Attempt,
  DeadDelivery,
  ShownDelivery,
} from '../../delivery/endpoints/delivery-queries.ts'
import type { ShownEndpoint } from '../../delivery/endpoints/endpoint-queries.ts'
import { count, labelledLines, printable, secondText, table } from './text-format.ts'

export function endpointsTable(endpoints: readonly ShownEndpoint[]): string {
  const rows = endpoints.map((endpoint) => [
    endpoint.id,
    endpoint.format,
    endpoint.target,
    endpoint.disabledReason ?? (endpoint.failingSince === null ? 'enabled' : 'failing'),
    filterText(endpoint),
    count(endpoint.pending),
    count(endpoint.dead),
    endpoint.description,
  ])
  return table(['id', 'format', 'target', 'state', 'receives', 'pending', 'dead', ''], rows)
}

/** "became_available of summer; sold_out or price below 99.50 EUR". */
function filterText({ kinds, reasons, lists, rules, digest }: ShownEndpoint): string {
  const records = [...(kinds ?? []), ...(reasons ?? [])].join(', ') || 'all'
  const below = rules?.price_below
  const passes = [
    ...(rules?.sold_out ? ['sold out'] : []),
    ...(rules?.bookable ? ['bookable'] : []),
    ...(below ? [`below ${below.amount} ${below.currency}`] : []),
  ]
  const joined = digest === null ? [] : ['daily_at' in digest ? 'daily' : `every ${digest.every}`]
  const of = lists === null ? '' : ` of ${lists.join(', ')}`
  return [`${records}${of}`, ...(passes.length === 0 ? [] : [passes.join(' or ')]), ...joined].join(
    '; ',
  )
}

export function deadTable(dead: readonly DeadDelivery[]): string {
  const rows = dead.map(({ id, endpointId, lastAttempt, ...delivery }) => [
    id,
    endpointId,
    subjectOf(delivery),
    delivery.deadReason,
    secondText(delivery.endedAt),
    lastAttempt === null ? null : attemptText(lastAttempt),
  ])
  return table(['id', 'endpoint', 'record', 'why', 'ended', 'last attempt'], rows)
}

export function deliveryText(delivery: ShownDelivery, attempts: readonly Attempt[]): string {
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
