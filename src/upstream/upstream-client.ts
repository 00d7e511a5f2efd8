import { type Clock, systemClock } from '../base/clock.ts'
import type { Logger } from '../base/logger.ts'
import type { Scrub } from '../base/secrets.ts'
import { recorded, type UpstreamCall } from './call-record.ts'
import { createCredential } from './credential.ts'
import { type FetchRouteListOptions, fetchRouteList } from './fetch-route-list.ts'
import { VERIFY_ENDPOINT } from './flight-fields.ts'
import { createHttpExchange } from './http-exchange.ts'
import type { Observation, Question } from './observation.ts'
import { assertQuestion } from './passenger-rules.ts'
import type { RouteListBody, RouteListName } from './route-list.ts'
import { DEFAULT_LIMITS, type UpstreamLimits } from './upstream-limits.ts'
import { verifyFares } from './verify-fares.ts'

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
  /**
   * Awaited before a list is fetched, to wait for a slot of the budget; what it throws ends the call.
   *
   * Not for verify: its callers reserve slots for many questions at once, and call at each one's own.
   */
  readonly beforeList?: ((signal: AbortSignal) => Promise<void>) | undefined
  readonly clock?: Clock | undefined
}

export interface UpstreamClient {
  /**
   * Downloads one of the route lists, unread: `readRouteList` reads it.
   *
   * Throws the errors of upstream-errors.ts, or the signal's reason when it aborts.
   */
  fetchRouteList(list: RouteListName, options: FetchRouteListOptions): Promise<RouteListBody>
  /**
   * Asks whether a flight, and its return, is available for some passengers, in one call.
   *
   * Whatever the upstream or the network does is an observation. Throws the signal's reason when it aborts, and
   * before any call PassengerRuleError or QuestionError for a question that the interface forbids.
   */
  verifyFares(question: Question, options: { readonly signal: AbortSignal }): Promise<Observation>
  /** Ends what is in flight and closes the connections. */
  close(): Promise<void>
}

/** Opens nothing before the first call. Throws a TypeError for a base URL that cannot be one. */
export function createUpstreamClient(options: UpstreamClientOptions): UpstreamClient {
  const { baseUrl, scrub, log, observe, beforeList, clock = systemClock } = options
  const limits = { ...DEFAULT_LIMITS, ...options.limits }
  const credential = createCredential(options.accessToken)
  const exchange = createHttpExchange({ baseUrl, credential, ...limits })
  const deps = { exchange, limits, scrub, clock }
  return {
    async fetchRouteList(list, call) {
      await beforeList?.(call.signal)
      return recorded({ log, observe }, { endpoint: list, signal: call.signal }, (record) =>
        fetchRouteList(deps, { ...call, list, record }),
      )
    },
    async verifyFares(question, { signal }) {
      assertQuestion(question)
      return recorded({ log, observe }, { endpoint: VERIFY_ENDPOINT, signal }, (record) =>
        verifyFares(deps, { question, record, signal }),
      )
    },
    close: () => exchange.close(),
  }
}
