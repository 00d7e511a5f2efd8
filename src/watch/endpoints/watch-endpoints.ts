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
/** How many errors of a body are reported one by one. */
const SHOWN_ERRORS = 50

const InputCounts = object({
  adults: Type.Optional(Type.Integer({ description: '0 to 12. A missing count is 0.' })),
  children: Type.Optional(Type.Integer()),
  infants: Type.Optional(
    Type.Integer({ description: 'In both groups together no more than adults.' }),
  ),
})

/** The schema checks the types only. All other errors are reported for all rows at once. */
const WatchInput = object(
  {
    reference: Type.String({ description: 'Your name for the watch, unique within the list.' }),
    flightId: Type.String({
      description: 'The id of the outbound flight in the upstream’s search.',
    }),
    returnFlightId: Type.Optional(orNull(Type.String())),
    passengers: object(
      { residents: Type.Optional(InputCounts), nonResidents: Type.Optional(InputCounts) },
      { description: 'At least one adult.' },
    ),
    priceThresholdAmount: Type.Optional(
      orNull(Type.String(), 'The smallest price change that you are notified of, such as `12.50`.'),
    ),
    priceThresholdPercent: Type.Optional(
      orNull(
        Type.String(),
        'Or the smallest change as a percentage of the last notified price, such as `5`.',
      ),
    ),
    departsOn: Type.Optional(orNull(Type.String(), '`YYYY-MM-DD`.')),
    minIntervalSeconds: Type.Optional(
      orNull(Type.Integer(), 'The shortest time between two checks for this watch, 1 to 2592000.'),
    ),
  },
  { title: 'WatchInput' },
)

const cursors = cursorsOf('watches', Type.String({ maxLength: 200 }))

const listOfList = reseller({
  id: 'listWatches',
  method: 'GET',
  path: '/api/v1/watch-lists/{list}/watches',
  tag: TAG,
  summary: 'List the watches of a list by reference',
  scope: 'read',
  params: ListParams,
  query: object(pageParameters({ preset: 100, max: 1000 })),
  answer: {
    about: 'A page of watches, without the beliefs of their fares.',
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
  summary: 'Add or change watches of a list',
  description:
    'Changes the watches whose references exist, and adds the others: all of them or none. The same request again ' +
    'changes nothing. A watch whose question (flights, passengers) changes begins again. A paused watch stays paused. ' +
    'Other watches of the list stay as they are.',
  scope: 'watch',
  params: ListParams,
  body: object({ watches: Type.Array(WatchInput, { minItems: 1, maxItems: MAX_WATCHES }) }),
  bodyLimitBytes: MAX_BODY_BYTES,
  answer: {
    about: 'How many watches were added, changed and left unchanged.',
    schema: object({
      added: Type.Integer(),
      changed: Type.Integer(),
      unchanged: Type.Integer(),
      ended: Type.Integer({
        description:
          'How many of the changed and unchanged ones have expired and stay expired. A new `departsOn` makes an expired watch begin again.',
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
    // The counts of tracked fares are left out: they would reveal which fares other resellers watch.
    return { added, changed, unchanged, ended }
  },
})

function assertRows(rows: readonly Cells[]): void {
  const all = errorsOfInput(rows)
  if (all.length === 0) return
  const errors = all.slice(0, SHOWN_ERRORS)
  const detail = `${all.length} ${all.length === 1 ? 'error' : 'errors'}, of which ${errors.length} ${errors.length === 1 ? 'is' : 'are'} listed`
  throw new ProblemError('watch.invalid_rows', { detail, pointer: errors[0]?.pointer, errors })
}

const deleteWatch = reseller({
  id: 'deleteWatch',
  method: 'DELETE',
  path: '/api/v1/watch-lists/{list}/watches/{reference}',
  tag: TAG,
  summary: 'Delete a watch',
  description: 'Its records stay in your feed.',
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

/** The watches of a list: their settings. */
export const WATCH_OPERATIONS = [listOfList, saveWatches, deleteWatch]
