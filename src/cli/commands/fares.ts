import { setTimeout as delay } from 'node:timers/promises'
import type { Command } from 'commander'
import { changeSentence, type ShownChange } from '../../delivery/formats/change-sentence.ts'
import { VOCABULARY } from '../../platform/base/vocabulary.ts'
import { fieldValue, TERM_FIELDS, termsText } from '../../upstream/question.ts'
import type { Answer } from '../api-client.ts'
import { type Asking, ask, call, list } from '../api-command.ts'
import { add, type Commands, help, type ProgramOptions } from '../describe.ts'
import { interruptSignal } from '../exit-codes.ts'
import { integerOption } from '../option-parsers.ts'
import { addTermOptions, questionOfOptions, type TermOptions } from '../question-options.ts'
import {
  countOf,
  hangingIndent,
  present,
  printable,
  secondText,
  tableText,
  timeText,
} from '../text/text-format.ts'
import { addExplain } from './explain.ts'

interface VerifyOptions extends TermOptions {
  readonly flight: string
  readonly return?: string
}

function addVerify(program: Command): void {
  const verify = help(program, {
    examples: ['--flight 12345 --non-residents-adults 2'],
    remark: 'Exits with 1 if the availability of a leg stays unknown.',
  })
    .requiredOption('--flight <id>', 'the outbound flight')
    .option('--return <id>', 'the return flight')
  addTermOptions(verify)
  verify.action(call('GET /flights/fares/verify', verifyText, verified))
}

function verified(options: VerifyOptions) {
  const question = questionOfOptions(options.flight, options.return, options)
  const terms = TERM_FIELDS.map((field) => [field.wire, fieldValue(question, field)] as const)
  const flights = { flightId: options.flight, returnFlightId: options.return }
  return { ...flights, ...Object.fromEntries(terms) }
}

/** What a line says of a flight, as far as the upstream sent it in its usual form. */
interface UsualFlight {
  readonly price?: { readonly total?: unknown; readonly currency?: unknown }
  readonly from?: { readonly iata?: unknown }
  readonly to?: { readonly iata?: unknown }
  readonly dates?: { readonly departure?: unknown }
}

function verifyText(answer: Answer<'GET /flights/fares/verify'>): string {
  return Object.entries(answer)
    .map(([id, { available, flight }]) => {
      if (!available) return `${id}: not available`
      const { price, from, to, dates } = (flight ?? {}) as UsualFlight
      const facts = [
        `${price?.total ?? 'no price'} ${price?.currency ?? ''}`.trim(),
        `${from?.iata} → ${to?.iata}`,
        String(dates?.departure),
      ]
      return printable(`${id}: available, ${facts.join(', ')}`)
    })
    .join('\n')
}

type Fare = Answer<'GET /fares/{fareId}'>

function addFares(program: Command): void {
  add(program, 'list', 'List the tracked fares of a flight, those that are watched first', {
    examples: ['153142210230'],
  })
    .argument('<flightId>', 'the id of the outbound flight')
    .action(
      list('GET /fares', {
        columns: {
          id: 'fareId',
          return: 'returnFlightId',
          passengers: passengersOf,
          watches: 'watchers',
        },
        none: 'no fare of this flight was ever watched',
      }),
    )
  add(program, 'show', 'Show the belief of a tracked fare, its history and its next check', {
    examples: ['17'],
  })
    .argument('<id>', 'the id of the fare', integerOption(1, 10 ** 15 - 1))
    .action(call('GET /fares/{fareId}', (fare, { width }) => fareText(fare, width)))
}

/** What the last answers show, unlike the belief, and why the belief is shown as unknown. */
function contradictions(fare: Fare): string | false {
  const { hiddenReason, contradictedSince, heldSince, lastReason } = fare
  const reason = hiddenReason === 'unanswered' && lastReason !== null ? ` (${lastReason})` : ''
  const all = present(
    contradictedSince && `the last answers contradict this since ${timeText(contradictedSince)}`,
    heldSince && `the change is held since ${timeText(heldSince)}: many flights change at once`,
    hiddenReason && `shown as unknown: ${VOCABULARY.hidden[hiddenReason]}${reason}`,
  )
  return all.length > 0 && all.join('; ')
}

