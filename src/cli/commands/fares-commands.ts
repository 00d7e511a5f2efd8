import type { Command } from 'commander'
import type { App } from '../../app/app.ts'
import { publicUrlOf } from '../../app/settings-for.ts'
import {
  changeSentence,
  type ShownChange,
  type ShownRouteChange,
} from '../../delivery/formats/change-sentence.ts'
import { verifyOnDemand } from '../../fares/verify.ts'
import { type FeedBounds, readFeedBounds, startAfter } from '../../feeds/feed-bounds.ts'
import { readAvailabilityChanges } from '../../feeds/operator-feed-queries.ts'
import { readWatchChanges } from '../../feeds/watch-feed-queries.ts'
import { VOCABULARY } from '../../platform/base/vocabulary.ts'
import { ProblemError } from '../../platform/http/problems.ts'
import { requireReseller } from '../../resellers/resellers.ts'
import { readFareTurns } from '../../schedule/turn-shapes.ts'
import type { LegObservation } from '../../upstream/observation.ts'
import { type Question, violatedPassengerRule } from '../../upstream/question.ts'
import { type FareDetail, findFare, readTimeline } from '../../views/fare-operations.ts'
import { type CliContext, withApp } from '../context.ts'
import { EXIT, UsageError } from '../exit-codes.ts'
import { integerOption } from '../option-parsers.ts'
import {
  addTermOptions,
  optionOf,
  questionOfOptions,
  type TermOptions,
} from '../question-options.ts'
import { countOf, example, printable, table } from '../text/text-format.ts'
import { addExplainCommand } from './explain-change.ts'

interface VerifyOptions extends TermOptions {
  readonly flight: string
  readonly return?: string
  readonly json?: boolean
}

export function addFaresCommands(program: Command): void {
  const verify = program
    .command('verify')
    .description('Ask the upstream about one flight now, within the budget')
    .requiredOption('--flight <id>', 'the outbound flight')
    .option('--return <id>', 'the return flight')
  addTermOptions(verify)
  verify
    .option('--json', 'print one JSON object')
    .addHelpText('after', '\nExits with 1 if the availability of a leg stays unknown.')
    .addHelpText('after', example('verify --flight 12345 --non-residents-adults 2'))
    .action(verifyNow)
  program
    .command('fares')
    .description('Show tracked fares')
    .command('show <id>')
    .description('Show the belief of a tracked fare, its history and its next check')
    .option('--json', 'print one JSON object')
    .addHelpText('after', example('fares show 17'))
    .action(showFare)
}

async function verifyNow(options: VerifyOptions): Promise<void> {
  const question = readQuestion(options)
  await withApp({ role: 'verify', sandbox: true }, async (app, { terminal, signal }) => {
    const { observation, fareId } = await verifyOnDemand(app.verifyDeps, question, signal)
    const { outbound, return: back, anomalies, evidence } = observation
    const { status, latencyMs } = evidence
    const result = { outbound, return: back, faults: anomalies, status, latencyMs }
    terminal.print(options.json, { ...result, fareId }, () =>
      [legLine('outbound', outbound), ...(back === null ? [] : [legLine('return', back)])].join(
        '\n',
      ),
    )
    return [outbound, back].some((leg) => leg?.kind === 'unknown') ? EXIT.failed : EXIT.ok
  })
}

/** Throws UsageError for passengers that break a rule. */
function readQuestion(options: VerifyOptions): Question {
  const question = questionOfOptions(options.flight, options.return, options)
  const broken = violatedPassengerRule(question)
  if (broken === undefined) return question
  const names = broken.columns.map((column) => `--${optionOf(column)}`)
  throw new UsageError(`${broken.rule}: see ${names.join(' and ')}`)
}

function legLine(name: string, leg: LegObservation): string {
  if (leg.kind === 'unknown') return `${name}: unknown (${leg.reason})`
  if (leg.kind === 'unavailable') return `${name}: not available`
  const { flight, price } = leg.flight
  const cost = price === null ? 'price not readable' : `${price.amount} ${price.currency}`
  return `${name}: available, ${cost}, ${flight.from} → ${flight.to}, ${flight.departsAt}`
}

async function showFare(id: string, { json }: { json?: boolean }): Promise<void> {
  if (!/^\d{1,15}$/.test(id)) {
    throw new UsageError(`the id of a tracked fare is a number, not "${id}"`)
  }
  await withApp({ role: 'fares' }, async ({ database: { db } }, { terminal }) => {
    const fare = await findFare(db, Number(id))
    if (fare === undefined) {
      const detail = `there is no tracked fare ${id}`
      throw new ProblemError('not_found', { missing: 'fare', detail })
    }
    const turns = await readFareTurns(db, { fareId: fare.fareId, now: new Date() })
    const timeline = await readTimeline(db, fare.fareId, 50)
    const rows = timeline.map(({ validFrom, validTo, state, price }) => [
      validFrom.toISOString(),
      validTo?.toISOString() ?? 'now',
      state,
      price === null ? '' : `${price.amount} ${price.currency}`,
    ])
    const history = rows.length === 0 ? '' : `\n\n${table(['from', 'to', 'state', 'price'], rows)}`
    const result = { ...fare, turns, timeline }
    terminal.print(
      json,
      result,
      () => `${fareText(fare)}${turns === null ? '' : `\n  ${turns.why}`}${history}`,
    )
  })
}

