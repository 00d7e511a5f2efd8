import { type Static, Type } from 'typebox'
import { HELD_KINDS, MASS_KINDS } from '../platform/base/change-kinds.ts'
import type { ResellerId } from '../platform/base/reseller-id.ts'
import { type Db, sql } from '../platform/db/database.ts'
import { operations } from '../platform/http/operation.ts'
import { cursorsOf, pageOf, pageParameters } from '../platform/http/pages.ts'
import { ProblemError } from '../platform/http/problems.ts'
import { Instant, instant, object, oneOf, orNull, RowId } from '../platform/http/schemas.ts'
import { LANE_SHARE } from '../upstream/budget/reserve-slots.ts'

const { operator } = operations<{ readonly db: Db }>()

export const IncidentShape = object(
  {
    id: RowId,
    kind: oneOf(MASS_KINDS, { title: 'IncidentKind' }),
    openedAt: Instant,
    closedAt: orNull(Instant, 'Null while it is open.'),
    airlines: Type.Array(Type.String(), {
      description: 'Of whose flights it is. Empty, as `differences`, if it is of all.',
    }),
    differences: Type.Array(Type.String(), {
      description: 'What its changes have in common, such as `departure -60 min`.',
    }),
    recordedBefore: Type.Array(Type.Integer(), {
      description: 'The `seq` of such changes that were recorded before it was seen.',
    }),
  },
  { title: 'Incident' },
)

/** A time in which more flights change at once than a market changes, or most checks are unknown. */
export type Incident = Static<typeof IncidentShape>

/** The fares whose change of one kind waits. */
export const HeldFaresShape = object({
  kind: oneOf(HELD_KINDS, { title: 'HeldKind' }),
  fares: Type.Integer({ description: 'How many fares wait.' }),
  since: Instant,
  latestSince: Instant,
  until: instant('By when the last of them is recorded, or forgotten.'),
  watches: Type.Integer({
    description: 'How many watches will be notified if all are recorded.',
  }),
})
export type HeldFares = Static<typeof HeldFaresShape>

const cursors = cursorsOf('incidents', RowId, ({ id }: Incident) => id)

const listAll = operator({
  id: 'listIncidents',
  method: 'GET',
  path: '/api/v1/incidents',
  tag: 'Operators',
  summary: 'List masses of changes, newest first',
  description:
    'A change that an incident has counted waits, at most MASS_HOLD_MINUTES from its first answer.',
  scope: 'operate',
  query: object({
    open: Type.Optional(
      Type.Boolean({ description: 'true: open incidents only. false: closed ones only.' }),
    ),
    ...pageParameters({ preset: 50, max: 1000 }),
  }),
  answer: { about: 'A page of incidents.', schema: pageOf(IncidentShape) },
  problems: ['request.invalid_cursor'],
  example: { query: { limit: '1' } },
  handler: ({ db }, { query: { open, ...query } }) =>
    cursors.page(query, (page) => listIncidents(db, { open, ...page }), open ?? null),
})

const read = operator({
  id: 'readIncident',
  method: 'GET',
  path: '/api/v1/incidents/{incidentId}',
  tag: 'Operators',
  summary: 'Read an incident',
  scope: 'operate',
  params: object({ incidentId: RowId }),
  answer: { about: 'The incident.', schema: IncidentShape },
  problems: ['not_found'],
  example: { params: { incidentId: '1' } },
  handler: ({ db }, { params: { incidentId } }) => requireIncident(db, incidentId),
})

/** Incidents, for operators. */
export const INCIDENT_OPERATIONS = [listAll, read]

/** Reads an incident. Throws `not_found`. */
export async function requireIncident(db: Db, incidentId: number): Promise<Incident> {
  const [found] = await listIncidents(db, { after: incidentId + 1, limit: 1 })
  if (found?.id === incidentId) return found
  throw new ProblemError('not_found', {
    parameter: 'incidentId',
    detail: `there is no incident ${incidentId}`,
  })
}

/** Lists incidents, newest first. */
export async function listIncidents(
  db: Db,
  {
    open,
    after,
    limit,
  }: {
    readonly open?: boolean | undefined
    /** The id of the last incident on the previous page. */
    readonly after?: number | undefined
    readonly limit: number
  },
): Promise<Incident[]> {
  let query = db
    .selectFrom('incident')
    .select(['id', 'kind', 'opened_at as openedAt', 'closed_at as closedAt'])
    .select([partOf('airline').as('airlines'), partOf('difference').as('differences')])
    .select(RECORDED.as('recordedBefore'))
    .orderBy('id', 'desc')
    .limit(limit)
  if (open !== undefined) query = query.where('closed_at', open ? 'is' : 'is not', null)
  if (after !== undefined) query = query.where('id', '<', after)
  return query.execute()
}

/** What an incident is of; nothing where it is of its kind as a whole. */
function partOf(part: 'airline' | 'difference') {
  return sql<string[]>`
    array(select distinct m ->> ${part}
            from jsonb_array_elements(detail -> 'masses') m
           where m ->> ${part} <> '' and not detail -> 'masses' @> '[{"airline": null, "difference": null}]'
           order by 1)
  `
}

const RECORDED = sql<
  number[]
>`array(select r::bigint from jsonb_array_elements(detail -> 'recorded') r order by 1)`

interface HoldRules {
  readonly massHoldMs: number
  readonly requestsPerSecond: number
}

/** What waits, by the kind of the change: of all fares, or of those that a reseller watches, with its own watches. */
export async function readHeld(
  db: Db,
  { massHoldMs, requestsPerSecond }: HoldRules,
  resellerId?: ResellerId,
): Promise<HeldFares[]> {
  const { rows } = await sql<Omit<HeldFares, 'until'>>`
    select s.held as kind, count(*) as fares, min(s.held_since) as since,
           max(s.held_since) as "latestSince", sum(w.watches)::bigint as watches
      from fare_state s
     cross join lateral (
           select count(*) as watches
             from watch w
             join reseller r on r.id = w.reseller_id and r.disabled_at is null
            where w.tracked_fare_id = s.tracked_fare_id and w.paused_at is null and w.ended_at is null
              and (${resellerId ?? null}::bigint is null or w.reseller_id = ${resellerId ?? null})) w
     where s.held_since is not null and s.expired_at is null and w.watches > 0
     group by 1
     order by 1
  `.execute(db)
  return rows.map((held) => {
    // What is still so is asked once more, in the part of the budget that the lanes have.
    const askedMs = (1000 * held.fares) / (LANE_SHARE * requestsPerSecond)
    return { ...held, until: new Date(held.latestSince.getTime() + massHoldMs + askedMs) }
  })
}
