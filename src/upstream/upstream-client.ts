import { systemClock } from '../platform/base/clock.ts'
import type { RouteListName } from '../platform/base/kinds.ts'
import type { Scrub } from '../platform/base/secrets.ts'
import {
  acquirePermit,
  acquirePermitWithSlot,
  type CallDeps,
  callWithRetry,
  type PermitRequest,
} from './attempt.ts'
import type { TakenSlot } from './budget/take-slot.ts'
import { verifyFares } from './flights/verify-fares.ts'
import { type FetchRouteListOptions, fetchRouteListIfModified } from './lists/fetch-route-list.ts'
import type { Observation } from './observation.ts'
import type { Provider } from './provider.ts'
import type { Question } from './question.ts'
import { assertQuestion } from './question.ts'
import type { RouteListBody } from './route-list.ts'
import { type ObserveAnomalies, observedList } from './telemetry.ts'
import {
  createHttpExchange,
  DEFAULT_LIMITS,
  type UpstreamLimits,
} from './transport/http-exchange.ts'
import { VERIFY_ENDPOINT } from './upstream-errors.ts'

export interface UpstreamClientOptions
  extends Pick<CallDeps, 'log'>,
    Partial<Omit<CallDeps, 'log' | 'exchange'>> {
  /** What is particular to the upstream at the base URL. */
  readonly provider: Provider
  /** http or https. A path in it precedes the path of every endpoint. */
  readonly baseUrl: string
  readonly accessToken?: string | undefined
  /** Must know the access token, because the upstream may send it back in a body that we quote. */
  readonly scrub: Scrub
  readonly limits?: Partial<UpstreamLimits> | undefined
  /** Called once for every list that was read and every verify answer with anomalies, to count them. */
  readonly observeAnomalies?: ObserveAnomalies | undefined
  /**
   * Awaited before a list is fetched, to take a slot of the budget. An error that it throws ends the call.
   *
   * Verify does not use it: its callers reserve slots for many questions at once, and pass each call its slot.
   */
  readonly beforeList?: ((signal: AbortSignal) => Promise<TakenSlot>) | undefined
}

export interface VerifyOptions {
  readonly signal: AbortSignal
  /** The slot of the call. Without a slot the call cannot miss one. */
  readonly slot?: TakenSlot | undefined
  /** The fare that is checked, for the log. */
  readonly fareId?: number
}

export interface UpstreamClient {
  /**
   * Downloads a route list without reading it. `readRouteList` reads it. Returns null if the upstream answers that the
   * list with these validators is unchanged (304).
   *
   * Throws the errors of upstream-errors.ts, or the signal's reason when it aborts. Throws UpstreamCircuitOpenError
   * before any call.
   */
  fetchRouteListIfModified(
    list: RouteListName,
    options: FetchRouteListOptions,
  ): Promise<RouteListBody | null>
  /**
   * Verifies in one call whether a flight and its return flight are available for some passengers.
   *
   * Every answer of the upstream and every failure of the network is an observation. Throws the signal's reason when
   * it aborts. Before any call it throws PassengerRuleError or QuestionError for a question that the interface
   * forbids, UpstreamCircuitOpenError, or UpstreamSlotMissedError if the slot has passed.
   */
  verifyFares(question: Question, options: VerifyOptions): Promise<Observation>
  /** Calls that begin from now on have this token. `scrub` must know it. */
  replaceToken(accessToken: string): void
  /** Ends the calls in flight and closes the connections. */
  close(): Promise<void>
}

/** Connects to nothing before the first call. Throws a TypeError for an invalid base URL. */
export function createUpstreamClient(options: UpstreamClientOptions): UpstreamClient {
  const { provider, baseUrl, accessToken, scrub, observeAnomalies, beforeList, breaker } = options
  const log = options.log.child({ provider: provider.name })
  const { observe, retrySlot, onQuickRetry, random = Math.random } = options
  const { clock = systemClock } = options
  const { placeToken } = provider
  const limits = { ...DEFAULT_LIMITS, ...options.limits }
  const exchange = createHttpExchange({ baseUrl, accessToken, placeToken, clock, ...limits })
  const calls = { exchange, log, observe, breaker, clock, random, retrySlot, onQuickRetry }
  return {
    async fetchRouteListIfModified(list, options) {
      const request: PermitRequest = { endpoint: list, group: 'lists', signal: options.signal }
      const permit = await acquirePermitWithSlot(breaker, request, beforeList)
      const body = await callWithRetry(calls, { ...request, permit }, (exchange, record) =>
        fetchRouteListIfModified(
          { provider, exchange, limits, scrub },
          { ...options, list, record },
        ),
      )
      return observedList(body, list, observeAnomalies)
    },
    async verifyFares(question, { signal, slot, fareId }) {
      assertQuestion(question)
      const logged = { ...calls, log: log.child({ fareId, flightId: question.flightId }) }
      const request: PermitRequest = { endpoint: VERIFY_ENDPOINT, group: 'verify', signal }
      const permit = await acquirePermit(breaker, request, slot)
      const observation = await callWithRetry(logged, { ...request, permit }, (exchange, record) =>
        verifyFares({ provider, exchange, limits, scrub }, { question, record, signal }),
      )
      const { anomalies } = observation
      // Each counts once, even if the answer has it several times.
      const counts = Object.fromEntries(anomalies.map((anomaly) => [anomaly, 1]))
      if (anomalies.length > 0) observeAnomalies?.('verify', counts)
      return observation
    },
    replaceToken: exchange.replace,
    close: () => exchange.close(),
  }
}
