import { Type } from 'typebox'
import { ROUTE_CHANGE_KINDS } from '../platform/base/kinds.ts'
import type { Db } from '../platform/db/database.ts'
import { operations } from '../platform/http/operation.ts'
import { Instant, instant, object, oneOf, orNull } from '../platform/http/schemas.ts'
import { readFeedBounds, startAfter } from './feed-bounds.ts'
import {
  findRouteChangeUpTo,
  type RouteChange,
  type RouteChangeFilter,
  readRouteChanges,
} from './route-change-queries.ts'
import { AfterParameter, FirstNumber } from './watch-change-operations.ts'

const { shared } = operations<{ readonly db: Db }>()

const MAX_PLACES = 100
/** Records that one request reads, whether or not they pass the filters. It bounds the time of a request. */
const READ_AT_MOST = 100_000
const Kind = oneOf(ROUTE_CHANGE_KINDS, { title: 'RouteChangeKind' })
const MaybeText = orNull(Type.String())

const State = Type.Union(
  [
    object({ available: orNull(Type.Boolean()) }),
    object({ iata: Type.String(), city: Type.String(), country: Type.String() }),
    Type.Null(),
  ],
  {
    description: 'For a route its availability, null if unknown. For a place its attributes.',
  },
)

const RouteChangeSchema = object(
  {
    seq: Type.Integer({ description: 'The number of the record. Numbers have no gaps.' }),
    previous: Type.Integer({
      description:
        'The previous `seq` that passes the same filters; 0 if none of the 100,000 records before it does, or if it is archived.',
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
      'The valid time of the last list that still showed `before`. The change happened after it.',
    ),
    firstMissedAt: instant(
      'The valid time of the first list that no longer showed `before`. The change happened by then.',
    ),
    recordedAt: Instant,
    runId: Type.Integer(),
  },
  { title: 'RouteChange' },
)

const RouteChangePage = object({
  items: Type.Array(RouteChangeSchema),
  seq: Type.Integer({
    description: 'The `after` of the next request. All records up to it were read.',
  }),
  first: FirstNumber,
  head: Type.Integer({ description: 'The number of the last record of the feed.' }),
})

const query = object({
  after: AfterParameter,
  limit: Type.Integer({
    minimum: 1,
    maximum: 1000,
    default: 100,
    description: 'The maximum number of items on the page.',
  }),
  kinds: Type.Optional(
    Type.Array(Kind, { minItems: 1, description: 'Only changes of these kinds.' }),
  ),
  places: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 256 }), {
      minItems: 1,
      maxItems: MAX_PLACES,
      description: 'Only changes of these places and of routes from or to them.',
    }),
  ),
  since: Type.Optional(instant('Only changes recorded at this instant or later.')),
  until: Type.Optional(instant('Only changes recorded before this instant.')),
})

const listRouteChanges = shared({
  id: 'listRouteChanges',
  method: 'GET',
  path: '/api/v1/route-changes',
  tag: 'Changes',
  summary: 'List the changes of routes and places, oldest first',
  description:
    'The first accepted list is the baseline and has no records. Pass the `seq` of the response as `after` of the next request. No record ever appears later with a smaller number.',
  scope: 'read',
  query,
  answer: { about: 'The records after a number, oldest first.', schema: RouteChangePage },
  problems: ['changes.beyond_head', 'changes.archived'],
  example: { query: { after: '0', kinds: 'route_added,route_removed', limit: '1' } },
  handler: async ({ db }, { query: { after: given, limit, ...filter } }) => {
    const after = given ?? (await readFeedBounds(db, 'route')).first - 1
    const { first, head, changes } = await readRouteChanges(db, {
      after,
      through: after + READ_AT_MOST,
      limit,
      ...filter,
    })
    startAfter({ first, head }, after)
    const last = changes.length === limit ? changes.at(-1)?.seq : undefined
    return {
      items: await withPrevious(db, changes, { after, filter }),
      seq: last ?? Math.min(head, after + READ_AT_MOST),
      first,
      head,
    }
  },
})

async function withPrevious(
  db: Db,
  changes: readonly RouteChange[],
  { after, filter }: { readonly after: number; readonly filter: RouteChangeFilter },
) {
  if (changes.length === 0) return []
  // Without a filter every record passes, and the numbers have no gaps.
  const first = isEmpty(filter) ? after : await findRouteChangeUpTo(db, after, filter)
  return changes.map((change, at) => ({ ...change, previous: changes[at - 1]?.seq ?? first }))
}

function isEmpty({ kinds, places, since, until }: RouteChangeFilter): boolean {
  return [kinds, places, since, until].every((given) => given === undefined)
}

/** The feed of route changes. */
export const ROUTE_CHANGE_OPERATIONS = [listRouteChanges]
