import type { Clock } from '../../platform/base/clock.ts'
import type { RouteListName } from '../../platform/base/kinds.ts'
import type { Scrub } from '../../platform/base/secrets.ts'
import { FARES_PROVIDER } from '../fares/fares-provider.ts'
import { readRouteList } from '../lists/read-route-list.ts'
import { assertQuestion, MAX_PASSENGERS, type Question, questionWith } from '../question.ts'
import { NO_COUNTS, type RouteListCounts } from '../route-list.ts'
import { createHttpExchange, DEFAULT_LIMITS, type HttpAnswer } from '../transport/http-exchange.ts'
import { type ProbeCall, type ProbeDeps, type ProbedCall, probeCall } from './probe-call.ts'

export interface ProbeOptions {
  readonly baseUrl: string
  readonly accessToken?: string | undefined
  readonly scrub: Scrub
  readonly clock: Clock
  /** Awaited before each call, to take a slot of the budget. */
  readonly beforeCall: (signal: AbortSignal) => Promise<void>
  /** The flight to verify. Null if none is known. */
  readonly flightId: string | null
  /** Whether to make invalid calls too: without a token, against a rule, for a flight that does not exist. */
  readonly negative: boolean
  readonly signal: AbortSignal
}

export interface ProbeReport {
  readonly calls: readonly ProbedCall[]
  /** Calls that were not made, each with the option that enables it. */
  readonly skipped: readonly { readonly call: string; readonly hint: string }[]
}

/** No flight has this id. */
const NO_FLIGHT = '0'

/**
 * Calls each list once, and verify for a flight, and reports behaviour of the upstream that its interface does not document.
 *
 * It makes one call at a time, retries none, and ignores the circuit breaker, so that operators can examine a failing
 * upstream. Throws QuestionError for an invalid flight id, and the signal's reason when it aborts.
 */
export async function probeUpstream(options: ProbeOptions): Promise<ProbeReport> {
  const { flightId, negative } = options
  if (flightId !== null) assertQuestion(questionWith({ flightId }))
  const { baseUrl, accessToken, clock } = options
  const { placeToken } = FARES_PROVIDER
  const connections = { ...DEFAULT_LIMITS, placeToken, baseUrl, clock, maxConnections: 2 }
  const exchange = createHttpExchange({ ...connections, accessToken })
  const bare = createHttpExchange({ ...connections, accessToken: undefined })
  const deps: ProbeDeps = { ...options, exchange }
  try {
    const calls: ProbedCall[] = []
    for (const call of documentedCalls(options)) calls.push(await probeCall(deps, call))
    for (const { withToken, ...call } of negative ? invalidCalls(options) : []) {
      calls.push(await probeCall(withToken ? deps : { ...deps, exchange: bare }, call))
    }
    return { calls, skipped: skippedCalls(options) }
  } finally {
    await Promise.all([exchange.close(), bare.close()])
  }
}

function documentedCalls(options: ProbeOptions): ProbeCall[] {
  const { flightId } = options
  const list = (name: RouteListName): ProbeCall => ({
    ...listCall(options, name),
    documented: true,
    read: (answer) => findInList(name, answer),
  })
  const verify =
    flightId === null ? [] : [verifyCall(options, 'verify', questionWith({ flightId }))]
  return [list('routes'), list('with-availability'), ...verify]
}

/** Each call shows one refusal that the interface does not document. */
function invalidCalls(options: ProbeOptions): (ProbeCall & { readonly withToken: boolean })[] {
  const flightId = options.flightId ?? NO_FLIGHT
  const nonResidents = { adults: MAX_PASSENGERS + 1 }
  const thirteen = questionWith({ flightId, passengers: { nonResidents } })
  const call = (name: string, question: Question, withToken = true) => ({
    ...verifyCall(options, name, question),
    documented: false,
    withToken,
  })
  return [
    {
      ...listCall(options, 'routes'),
      call: 'routes without a token',
      documented: false,
      read: () => ({ 'needs the token': false }),
      withToken: false,
    },
    call('verify without a token', questionWith({ flightId }), false),
    call('verify for 13 adults', thirteen),
    call('verify of flight 0', questionWith({ flightId: NO_FLIGHT })),
  ]
}

function skippedCalls({ flightId, negative }: ProbeOptions): ProbeReport['skipped'] {
  const verify = {
    call: 'verify',
    hint: 'no flight is watched: add --flight ID, one that a search has returned',
  }
  const refusals = {
    call: 'refusals',
    hint: 'add --negative to call without a token, for 13 adults and for a flight that does not exist',
  }
  return [...(flightId === null ? [verify] : []), ...(negative ? [] : [refusals])]
}

function listCall({ signal }: ProbeOptions, name: RouteListName) {
  const { listDeadlineMs: deadlineMs, maxBodyBytes } = DEFAULT_LIMITS
  const { path, wants: isGood } = FARES_PROVIDER.listRequest(name)
  return { call: name as string, path, isGood, deadlineMs, maxBodyBytes, signal }
}

function verifyCall({ scrub, signal }: ProbeOptions, call: string, question: Question): ProbeCall {
  const { path, wants: isGood } = FARES_PROVIDER.verifyRequest(question)
  return {
    call,
    documented: true,
    path,
    isGood,
    deadlineMs: DEFAULT_LIMITS.verifyDeadlineMs,
    maxBodyBytes: DEFAULT_LIMITS.maxVerifyBytes,
    signal,
    read: ({ chunks }) => {
      const { outbound, anomalies, detail } = FARES_PROVIDER.readAnswer(chunks, question, scrub)
      const { kind } = outbound
      return {
        'flight id': question.flightId,
        flight: kind === 'unknown' ? `unknown (${outbound.reason})` : kind,
        ...(detail === undefined ? {} : { detail }),
        ...(anomalies.length === 0 ? {} : { anomalies: anomalies }),
      }
    },
  }
}

async function findInList(
  list: RouteListName,
  { chunks }: HttpAnswer,
): Promise<ProbedCall['found']> {
  const places = new Set<string>()
  let routeCount = 0
  let anomalies: RouteListCounts = NO_COUNTS
  const onRead = (counts: RouteListCounts) => {
    anomalies = counts
  }
  for await (const { routes } of readRouteList({ chunks, onRead }, { endpoint: list })) {
    routeCount += routes.length
    for (const { departure, destination } of routes) places.add(departure.id).add(destination.id)
  }
  const found = Object.entries(anomalies).filter(([, count]) => count > 0)
  return {
    shape: 'Route[]',
    routes: routeCount,
    places: places.size,
    ...(found.length > 0 && { anomalies: found.map(([name, count]) => `${name} ${count}`) }),
  }
}
