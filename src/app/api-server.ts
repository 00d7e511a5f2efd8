import type { FastifyInstance } from 'fastify'
import { createHttpServer } from '../http/server.ts'
import { routeEndpoints } from '../route-sync/route-endpoints.ts'
import type { App } from './app.ts'

/** The read API: every feature brings its own endpoints. */
export async function createApiServer(app: App): Promise<FastifyInstance> {
  const server = createHttpServer({ log: app.log })
  await server.register(routeEndpoints, { prefix: '/api/v1', db: app.database.db })
  return server
}
