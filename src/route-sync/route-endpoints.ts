import { Readable } from 'node:stream'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import type { Db } from '../db/database.ts'
import { type RouteRow, readSyncStates, streamRoutes } from './route-queries.ts'
import { listSyncRuns } from './sync-run-queries.ts'

const RunsQuery = Type.Object(
  {
    list: Type.Optional(Type.Union([Type.Literal('routes'), Type.Literal('with-availability')])),
    limit: Type.Integer({ minimum: 1, maximum: 1000, default: 50 }),
  },
  { additionalProperties: false },
)

/** The upstream's route lists from our tables, and how fresh they are. */
export function addRouteEndpoints(instance: FastifyInstance, { db }: { db: Db }): void {
  const server = instance.withTypeProvider<TypeBoxTypeProvider>()
  server.get('/api/v1/data/routes', (_request, reply) =>
    reply.type('application/json').send(Readable.from(routesJson(db, false))),
  )
  server.get('/api/v1/data/routes/with-availability', (_request, reply) =>
    reply.type('application/json').send(Readable.from(routesJson(db, true))),
  )
  server.get('/api/v1/sync-runs', { schema: { querystring: RunsQuery } }, async ({ query }) => ({
    items: await listSyncRuns(db, query),
  }))
  server.get('/api/v1/status', async () => ({ lists: await readSyncStates(db) }))
}

/** The upstream's own shape: a JSON array of departure and destination. */
async function* routesJson(db: Db, onlyAvailable: boolean): AsyncGenerator<string> {
  let separator = '['
  for await (const page of streamRoutes(db, { onlyAvailable })) {
    yield separator + page.map((row) => JSON.stringify(upstreamShape(row))).join(',')
    separator = ','
  }
  yield separator === '[' ? '[]' : ']'
}

function upstreamShape(row: RouteRow) {
  return {
    departure: {
      id: row.departureId,
      iata: row.departureIata,
      city: row.departureCity,
      country: row.departureCountry,
    },
    destination: {
      id: row.destinationId,
      iata: row.destinationIata,
      city: row.destinationCity,
      country: row.destinationCountry,
    },
  }
}
