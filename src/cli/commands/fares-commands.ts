import type { Command } from 'commander'
import type { LegObservation, PassengerMix, Question } from '../../upstream/observation.ts'
import { totalOf, violatedPassengerRule } from '../../upstream/passenger-rules.ts'
import { verifyOnDemand } from '../../verify/on-demand/verify-on-demand.ts'
import { type FareDetail, findFare, readTimeline } from '../../verify/read/fare-queries.ts'
import { createContext, withApp } from '../context.ts'
import { EXIT, UsageError } from '../exit-codes.ts'
import { interruptSignal } from '../interrupt.ts'
import { integerOption } from '../option-parsers.ts'
import { table } from '../text/text-format.ts'

interface VerifyOptions {
  readonly flight: string
  readonly return?: string
  readonly residentsAdults: number
  readonly residentsChildren: number
  readonly residentsInfants: number
  readonly nonResidentsAdults: number
  readonly nonResidentsChildren: number
  readonly nonResidentsInfants: number
  readonly json?: boolean
}

export function addFaresCommands(program: Command): void {
  const verify = program
    .command('verify')
    .description('ask the upstream about one flight now, within the budget')
    .requiredOption('--flight <id>', 'the outbound flight')
    .option('--return <id>', 'the return flight')
  for (const group of ['residents', 'non-residents']) {
    for (const type of ['adults', 'children', 'infants']) {
      verify.option(`--${group}-${type} <n>`, '0 to 12', integerOption(0, 12), 0)
    }
  }
  verify
    .option('--json', 'as one JSON object')
    .addHelpText(
      'after',
      '\nExample:\n  bin/farewatch verify --flight 12345 --non-residents-adults 2',
    )
    .action(async (options: VerifyOptions) => {
      process.exitCode = await verifyNow(options)
    })
  program
    .command('fares')
    .description('tracked fares')
    .command('show <id>')
    .description('what is believed of a fare, its timeline, and when it is checked next and why')
    .option('--json', 'as one JSON object')
    .addHelpText('after', '\nExample:\n  bin/farewatch fares show 17')
    .action((id: string, options: { json?: boolean }) => showFare(id, options))
}

async function verifyNow(options: VerifyOptions): Promise<number> {
  const question = questionOf(options)
  assertMix(question.passengers)
  const context = createContext({ quiet: true })
  const signal = interruptSignal()
  return withApp(context, { role: 'verify', sandbox: true }, async (app) => {
    const { observation, fareId } = await verifyOnDemand(app.verifyDeps, question, signal)
    const { outbound, return: back, anomalies, evidence } = observation
    if (options.json === true) {
      const { status, latencyMs } = evidence
      context.terminal.out(
        JSON.stringify({
          outbound,
          return: back,
          faults: anomalies,
          status,
          latencyMs,
          trackedFareId: fareId,
        }),
      )
    } else {
      context.terminal.out(legLine('outbound', outbound))
      if (back !== null) context.terminal.out(legLine('return', back))
    }
    return [outbound, back].some((leg) => leg?.kind === 'unknown') ? EXIT.failed : EXIT.ok
  })
}

/** Throws UsageError, with the option that mends it: each rule that the counts can break asks for more adults. */
function assertMix(mix: PassengerMix): void {
  const rule = violatedPassengerRule(mix)
  if (rule === undefined) return
  const adults = Math.max(1, totalOf(mix, 'infants') - mix.residents.adults)
  throw new UsageError(`${rule}: add adults, such as --non-residents-adults ${adults}`)
}

function questionOf(options: VerifyOptions): Question {
  return {
    flightId: options.flight,
    returnFlightId: options.return ?? null,
    passengers: {
      residents: {
        adults: options.residentsAdults,
        children: options.residentsChildren,
        infants: options.residentsInfants,
      },
      nonResidents: {
        adults: options.nonResidentsAdults,
        children: options.nonResidentsChildren,
        infants: options.nonResidentsInfants,
      },
    },
  }
}

function legLine(name: string, leg: LegObservation): string {
  if (leg.kind === 'unknown') return `${name}: not known (${leg.reason})`
  if (leg.kind === 'unavailable') return `${name}: not available`
  const { flight, price } = leg.flight
  const cost = price === null ? 'price not readable' : `${price.amount} ${price.currency}`
  return `${name}: available, ${cost}, ${flight.from} → ${flight.to}, ${flight.departsAt}`
}

async function showFare(id: string, { json }: { json?: boolean }): Promise<void> {
  if (!/^\d{1,15}$/.test(id))
    throw new UsageError(`"${id}" is no id of a tracked fare: it is a number`)
  const context = createContext({ quiet: true })
  await withApp(context, { role: 'fares', sandbox: false }, async ({ database, config }) => {
    const fare = await findFare(database.db, Number(id), config.UPSTREAM_REQUESTS_PER_SECOND)
    if (fare === undefined) throw new UsageError(`there is no tracked fare ${id}`)
    const timeline = await readTimeline(database.db, fare.fareId, 50)
    context.terminal.out(json === true ? JSON.stringify({ ...fare, timeline }) : fareText(fare))
    if (json === true || timeline.length === 0) return
    const rows = timeline.map((interval) => [
      interval.from.toISOString(),
      interval.to?.toISOString() ?? 'now',
      interval.pair,
      interval.price === null ? '' : `${interval.price} ${interval.currency}`,
    ])
    context.terminal.out(`\n${table(['from', 'to', 'pair', 'price'], rows)}`)
  })
}

function fareText(fare: FareDetail): string {
  const back =
    fare.returnFlightId === null ? '' : ` with return ${fare.returnFlightId} (${fare.return})`
  const price = fare.price === null ? '' : `, ${fare.price} ${fare.currency}`
  const good = fare.lastGoodCheckAt?.toISOString() ?? 'never'
  const reason =
    fare.lastReason === null ? '' : ` (the last check told nothing: ${fare.lastReason})`
  const next =
    fare.next === null
      ? 'no more checks'
      : `next check ${fare.next.at.toISOString()}: ${fare.next.why}`
  return [
    `fare ${fare.fareId}: flight ${fare.flightId} (${fare.outbound})${back}`,
    `  ${fare.pair}${price}; last good check ${good}${reason}`,
    `  ${next}; ${fare.watchers} active watches`,
  ].join('\n')
}
