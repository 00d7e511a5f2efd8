import { stringify } from 'csv-stringify/sync'
import type { FastifyInstance } from 'fastify'
import { type Answer, CSV_TYPE, JSON_TYPE } from '../answer.ts'
import { routesAt, routesWithAvailabilityAt } from '../world/route-life.ts'
import type { Route } from '../world/wire.ts'
import type { World } from '../world/world.ts'
import { type OperationDeps, serveOperation } from './serve-operations.ts'

/**
 * The three route list operations.
 * assumption: they take no token and no parameters; the query is ignored.
 */
export function routeListOperations(
  server: FastifyInstance,
  deps: OperationDeps,
  lists: RouteLists,
): void {
  const path = '/api/v1/data/routes'
  serveOperation(server, deps, {
    name: 'routes',
    path,
    answer: (_request, worldNow) => list(JSON_TYPE, lists.routes(worldNow)),
  })
  serveOperation(server, deps, {
    name: 'with-availability',
    path: `${path}/with-availability`,
    answer: (_request, worldNow) => list(JSON_TYPE, lists.withAvailability(worldNow)),
  })
  serveOperation(server, deps, {
    name: 'csv',
    path: `${path}/csv`,
    answer: (_request, worldNow) => list(CSV_TYPE, lists.csv(worldNow)),
  })
}

function list(contentType: string, body: string | Buffer): Answer {
  return { status: 200, contentType, body, versioned: true }
}

/** The bodies of the three list operations at an instant of the world. */
export interface RouteLists {
  routes(worldNow: Date): string | Buffer
  withAvailability(worldNow: Date): string | Buffer
  csv(worldNow: Date): string | Buffer
  counts(worldNow: Date): { readonly routes: number; readonly withAvailability: number }
}

/** The lists of the world, computed for each request. */
export function worldRouteLists(world: World): RouteLists {
  return {
    routes: (now) => JSON.stringify(routesAt(world, now)),
    withAvailability: (now) => JSON.stringify(routesWithAvailabilityAt(world, now)),
    csv: (now) => toCsv(routesAt(world, now)),
    counts: (now) => ({
      routes: routesAt(world, now).length,
      withAvailability: routesWithAvailabilityAt(world, now).length,
    }),
  }
}

const PLACE_COLUMNS = ['id', 'iata', 'city', 'country'] as const

/** assumption: the interface does not show the columns; ours are the fields of both places. */
export function toCsv(routes: readonly Route[]): string {
  const header = ['departure', 'destination'].flatMap((side) =>
    PLACE_COLUMNS.map((column) => `${side}_${column}`),
  )
  const rows = routes.map(({ departure, destination }) =>
    [departure, destination].flatMap((place) => PLACE_COLUMNS.map((column) => place[column])),
  )
  return stringify([header, ...rows])
}
