import type { FastifyReply } from 'fastify'
import { Type } from 'typebox'
import type { Db } from '../../platform/db/database.ts'
import { assertKept } from '../../platform/db/history-floor.ts'
import { type Checked, operations } from '../../platform/http/operation.ts'
import { ProblemError } from '../../platform/http/problems.ts'
import { isNotModified, sendEncoded, streamText } from '../../platform/http/responses.ts'
import { instant, object } from '../../platform/http/schemas.ts'
import type { RenderedLists } from './export-routes.ts'
import { findListVersion, type ListForm, type ListVersion, routesText } from './export-routes.ts'
import type { RouteFilter } from './route-queries.ts'

interface RouteDeps {
  readonly db: Db
  readonly routeLists: RenderedLists
}

const { shared } = operations<RouteDeps>()

export const Place = object(
  { id: Type.String(), iata: Type.String(), city: Type.String(), country: Type.String() },
  { title: 'Place', description: '`id` is the identity. The other attributes may change.' },
)
export const Route = object({ departure: Place, destination: Place }, { title: 'Route' })
const Routes = Type.Array(Route)

const name = (description: string) =>
  Type.Optional(Type.String({ minLength: 1, maxLength: 200, description }))

const QUERY = object({
  asOf: Type.Optional(instant('The instant whose list is returned. Default: now.')),
  departure: name('Only routes from this place, given by its id or airport code.'),
  destination: name('Only routes to this place, given by its id or airport code.'),
  country: name('Only routes from or to a place in this country.'),
})

const snapshotAnswer = {
  headers: {
    'farewatch-snapshot-at': 'When the last accepted snapshot of the list arrived.',
    'farewatch-snapshot-age': 'The age of that snapshot, in seconds.',
  },
  versioned: true,
} as const

const common = {
  method: 'GET',
  tag: 'The upstream’s interface',
  scope: 'read',
  upstream: true,
  query: QUERY,
  problems: ['routes.no_list', 'not_found', 'history.archived'],
} as const

const listRoutes = shared({
  ...common,
  id: 'listRoutes',
  path: '/api/v1/data/routes',
  summary: 'List all routes',
  answer: {
    ...snapshotAnswer,
    about: 'The routes, ordered by the ids of their places.',
    schema: Routes,
  },
  example: { query: { country: 'Spain' } },
  handler: (deps, request) => sendList(deps, 'routes', request),
})

const listAvailableRoutes = shared({
  ...common,
  id: 'listAvailableRoutes',
  path: '/api/v1/data/routes/with-availability',
  summary: 'List the routes with availability',
  answer: { ...snapshotAnswer, about: 'The routes that are available.', schema: Routes },
  handler: (deps, request) => sendList(deps, 'with-availability', request),
})

const exportRoutesCsv = shared({
  ...common,
  query: object({
    ...QUERY.properties,
    onlyAvailable: Type.Optional(
      Type.Boolean({ description: 'Only the routes that are available.' }),
    ),
  }),
  id: 'exportRoutesCsv',
  path: '/api/v1/data/routes/csv',
  summary: 'Export all routes as CSV',
  answer: {
    ...snapshotAnswer,
    about: 'A header line, then one line for each route.',
    type: 'text/csv; charset=utf-8; header=present',
  },
  handler: (deps, request) => sendList(deps, 'csv', request),
})

/** The endpoints that serve the upstream's route lists from our tables. */
export const ROUTE_OPERATIONS = [listRoutes, listAvailableRoutes, exportRoutesCsv]

type ListRequest = Pick<Checked<unknown, RouteFilter, unknown>, 'query' | 'request' | 'reply'>

/** The whole current list comes from memory. Every other answer is read page by page as the client takes it. */
async function sendList(
  { db, routeLists }: RouteDeps,
  form: ListForm,
  { query, request, reply }: ListRequest,
): Promise<FastifyReply> {
  const { asOf, ...places } = query
  if (asOf !== undefined) await assertKept(db, asOf)
  const list = asOf === undefined ? await routeLists.current(form) : undefined
  const version = asOf === undefined ? list?.version : await findListVersion(db, form, asOf)
  if (version === undefined) throw noList(asOf)
  setSnapshotHeaders(reply, version)
  const { tag, changedAt, lastModified } = version
  if (isNotModified(request, reply, { tag, lastModified })) return reply.code(304).send()

  if (form === 'csv') reply.header('content-disposition', 'attachment; filename="routes.csv"')
  else reply.type('application/json; charset=utf-8')
  const whole = Object.values(places).every((part) => part === undefined)
  const body = whole ? await list?.body() : undefined
  if (body) return sendEncoded(request, reply, body)
  return streamText(reply, routesText(db, form, { ...places, asOf: changedAt }))
}

function setSnapshotHeaders(reply: FastifyReply, { snapshotAt, snapshotAgeMs }: ListVersion): void {
  reply.header('farewatch-snapshot-at', snapshotAt.toISOString())
  reply.header('farewatch-snapshot-age', Math.max(0, Math.floor(snapshotAgeMs / 1000)))
}

/** The first list usually arrives within this time. */
const FIRST_LIST_SECONDS = 30

/** Before the first accepted list there is no answer. An empty list would mean that there are no routes. */
function noList(asOf: Date | undefined): ProblemError {
  if (asOf !== undefined) {
    return new ProblemError('not_found', {
      missing: 'run',
      parameter: 'asOf',
      detail: 'no list had been accepted by then',
    })
  }
  return new ProblemError('routes.no_list', {
    headers: { 'retry-after': String(FIRST_LIST_SECONDS) },
  })
}
