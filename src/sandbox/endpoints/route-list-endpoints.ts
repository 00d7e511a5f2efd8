import type { FastifyInstance } from 'fastify'
import { type Answer, CSV_TYPE, JSON_TYPE } from '../answer.ts'
import type { RouteLists } from './route-lists.ts'
import { type EndpointDeps, serveEndpoint } from './serve-endpoints.ts'

/**
 * The three route list endpoints.
 * assumption: they take no token and no parameters; what comes in the query is ignored.
 */
export function routeListEndpoints(
  server: FastifyInstance,
  deps: EndpointDeps,
  lists: RouteLists,
): void {
  const path = '/api/v1/data/routes'
  serveEndpoint(server, deps, {
    name: 'routes',
    path,
    answer: (_request, worldNow) => list(JSON_TYPE, lists.routes(worldNow)),
  })
  serveEndpoint(server, deps, {
    name: 'with-availability',
    path: `${path}/with-availability`,
    answer: (_request, worldNow) => list(JSON_TYPE, lists.withAvailability(worldNow)),
  })
  serveEndpoint(server, deps, {
    name: 'csv',
    path: `${path}/csv`,
    answer: (_request, worldNow) => list(CSV_TYPE, lists.csv(worldNow)),
  })
}

function list(contentType: string, body: string | Buffer): Answer {
  return { status: 200, contentType, body, versioned: true }
}
