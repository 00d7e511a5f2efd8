import { type Clock, systemClock } from '../base/clock.ts'
import type { Logger } from '../base/logger.ts'
import type { Scrub } from '../base/secrets.ts'
import { recorded, type UpstreamCall } from './call-record.ts'
import { createCredential } from './credential.ts'
import { type FetchRouteListOptions, fetchRouteList } from './fetch-route-list.ts'
import { createHttpExchange } from './http-exchange.ts'
import type { RouteListBody, RouteListName } from './route-list.ts'
import { DEFAULT_LIMITS, type UpstreamLimits } from './upstream-limits.ts'

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
  readonly clock?: Clock | undefined
}

export interface UpstreamClient {
  /**
   * Downloads one of the route lists, unread: `readRouteList` reads it.
   *
   * Throws the errors of upstream-errors.ts, or the signal's reason when it aborts.
   */
  fetchRouteList(list: RouteListName, options: FetchRouteListOptions): Promise<RouteListBody>
  /** Ends what is in flight and closes the connections. */
  close(): Promise<void>
}

/** Opens nothing before the first call. Throws a TypeError for a base URL that cannot be one. */
export function createUpstreamClient(options: UpstreamClientOptions): UpstreamClient {
  const { baseUrl, scrub, log, observe, clock = systemClock } = options
  const limits = { ...DEFAULT_LIMITS, ...options.limits }
  const credential = createCredential(options.accessToken)
  const exchange = createHttpExchange({ baseUrl, credential, ...limits })
  return {
    fetchRouteList: (list, call) =>
      recorded({ log, observe }, { endpoint: list, signal: call.signal }, (record) =>
        fetchRouteList({ exchange, limits, scrub, clock }, { ...call, list, record }),
      ),
    close: () => exchange.close(),
  }
}
