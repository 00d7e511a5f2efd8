import { Type } from 'typebox'
import type { Db } from '../../db/database.ts'
import { operations } from '../../http/operation.ts'
import { cursorsOf, pageOf, pageParameters } from '../../http/pages.ts'
import { ProblemError } from '../../http/problems.ts'
import { object, orNull } from '../../http/schemas.ts'
import { deleteWatches } from '../change-watches.ts'
import { rowsOf } from '../files/open-watch-file.ts'
import { importWatchList } from '../import/import-watch-list.ts'
import { type Cells, cellsOfInput, errorsOfInput } from '../watch-input.ts'
import { findWatchList } from '../watch-lists.ts'
import { listWatches } from '../watch-queries.ts'
import { ListParams, orNotFound } from './watch-list-endpoints.ts'
import { shapeOf, WatchParams, WatchShape } from './watch-shape-endpoints.ts'

const { reseller } = operations<{ readonly db: Db }>()

const TAG = 'Watches'
const MAX_WATCHES = 5_000
const MAX_BODY_BYTES = 3_000_000
/** How many faults of a body are told one by one. */
const SHOWN_FAULTS = 50

const InputCounts = object({
  adults: Type.Optional(Type.Integer({ description: '0 to 12; 0 where missing, as the others.' })),
  children: Type.Optional(Type.Integer()),
  infants: Type.Optional(Type.Integer({ description: 'Of both groups no more than adults.' })),
})

/** Its types alone are checked by the schema: whatever else is wrong is told of all rows at once. */
const WatchInput = object({
  reference: Type.String({ description: 'Your own name of the watch, unique within the list.' }),
  flightId: Type.String({
    description: 'The outbound flight, as the upstream’s search names it.',
  }),
  returnFlightId: Type.Optional(orNull(Type.String())),
  passengers: object(
    { residents: Type.Optional(InputCounts), nonResidents: Type.Optional(InputCounts) },
    { description: 'At least one adult.' },
  ),
  priceThresholdAmount: Type.Optional(
    orNull(Type.String(), 'A price change is told from this amount on: `12.50`.'),
  ),
  priceThresholdPercent: Type.Optional(
    orNull(Type.String(), 'Or from this share of the last price that was told: `5`.'),
  ),
  departsOn: Type.Optional(orNull(Type.String(), '`YYYY-MM-DD`.')),
  minIntervalSeconds: Type.Optional(
    orNull(Type.Integer(), 'Not to be asked about more often for this watch; 1 to 2592000.'),
  ),
})

const cursors = cursorsOf('watches', Type.String({ maxLength: 200 }))

const listOfList = reseller({
  id: 'listWatches',
  method: 'GET',
  path: '/api/v1/watch-lists/{list}/watches',
  tag: TAG,
  summary: 'The watches of a list, by reference',
  scope: 'read',
  params: ListParams,
  query: object(pageParameters({ preset: 100, max: 1000 })),
  answer: {
    about: 'A page of watches, without what is known of their fares.',
    schema: pageOf(WatchShape),
  },
  problems: ['not_found', 'request.invalid_cursor'],
  example: { params: { list: 'summer' } },
  handler: async ({ db, resellerId }, { params: { list }, query: { limit, cursor } }) => {
    const reference = cursors.read(cursor, list)
    if ((await findWatchList({ db, resellerId }, list)) === undefined) {
      throw new ProblemError('not_found')
    }
    const after = reference === undefined ? undefined : { list, reference }
    const watches = await listWatches(db, resellerId, { list, after, limit: limit + 1 })
    const { items, next } = cursors.page(watches, {
      limit,
      bound: list,
      positionOf: ({ entry }) => entry.reference,
    })
    return { items: items.map(shapeOf), next }
  },
})

const saveWatches = reseller({
  id: 'saveWatches',
  method: 'POST',
  path: '/api/v1/watch-lists/{list}/watches',
  tag: TAG,
  summary: 'Add watches to a list, and change those of the same reference',
  description:
    'All of them or none. The same again changes nothing. A watch whose question changes (flights, passengers) ' +
    'begins anew; one that is paused stays paused. Watches that are not named stay as they are.',
  scope: 'watch',
  params: ListParams,
  body: object({ watches: Type.Array(WatchInput, { minItems: 1, maxItems: MAX_WATCHES }) }),
  bodyLimitBytes: MAX_BODY_BYTES,
  answer: {
    about: 'What came of each, as counts.',
    schema: object({
      added: Type.Integer(),
      changed: Type.Integer(),
      unchanged: Type.Integer(),
      ended: Type.Integer({
        description:
          'Of the changed and unchanged ones, those that have expired, and stay so: another `departsOn` begins them anew.',
      }),
    }),
  },
  problems: ['not_found', 'watch.invalid_rows', 'watch.reseller_disabled'],
  example: {
    params: { list: 'summer' },
    body: {
      watches: [
        {
          reference: 'A-2',
          flightId: '101103206541',
          passengers: { nonResidents: { adults: 2, children: 1 } },
          priceThresholdPercent: '5',
        },
      ],
    },
  },
  handler: async ({ db, resellerId }, { params: { list }, body }) => {
    const rows = body.watches.map((watch) => cellsOfInput(list, watch))
    assertRows(rows)
    const { added, changed, unchanged, ended } = await orNotFound(
      importWatchList(db, { resellerId, list, source: rowsOf('the body', rows) }),
    )
    // Not which fares are asked about from now on: that also tells what others asked already.
    return { added, changed, unchanged, ended }
  },
})

function assertRows(rows: readonly Cells[]): void {
  const faults = errorsOfInput(rows)
  if (faults.length === 0) return
  const errors = faults.slice(0, SHOWN_FAULTS)
  const detail = `${faults.length} ${faults.length === 1 ? 'fault' : 'faults'}, of which ${errors.length} ${errors.length === 1 ? 'is' : 'are'} told here`
  throw new ProblemError('watch.invalid_rows', { detail, pointer: errors[0]?.pointer, errors })
}

const deleteWatch = reseller({
  id: 'deleteWatch',
  method: 'DELETE',
  path: '/api/v1/watch-lists/{list}/watches/{reference}',
  tag: TAG,
  summary: 'Delete a watch',
  description: 'The records that it was told stay in your feed.',
  scope: 'watch',
  params: WatchParams,
  answer: { about: 'Deleted.', status: 204 },
  problems: ['not_found'],
  example: { params: { list: 'summer', reference: 'A-1' } },
  handler: async ({ db, resellerId }, { params: { list, reference } }) => {
    const selection = { resellerId, list, references: [reference] }
    await orNotFound(deleteWatches(db, selection), 'list or reference')
  },
})

/** The watches of a list, as their reseller wrote them. */
export const WATCH_OPERATIONS = [listOfList, saveWatches, deleteWatch]
