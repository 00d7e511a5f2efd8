import type { FastifyReply } from 'fastify'
import { Type } from 'typebox'
import type { Db } from '../../db/database.ts'
import { sendEncoded } from '../../http/encoded-body.ts'
import { isNotModified } from '../../http/etags.ts'
import { type Checked, operations } from '../../http/operation.ts'
import { ProblemError } from '../../http/problems.ts'
import { object } from '../../http/schemas.ts'
import { streamText } from '../../http/send-text.ts'
import { routesText } from './export-routes.ts'
import { findListVersion, type ListForm, type ListVersion } from './list-version.ts'
import type { RenderedLists } from './rendered-lists.ts'
import type { RouteFilter } from './route-queries.ts'

export interface RouteDeps {
  readonly db: Db
  readonly routeLists: RenderedLists
}

const { shared } = operations<RouteDeps>()

const Place = object({
  id: Type.String(),
  iata: Type.String(),
  city: Type.String(),
  country: Type.String(),
})
const Routes = Type.Array(object({ departure: Place, destination: Place }))

const name = (description: string) =>
  Type.Optional(Type.String({ minLength: 1, maxLength: 200, description }))

const QUERY = object({
  asOf: Type.Optional(
    Type.Unsafe<Date>({
      type: 'string',
      format: 'date-time',
      description: 'The list as it stood then; now where missing.',
    }),
  ),
  departure: name('Only from this place: its id or its airport code.'),
  destination: name('Only to this place: its id or its airport code.'),
  country: name('Only from or to a place of this country.'),
})

const told = {
  headers: {
    'farewatch-snapshot-at': 'When the snapshot had arrived that the list is of.',
    'farewatch-snapshot-age': 'How long ago that was, in seconds.',
  },
  versioned: true,
} as const
/** What the three forms have in common; they differ in their address, their text and what it is of. */
const common = {
  method: 'GET',
  tag: 'The upstream’s interface',
  scope: 'read',
  upstream: true,
  query: QUERY,
  problems: ['routes.no_list', 'not_found'],
} as const

const listRoutes = shared({
  ...common,
  id: 'listRoutes',
  path: '/api/v1/data/routes',
  summary: 'All routes',
  answer: { ...told, about: 'The routes, by the ids of their places.', schema: Routes },
  example: { query: { country: 'Spain' } },
  handler: (deps, request) => answerList(deps, 'routes', request),
})

const listAvailableRoutes = shared({
  ...common,
  id: 'listAvailableRoutes',
  path: '/api/v1/data/routes/with-availability',
  summary: 'The routes with availability',
  answer: { ...told, about: 'Those of the routes that are available.', schema: Routes },
  handler: (deps, request) => answerList(deps, 'with-availability', request),
})

const exportRoutesCsv = shared({
  ...common,
  id: 'exportRoutesCsv',
  path: '/api/v1/data/routes/csv',
  summary: 'All routes as CSV',
  answer: {
    ...told,
    about: 'A header line, then a line a route.',
    type: 'text/csv; charset=utf-8; header=present',
  },
  handler: (deps, request) => answerList(deps, 'csv', request),
})

/** The upstream's route lists from our tables. */
export const ROUTE_OPERATIONS = [listRoutes, listAvailableRoutes, exportRoutesCsv]

type ListRequest = Pick<Checked<unknown, RouteFilter, unknown>, 'query' | 'request' | 'reply'>

/** The list of now as a whole comes from memory; any other is read, page by page as the client takes it. */
async function answerList(
  { db, routeLists }: RouteDeps,
  form: ListForm,
  { query, request, reply }: ListRequest,
): Promise<FastifyReply> {
  const { asOf, ...places } = query
  const list = asOf === undefined ? await routeLists.current(form) : undefined
  const version = asOf === undefined ? list?.version : await findListVersion(db, form, asOf)
  if (version === undefined) throw noList(asOf)
  tellSnapshot(reply, version)
  const { tag, changedAt, lastModified } = version
  if (isNotModified(request, reply, { tag, lastModified })) return reply.code(304).send()

  if (form === 'csv') reply.header('content-disposition', 'attachment; filename="routes.csv"')
  else reply.type('application/json; charset=utf-8')
  const whole = Object.values(places).every((part) => part === undefined)
  const body = whole ? await list?.body() : undefined
  if (body) return sendEncoded(request, reply, body)
  return streamText(reply, routesText(db, form, { ...places, asOf: changedAt }))
}

function tellSnapshot(reply: FastifyReply, { snapshotAt, snapshotAgeMs }: ListVersion): void {
  reply.header('farewatch-snapshot-at', snapshotAt.toISOString())
  reply.header('farewatch-snapshot-age', Math.max(0, Math.floor(snapshotAgeMs / 1000)))
}

/** How soon the first list may be there. */
const FIRST_LIST_SECONDS = 30

/** Before the first accepted list there is none, which is not the same as one without routes. */
function noList(asOf: Date | undefined): ProblemError {
  if (asOf !== undefined) {
    return new ProblemError('not_found', {
      parameter: 'asOf',
      detail: 'no list had been accepted by then',
    })
  }
  return new ProblemError('routes.no_list', {
    headers: { 'retry-after': String(FIRST_LIST_SECONDS) },
  })
}
