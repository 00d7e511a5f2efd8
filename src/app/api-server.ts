import packageJson from '../../package.json' with { type: 'json' }
import { createFeedPoller } from '../changes/feed-poller.ts'
import { readFeedHeads } from '../changes/watch-feed-queries.ts'
import { isDatabaseUnavailable } from '../db/database-health.ts'
import { createApi } from '../http/api.ts'
import { createRateLimit } from '../http/rate-limit.ts'
import type { HttpServer } from '../http/server.ts'
import { drainOnClose } from '../http/server.ts'
import { createKeyAccess } from '../resellers/check-keys.ts'
import { createRenderedLists } from '../route-sync/read/rendered-lists.ts'
import { createOnDemand } from '../verify/on-demand/coalesce-requests.ts'
import { disableReseller } from '../watch/change-watches.ts'
import { API_DOCUMENT } from './api-document.ts'
import { API_OPERATIONS, type ApiDeps } from './api-operations.ts'
import type { App } from './app.ts'
import { requestCounter } from './count-work.ts'

/** How long requests in progress may take when the process stops: a little less than the API role has. */
const DRAIN_MS = 2_500

/**
 * Creates the server of the API.
 * @param openReseller the reseller whose data local requests may read without a key until the first key exists.
 */
export function createApiServer(app: App, openReseller?: string): HttpServer {
  const { config, log } = app
  const { db } = app.database
  const nowMs = () => performance.now()
  const access = createKeyAccess({ db, log, nowMs, openReseller })
  const onDemand = createOnDemand(app.verifyDeps)
  const feedPoller = createFeedPoller({ readHeads: (ids) => readFeedHeads(db, ids) })
  const server = createApi({
    log,
    isUnavailable: isDatabaseUnavailable,
    operations: API_OPERATIONS,
    deps: { ...depsOf(app), routeLists: createRenderedLists({ db, nowMs }), onDemand, feedPoller },
    document: API_DOCUMENT,
    onAnswered: requestCounter(app.metrics),
    access,
    limit: createRateLimit({ requestsPerSecond: config.API_REQUESTS_PER_SECOND, nowMs }),
  })
  // Before the connections close, so that waiting requests still receive an answer.
  server.addHook('preClose', () => onDemand.close())
  server.addHook('preClose', async () => feedPoller.close())
  server.addHook('onClose', () => access.allUsesRecorded())
  drainOnClose(server, DRAIN_MS)
  return server
}

function depsOf(app: App): Omit<ApiDeps, 'routeLists' | 'onDemand' | 'feedPoller'> {
  const { database, clock, log, config, syncDeps } = app
  return {
    db: database.db,
    disableReseller,
    clock,
    log,
    scrub: syncDeps.scrub,
    guard: syncDeps.guard,
    requestsPerSecond: config.UPSTREAM_REQUESTS_PER_SECOND,
    minRecheckSeconds: config.MIN_RECHECK_SECONDS,
    version: packageJson.version,
  }
}
