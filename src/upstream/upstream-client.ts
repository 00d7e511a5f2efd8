import { type Clock, systemClock } from '../base/clock.ts'
import type { Logger } from '../base/logger.ts'
import type { Scrub } from '../base/secrets.ts'
import { type GuardDeps, guardedCall, type QuickRetry } from './attempt.ts'
import {
  acquirePermit,
  acquirePermitWithSlot,
  type PermitRequest,
} from './breaker/acquire-permit.ts'
import type { CircuitBreaker } from './breaker/circuit-breaker.ts'
import type { TakenSlot } from './budget/take-slot.ts'
import type { CallRecord, UpstreamCall } from './call-record.ts'
import { VERIFY_ENDPOINT } from './flights/flight-fields.ts'
import { verifyFares } from './flights/verify-fares.ts'
import {
  type ConditionalFetchOptions,
  type FetchRouteListOptions,
  fetchRouteList,
  fetchRouteListIfModified,
  fetchRoutesCsv,
} from './lists/fetch-route-list.ts'
import { CSV_ENDPOINT } from './lists/routes-csv.ts'
import type { Observation, Question } from './observation.ts'
import { assertQuestion } from './passenger-rules.ts'
import type { RouteListBody, RouteListName } from './route-list.ts'
import { createCredential } from './transport/credential.ts'
import { createHttpExchange } from './transport/http-exchange.ts'
import { notedExchange } from './transport/noted-exchange.ts'
import { DEFAULT_LIMITS, type UpstreamLimits } from './upstream-limits.ts'
import {
  type AnomalyEndpoint,
  anomaliesOfAnswer,
  type ObserveAnomalies,
  observedList,
} from './upstream-metrics.ts'

export type { RouteListBody, RouteListName } from './route-list.ts'

export interface UpstreamClientOptions {
  /** http or https; a path in it comes before every endpoint's own. */
  readonly baseUrl: string
  readonly accessToken?: string | undefined
  /** Must know the access token: an upstream may send it back in a body that we quote. */
  readonly scrub: Scrub
  readonly log: Logger
  readonly limits?: Partial<UpstreamLimits> | undefined
  /** Called once for every call that ends, to count it. */
  readonly observe?: ((call: UpstreamCall) => void) | undefined
  /** Called once for every list that is read and every verify answer that has any, to count what was odd. */
  readonly observeAnomalies?: ObserveAnomalies | undefined
  /**
   * Awaited before a list is fetched, to wait for a slot of the budget; what it throws ends the call.
   *
   * Not for verify: its callers reserve slots for many questions at once, and call at each one's own.
   */
  readonly beforeList?: ((signal: AbortSignal) => Promise<TakenSlot>) | undefined
  /** Where absent, every call goes out. */
  readonly breaker?: CircuitBreaker | undefined
  /** Waits for a slot near enough for a quick retry, if there is one; absent: nothing is asked twice. */
  readonly retrySlot?: ((signal: AbortSignal) => Promise<TakenSlot | undefined>) | undefined
  readonly onQuickRetry?: ((retry: QuickRetry) => void) | undefined
  /** Uniform in [0, 1). */
  readonly random?: (() => number) | undefined
  readonly clock?: Clock | undefined
}

export interface VerifyOptions {
  readonly signal: AbortSignal
  /** The slot at which the question goes out; absent: it has none to miss. */
  readonly slot?: TakenSlot | undefined
}

export interface UpstreamClient {
  /**
   * Downloads one of the route lists, unread: `readRouteList` reads it.
   *
   * Throws the errors of upstream-errors.ts, or the signal's reason when it aborts; UpstreamCircuitOpenError before
   * any call.
   */
  fetchRouteList(list: RouteListName, options: FetchRouteListOptions): Promise<RouteListBody>
  /** The same, or null where the upstream answers that the list is still the one with these validators (304). */
  fetchRouteListIfModified(
    list: RouteListName,
    options: ConditionalFetchOptions,
  ): Promise<RouteListBody | null>
  /** Downloads the routes as CSV, unread: `readRoutesCsv` reads them. Throws as `fetchRouteList` does. */
  fetchRoutesCsv(options: FetchRouteListOptions): Promise<RouteListBody>
  /**
   * Asks whether a flight, and its return, is available for some passengers, in one call.
   *
   * Whatever the upstream or the network does is an observation. Throws the signal's reason when it aborts, and
   * before any call PassengerRuleError or QuestionError for a question that the interface forbids,
   * UpstreamCircuitOpenError, or UpstreamSlotMissedError where its slot has passed by then.
   */
  verifyFares(question: Question, options: VerifyOptions): Promise<Observation>
  /** Ends what is in flight and closes the connections. */
  close(): Promise<void>
}

/** Opens nothing before the first call. Throws a TypeError for a base URL that cannot be one. */
export function createUpstreamClient(options: UpstreamClientOptions): UpstreamClient {
  const { scrub, observeAnomalies, beforeList, breaker, clock = systemClock } = options
  const limits = { ...DEFAULT_LIMITS, ...options.limits }
  const credential = createCredential(options.accessToken)
  const exchange = createHttpExchange({ baseUrl: options.baseUrl, credential, ...limits })
  const guard = guardOf(options, clock)
  const noted = (record: CallRecord) => ({
    ...{ limits, scrub, clock },
    exchange: notedExchange(exchange, record, { clock, maxRetryAfterMs: limits.maxRetryAfterMs }),
  })
  const list = async <T extends RouteListBody | null>(
    endpoint: AnomalyEndpoint,
    signal: AbortSignal,
    run: (record: CallRecord) => Promise<T>,
  ) => {
    const call: PermitRequest = { endpoint, group: 'lists', signal }
    const permit = await acquirePermitWithSlot(breaker, call, beforeList)
    const body = await guardedCall(guard, { ...call, permit }, run)
    return observedList(body, endpoint, observeAnomalies)
  }
  return {
    fetchRouteList: (name, call) =>
      list(name, call.signal, (seen) =>
        fetchRouteList(noted(seen), { ...call, list: name, record: seen }),
      ),
    fetchRouteListIfModified: (name, call) =>
      list(name, call.signal, (seen) =>
        fetchRouteListIfModified(noted(seen), { ...call, list: name, record: seen }),
      ),
    fetchRoutesCsv: (call) =>
      list(CSV_ENDPOINT, call.signal, (seen) =>
        fetchRoutesCsv(noted(seen), { ...call, record: seen }),
      ),
    async verifyFares(question, { signal, slot }) {
      assertQuestion(question)
      const call: PermitRequest = { endpoint: VERIFY_ENDPOINT, group: 'verify', signal }
      const permit = await acquirePermit(breaker, call, slot)
      const answer = await guardedCall(guard, { ...call, permit }, (seen) =>
        verifyFares(noted(seen), { question, record: seen, signal }),
      )
      observeAnomalies?.('verify', anomaliesOfAnswer(answer.anomalies))
      return answer
    },
    close: () => exchange.close(),
  }
}

function guardOf(options: UpstreamClientOptions, clock: Clock): GuardDeps {
  const { log, observe, breaker, retrySlot, onQuickRetry, random = Math.random } = options
  return { log, observe, clock, breaker, retrySlot, onQuickRetry, random }
}
