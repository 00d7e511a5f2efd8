import { Type } from 'typebox'
import { ROUTE_CHANGE_KINDS } from '../base/kinds.ts'
import type { Db } from '../db/database.ts'
import { operations } from '../http/operation.ts'
import { ProblemError } from '../http/problems.ts'
import { Instant, instant, MAX_WHOLE_NUMBER, object, oneOf, orNull } from '../http/schemas.ts'
import {
  findRouteChangeUpTo,
  type RouteChange,
  type RouteChangeFilter,
  readRouteChanges,
} from './route-change-queries.ts'

const { shared } = operations<{ readonly db: Db }>()

const MAX_PLACES = 100
/** Records that one request looks at, whether they pass or not: it is answered in time, however few do. */
const LOOKED_AT = 100_000
const Kind = oneOf(ROUTE_CHANGE_KINDS)
const MaybeText = orNull(Type.String())

const State = Type.Union(
  [
    object({ available: orNull(Type.Boolean()) }),
    object({ iata: Type.String(), city: Type.String(), country: Type.String() }),
    Type.Null(),
  ],
  {
    description:
      'Of a route whether it is available, null where not known; of a place its attributes.',
  },
)

const Change = object({
  seq: Type.Integer({ description: 'Dense, and in the order in which records appear.' }),
  previous: Type.Integer({
    description:
      'The last `seq` before it that passes the same filters; 0 where none of 100,000 before it does.',
  }),
  id: Type.String({ format: 'uuid' }),
  kind: Kind,
  departureId: MaybeText,
  destinationId: MaybeText,
  placeId: MaybeText,
  before: State,
  after: State,
  lastSeenAt: orNull(
    Instant,
    'When the last list was fetched that still showed `before`: it happened after.',
  ),
  firstMissedAt: instant(
    'When the first list was fetched that no longer did: it happened by then.',
  ),
  recordedAt: Instant,
  runId: Type.Integer(),
})

const Feed = object({
  items: Type.Array(Change),
  seq: Type.Integer({ description: 'The `after` to go on with: all up to it was looked at.' }),
  head: Type.Integer({ description: 'The last number of the feed.' }),
})

const query = object({
  after: Type.Integer({
    minimum: 0,
    maximum: MAX_WHOLE_NUMBER,
    default: 0,
    description: 'Only records after this number.',
  }),
  limit: Type.Integer({ minimum: 1, maximum: 1000, default: 100, description: 'Items a page.' }),
  kinds: Type.Optional(
    Type.Array(Kind, { minItems: 1, description: 'Only changes of these kinds.' }),
  ),
  places: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 256 }), {
      minItems: 1,
      maxItems: MAX_PLACES,
      description: 'Only changes of these places, and of routes from or to them.',
    }),
  ),
  since: Type.Optional(instant('Only what was recorded then or later.')),
  until: Type.Optional(instant('Only what was recorded before.')),
})

const listRouteChanges = shared({
  id: 'listRouteChanges',
  method: 'GET',
  path: '/api/v1/route-changes',
  tag: 'Changes',
  summary: 'What changed among routes and places, in order',
  description:
    'The first list that was accepted is the baseline and makes no records. Pass `seq` of the answer as `after` of the next request: nothing ever appears later under a smaller number.',
  scope: 'read',
  query,
  answer: { about: 'The records after a number.', schema: Feed },
  problems: ['changes.beyond_head'],
  example: { query: { after: '0', kinds: 'route_added,route_removed', limit: '1' } },
  handler: async ({ db }, { query: { after, limit, ...filter } }) => {
    const { head, changes } = await readRouteChanges(db, {
      after,
      through: after + LOOKED_AT,
      limit,
      ...filter,
    })
    if (after > head) throw beyondHead(after, head)
    const last = changes.length === limit ? changes.at(-1)?.seq : undefined
    return {
      items: await withPrevious(db, changes, { after, filter }),
      seq: last ?? Math.min(head, after + LOOKED_AT),
      head,
    }
  },
})

/** Whoever holds a number that the feed has not reached would wait for it, and miss all that comes before. */
function beyondHead(after: number, head: number): ProblemError {
  return new ProblemError('changes.beyond_head', {
    parameter: 'after',
    detail: `after is ${after}, but the feed ends at ${head}`,
  })
}

async function withPrevious(
  db: Db,
  changes: readonly RouteChange[],
  { after, filter }: { readonly after: number; readonly filter: RouteChangeFilter },
) {
  if (changes.length === 0) return []
  // Without a filter all records pass, and their numbers are dense.
  const first = isEmpty(filter) ? after : await findRouteChangeUpTo(db, after, filter)
  return changes.map((change, at) => ({ ...change, previous: changes[at - 1]?.seq ?? first }))
}

function isEmpty({ kinds, places, since, until }: RouteChangeFilter): boolean {
  return [kinds, places, since, until].every((given) => given === undefined)
}

/** The feed of route changes. */
export const ROUTE_CHANGE_OPERATIONS = [listRouteChanges]
