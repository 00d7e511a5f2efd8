import type { Command } from 'commander'
import type { Answer } from '../api-client.ts'
import { call } from '../api-command.ts'
import { add } from '../describe.ts'
import { UsageError } from '../exit-codes.ts'
import { integerOption } from '../option-parsers.ts'
import { countOf, present, printable, timeText } from '../text/text-format.ts'

type Explanation = Answer<'GET /availability-changes/{seq}/resellers/{reseller}'>

/** That of "changes": a command and its subcommand share options of one name. */
interface Flags {
  readonly reseller?: string
}

export function addExplain(changes: Command): void {
  add(changes, 'explain', 'Print why a reseller was notified of a change, or was not', {
    examples: ['41 --reseller northwind'],
  })
    .argument(
      '<number>',
      'the number of a change, as "changes" prints it',
      integerOption(1, 2 ** 50),
    )
    .usage('<number> --reseller <name>')
    .action(
      call(
        'GET /availability-changes/{seq}/resellers/{reseller}',
        explanationText,
        (_seq: number, { reseller }: Flags) => {
          if (reseller === undefined) throw new UsageError('name the reseller with --reseller')
          return {}
        },
      ),
    )
}

type ExplainedWatch = Explanation['watches'][number]
type ExplainedEndpoint = Explanation['endpoints'][number]

/** One line for the change, each watch and each endpoint. */
export function explanationText({ change, watches, endpoints }: Explanation): string {
  const { seq, kind, reason, fareId, recordedAt, heldSince } = change
  const why = reason === null ? '' : ` (${reason})`
  const held = heldSince === null ? '' : `, held since ${timeText(heldSince)}`
  const records = watches.filter((watch) => watch.seq !== null).length
  return present(
    `change ${seq}: ${kind}${why} of fare ${fareId}, recorded ${timeText(recordedAt)}${held}`,
    ...(watches.length === 0
      ? ['the reseller has no watch of this fare: it never had one, or deleted it']
      : watches.map(watchLine)),
    ...endpoints.map(endpointLine),
    endpoints.length === 0 &&
      records > 0 &&
      `no endpoint: ${countOf(records, 'record')} can be read in the feed alone`,
  ).join('\n')
}

function watchLine(watch: ExplainedWatch): string {
  return printable(`${watch.list} ${watch.reference}: ${watchStep(watch)}`)
}

function watchStep({ step, seq, since, from, to, ...thresholds }: ExplainedWatch): string {
  const at = since === null ? '' : ` ${timeText(since)}`
  if (step === 'recorded') return `notified, record ${seq} of the feed`
  if (step === 'not_watched_then') return `no record: it began later, at${at}`
  if (step === 'paused') return `no record: it was paused at${at}`
  if (step === 'ended') return `no record: it had ended at${at}`
  if (step === 'reseller_disabled') return `no record: the reseller was disabled at${at}`
  if (step === 'started_with_it') {
    return 'no record: it had not started, and its watch_started shows the state since'
  }
  if (step === 'no_intent_met') return 'no record: the price meets no wish of the watch'
  if (step === 'below_threshold') {
    const { priceThresholdAmount: amount, priceThresholdPercent: percent } = thresholds
    const needed = present(amount && `${amount} ${from?.currency}`, percent && `${percent} %`)
    const needs = needed.length === 0 ? 'any change' : needed.join(' or ')
    return `no record: from ${moneyText(from)} to ${moneyText(to)} is below its threshold of ${needs}`
  }
  return 'no record, although its present settings pass: they were changed since, or the record was deleted'
}

function moneyText(money: ExplainedWatch['from']): string {
  return money === null ? 'no price' : `${money.amount} ${money.currency}`
}

function endpointLine(endpoint: ExplainedEndpoint): string {
  const { seq, endpointId, target } = endpoint
  return printable(`  record ${seq}, endpoint ${endpointId} (${target}): ${endpointStep(endpoint)}`)
}

function endpointStep({ step, at, attemptCount, filters, ...delivery }: ExplainedEndpoint): string {
  const when = at === null ? '' : timeText(at)
  if (step === 'delivered') return `delivered ${when}`
  if (step === 'dead')
    return `not tried any more since ${when}: "deliveries show ${delivery.deliveryId}"`
  if (step === 'pending') {
    if (delivery.waitsForDigest) return `waits for the digest of ${when}`
    const failed =
      attemptCount === 0 ? 'not tried yet' : `${countOf(attemptCount ?? 0, 'attempt')} failed`
    return `pending, ${failed}, due ${when}`
  }
  if (step === 'endpoint_disabled') return `not sent: the endpoint is disabled since ${when}`
  if (step === 'not_sent_yet') return 'not sent yet'
  if (step === 'endpoint_is_newer') return `not sent: the endpoint was made later, ${when}`
  if (step === 'filtered') return `not sent: it does not pass ${filters.join(', ')}`
  return 'no delivery is kept: those that are over are deleted after 30 days'
}
