import { isDatabaseUnavailable } from '../db/unavailable.ts'
import { createHttpServer, type HttpServer } from '../http/server.ts'
import { addRouteEndpoints } from '../route-sync/route-endpoints.ts'
import type { App } from './app.ts'

/** The read API: every feature brings its own endpoints. */
export function createApiServer(app: App): HttpServer {
  const server = createHttpServer({ log: app.log, isUnavailable: isDatabaseUnavailable })
  addRouteEndpoints(server, { db: app.database.db })
  return server
}
