import { Type } from 'typebox'
import { INCIDENT_KINDS } from '../platform/base/kinds.ts'
import type { Db } from '../platform/db/database.ts'
import { operations } from '../platform/http/operation.ts'
import { cursorsOf, pageOf, pageParameters } from '../platform/http/pages.ts'
import { Instant, object, oneOf, orNull, RowId } from '../platform/http/schemas.ts'
import { listIncidents } from './incident-queries.ts'

const { operator } = operations<{ readonly db: Db }>()

const Incident = object(
  {
    id: RowId,
    kind: oneOf(INCIDENT_KINDS, { title: 'IncidentKind' }),
    openedAt: Instant,
    closedAt: orNull(Instant, 'Null while it is open.'),
  },
  { title: 'Incident' },
)

const cursors = cursorsOf('incidents', RowId)

const listAll = operator({
  id: 'listIncidents',
  method: 'GET',
  path: '/api/v1/incidents',
  tag: 'Operators',
  summary: 'List masses of changes and upstream trouble, newest first',
  description:
    'While an incident is open, changes of its kind wait, each for MASS_HOLD_MINUTES at most. Upstream trouble slows the checks.',
  scope: 'operate',
  query: object({
    open: Type.Optional(
      Type.Boolean({ description: 'true: open incidents only. false: closed ones only.' }),
    ),
    ...pageParameters({ preset: 50, max: 1000 }),
  }),
  answer: { about: 'A page of incidents.', schema: pageOf(Incident) },
  problems: ['request.invalid_cursor'],
  example: { query: { limit: '1' } },
  handler: async ({ db }, { query: { open, limit, cursor } }) => {
    const bound = open ?? null
    const after = cursors.read(cursor, bound)
    const incidents = await listIncidents(db, { open, after, limit: limit + 1 })
    return cursors.page(incidents, { limit, bound, positionOf: ({ id }) => id })
  },
})

/** Incidents, for operators. */
export const INCIDENT_OPERATIONS = [listAll]