function fareText(fare: Fare, width: number): string {
  const { returnFlightId, next, lastReason, lastCheckAt, lastCheckWhy, priceReason, turns } = fare
  const at = (instant: string | null) => (instant === null ? 'never' : timeText(instant))
  const back = returnFlightId === null ? '' : ` with return ${returnFlightId}`
  const why =
    priceReason === null ? '' : ` (price last shown ${at(fare.priceCheckedAt)}: ${priceReason})`
  const price = fare.price === null ? why : `, ${priceText(fare)}${why}`
  const reason = lastReason === null ? '' : ` (the last check was unknown: ${lastReason})`
  const last = lastCheckWhy && `last check ${at(lastCheckAt)}: ${VOCABULARY.checks[lastCheckWhy]}`
  const check = next === null ? 'no more checks' : `next check ${at(next.at)}: ${next.why}`
  const columns = {
    state: 'state',
    price: priceText,
    from: 'validFrom',
    until: ({ validTo }: Fare['timeline'][number]) => validTo ?? 'now',
  } as const
  const facts = present(
    `${fare.state}${price}; last good check ${at(fare.lastGoodCheckAt)}${reason}`,
    contradictions(fare),
    last,
    `${check}; ${countOf(fare.watchers, 'active watch', 'active watches')}`,
    turns?.why,
  )
  return present(
    `fare ${fare.fareId}: flight ${fare.flightId}${back}, for ${passengersOf(fare)}`,
    ...facts.map((fact) => hangingIndent('  ', fact, width)),
    fare.timeline.length > 0 && `\n${tableText(columns, fare.timeline, width)}`,
  ).join('\n')
}

function passengersOf(fare: Parameters<typeof termsText>[0]): string {
  return termsText(fare) || '1 adult'
}

function priceText({ price }: Pick<Fare, 'price'>): string {
  return price === null ? '' : `${price.amount} ${price.currency}`
}

interface ChangesOptions extends ProgramOptions {
  readonly reseller?: string
  readonly after?: number
  readonly limit?: number
  readonly follow?: boolean
}

const POLL_MS = 1_000
const PAGE = 1_000

export const COMMANDS: Commands = { changes: addChanges, verify: addVerify, fares: addFares }

function addChanges(program: Command): void {
  const changes = help(program, { examples: ['--reseller demo --follow'] })
    .option('--reseller <name>', 'print the feed of this reseller')
    .option(
      '--after <seq>',
      'start after this number; unset: at the first record',
      integerOption(0, 2 ** 50),
    )
    .option('--limit <n>', 'print at most n changes', integerOption(1, 1_000_000))
    .option('--follow', 'wait for more changes until Ctrl-C')
    .action(ask(printChanges))
  addExplain(changes)
}

async function printChanges(
  { api, terminal }: Asking,
  { reseller, follow = false, ...options }: ChangesOptions,
): Promise<void> {
  const signal = interruptSignal()
  const operation = reseller === undefined ? 'GET /availability-changes' : 'GET /watch-changes'
  let { after, limit = Number.POSITIVE_INFINITY } = options
  while (!signal.aborted && limit > 0) {
    const query = { after, limit: Math.min(limit, PAGE) }
    const { items } = await api.call(operation, { query, reseller })
    for (const item of items) terminal.print(item, () => lineOf(item, terminal.width))
    after = items.at(-1)?.seq ?? after
    limit -= items.length
    if (items.length > 0) continue
    if (!follow) return
    await delay(POLL_MS, undefined, { signal }).catch(() => undefined)
  }
  signal.throwIfAborted()
}

type Change = Answer<'GET /availability-changes' | 'GET /watch-changes'>['items'][number]

function lineOf(change: Change, width: number): string {
  const { seq, recordedAt } = change
  const reference =
    'reference' in change && change.reference !== null ? `${printable(change.reference)}  ` : ''
  const year = new Date(recordedAt).getUTCFullYear()
  const sentence = changeSentence(change as unknown as ShownChange, year)
  const label = `${String(seq).padStart(6)}  ${secondText(recordedAt)}  `
  return hangingIndent(label, `${reference}${sentence}`, width)
}
