import { createKeyAccess } from '../access/check-keys.ts'
import { isDatabaseUnavailable } from '../db/unavailable.ts'
import { createApi } from '../http/api.ts'
import { createRateLimit } from '../http/rate-limit.ts'
import type { HttpServer } from '../http/server.ts'
import { API_DOCUMENT } from './api-document.ts'
import { API_OPERATIONS } from './api-operations.ts'
import type { App } from './app.ts'

/**
 * The read API.
 * @param openReseller whose data this machine is shown without a key, until a first key exists.
 */
export function createApiServer({ database, config, log }: App, openReseller?: string): HttpServer {
  const { db } = database
  const nowMs = () => performance.now()
  const access = createKeyAccess({ db, log, nowMs, openReseller })
  const server = createApi({
    log,
    isUnavailable: isDatabaseUnavailable,
    operations: API_OPERATIONS,
    deps: { db },
    document: API_DOCUMENT,
    access,
    limit: createRateLimit({ requestsPerSecond: config.API_REQUESTS_PER_SECOND, nowMs }),
  })
  server.addHook('onClose', () => access.settled())
  return server
}