/** What the last answers show, unlike the belief, and why the belief is shown as unknown. */
function contradictionLines(fare: FareDetail): string[] {
  const { hiddenReason, contradictedSince, heldSince, lastReason } = fare
  const contradicted =
    contradictedSince === null
      ? []
      : [`the last answers contradict this since ${contradictedSince.toISOString()}`]
  const held =
    heldSince === null
      ? []
      : [`the change is held since ${heldSince.toISOString()}: many flights change at once`]
  const reason = hiddenReason === 'unanswered' && lastReason !== null ? ` (${lastReason})` : ''
  const hidden =
    hiddenReason === null ? [] : [`shown as unknown: ${VOCABULARY.hidden[hiddenReason]}${reason}`]
  const all = [...contradicted, ...held, ...hidden]
  return all.length === 0 ? [] : [`  ${all.join('; ')}`]
}

function fareText(fare: FareDetail): string {
  const { returnFlightId, next, lastReason, lastCheckAt, lastCheckWhy, priceReason } = fare
  const back =
    returnFlightId === null ? '' : ` with return ${returnFlightId} (${fare.return?.belief})`
  const pricedAt = fare.priceCheckedAt?.toISOString() ?? 'never'
  const why = priceReason === null ? '' : ` (price last shown ${pricedAt}: ${priceReason})`
  const price = fare.price === null ? why : `, ${fare.price.amount} ${fare.price.currency}${why}`
  const good = fare.lastGoodCheckAt?.toISOString() ?? 'never'
  const reason = lastReason === null ? '' : ` (the last check was unknown: ${lastReason})`
  const last =
    lastCheckAt === null || lastCheckWhy === null
      ? ''
      : `last check ${lastCheckAt.toISOString()}: ${VOCABULARY.checks[lastCheckWhy]}\n  `
  const check =
    next === null ? 'no more checks' : `next check ${next.at.toISOString()}: ${next.why}`
  return [
    `fare ${fare.fareId}: flight ${fare.flightId} (${fare.outbound.belief})${back}`,
    `  ${fare.state}${price}; last good check ${good}${reason}`,
    ...contradictionLines(fare),
    `  ${last}${check}; ${countOf(fare.watchers, 'active watch', 'active watches')}`,
  ].join('\n')
}

interface ChangesOptions {
  readonly reseller?: string
  readonly after?: number
  readonly limit?: number
  readonly follow?: boolean
  readonly json?: boolean
}

type FeedRow = (ShownChange | ShownRouteChange) & {
  readonly seq: number
  readonly recordedAt: Date
  readonly reference?: string | null
}

type ReadPage = (page: { after: number; limit: number }) => Promise<FeedRow[]>

const POLL_MS = 1_000
const PAGE = 1_000

export function addChangesCommand(program: Command): void {
  const changes = program.command('changes')
  changes
    .description('Print the changes of all tracked fares, or the feed of one reseller')
    .option('--reseller <name>', 'print the feed of this reseller')
    .option(
      '--after <seq>',
      'start after this number; unset: at the first record',
      integerOption(0, 2 ** 50),
    )
    .option('--limit <n>', 'print at most n changes', integerOption(1, 1_000_000))
    .option('--follow', 'wait for more changes until Ctrl-C')
    .option('--json', 'print one line of JSON per change')
    .addHelpText('after', example('changes --reseller demo --follow'))
    .action((options: ChangesOptions) =>
      withApp({ role: 'changes' }, (app, context) => printChanges(app, context, options)),
    )
  addExplainCommand(changes)
}

async function printChanges(
  app: App,
  { terminal, signal }: CliContext,
  { reseller, follow, json, ...options }: ChangesOptions,
): Promise<void> {
  const { read, bounds } = await openFeed(app, reseller, options.after)
  let { after = bounds.first - 1, limit = Number.POSITIVE_INFINITY } = options
  // A number beyond the end is waited for.
  startAfter({ ...bounds, head: Math.max(bounds.head, after) }, after, '--after')
  while (!signal.aborted && limit > 0) {
    const rows = await read({ after, limit: Math.min(limit, PAGE) })
    for (const row of rows) terminal.print(json, row, () => lineOf(row))
    after = rows.at(-1)?.seq ?? after
    limit -= rows.length
    if (rows.length > 0) continue
    if (follow !== true) return
    await app.clock.sleep(POLL_MS, signal).catch(() => undefined)
  }
}

async function openFeed(
  { config, database }: App,
  name: string | undefined,
  after: number | undefined,
): Promise<{ readonly read: ReadPage; readonly bounds: FeedBounds }> {
  const { db } = database
  if (name === undefined) {
    const bounds = await readFeedBounds(db, 'availability', after)
    return { read: (page) => readAvailabilityChanges(db, page), bounds }
  }
  const { id } = await requireReseller(db, name)
  const bounds = await readFeedBounds(db, id, after)
  return {
    read: (page) => readWatchChanges({ db, publicUrl: publicUrlOf(config) }, id, page),
    bounds,
  }
}

function lineOf(row: FeedRow): string {
  const reference = row.reference ? `${printable(row.reference)}  ` : ''
  const sentence = changeSentence(row, row.recordedAt.getUTCFullYear())
  return `${String(row.seq).padStart(6)}  ${row.recordedAt.toISOString()}  ${reference}${sentence}`
}
