import { Type } from 'typebox'
import { nameFault } from '../platform/base/text.ts'
import { inTransaction } from '../platform/db/transaction.ts'
import { type CsvBody, operations } from '../platform/http/operation.ts'
import { ProblemError, ProblemFault } from '../platform/http/problems.ts'
import { object, orNull } from '../platform/http/schemas.ts'
import { TERM_INPUTS } from '../upstream/question-shapes.ts'
import { changeWatch } from '../watches/change-watches.ts'
import { importWatchList, planWatchImport } from '../watches/import/import-watch-list.ts'
import { SETTING_INPUTS } from '../watches/operations/setting-shapes.ts'
import {
  ListParams,
  lockOwnWatches,
  orNotFound,
} from '../watches/operations/watch-list-operations.ts'
import { WatchParams } from '../watches/operations/watch-operations.ts'
import { InvalidRowsError } from '../watches/rows/check-rows.ts'
import { type InvalidRow, type RowSource, rowsOf } from '../watches/rows/watch-row.ts'
import {
  cellsOfInput,
  csvFaultsOf,
  csvSource,
  errorsOfInput,
  faultsOf,
  faultsWithin,
  type WatchInput,
} from '../watches/watch-input.ts'
import { showNamed } from './watch-states.ts'
import { showWatch, type WatchViewDeps } from './watch-view-operations.ts'
import { WatchShape } from './watch-view-shapes.ts'

const { reseller } = operations<WatchViewDeps>()

const TAG = 'Watches'
const REFUSALS = ['resellers.disabled', 'quota.max_delays'] as const
const MAX_WATCHES = 5_000
const MAX_CSV_ROWS = 100_000
/** How many errors of a body are reported one by one. */
const SHOWN_ERRORS = 50

/** The schema checks the types only. All other errors are reported for all rows at once. */
const FlightId = Type.Optional(
  orNull(
    Type.String(),
    'The id of the outbound flight in the upstream’s search. Missing or null in a watch of a route.',
  ),
)
const settings = {
  returnFlightId: Type.Optional(orNull(Type.String())),
  ...SETTING_INPUTS,
}

const WatchInputShape = object(
  {
    reference: Type.String({ description: 'Your name for the watch, unique within the list.' }),
    flightId: FlightId,
    ...TERM_INPUTS,
    ...settings,
  },
  { title: 'WatchInput' },
)

const members = { flightId: FlightId, ...TERM_INPUTS, ...settings }
const WatchSettings = object(members, { title: 'WatchSettings' })
const WatchPatch = object(members, { title: 'WatchPatch' })

const saveWatches = reseller({
  id: 'saveWatches',
  method: 'POST',
  repeatable: true,
  path: '/api/v1/watch-lists/{list}/watches',
  tag: TAG,
  summary: 'Add or change watches of a list',
  description:
    'Replaces the watches whose references exist, and adds the others: all of them or none. A setting that you leave ' +
    'out is cleared; `PATCH` changes single settings of one watch. The same request again changes nothing. A watch ' +
    'whose question (flights, passengers) changes begins again. A paused watch stays paused. Other watches of the ' +
    'list stay as they are. There must be at least one adult, and no more infants than adults.',
  scope: 'watch',
  params: ListParams,
  query: object({
    dryRun: Type.Boolean({
      default: false,
      description: 'Counts what the request would do, and changes nothing.',
    }),
    skipInvalid: Type.Boolean({
      default: false,
      description: 'Leaves out the invalid rows. Otherwise one of them refuses the request.',
    }),
    createList: Type.Boolean({
      default: false,
      description: 'Creates the list if it does not exist. Otherwise the response is a 404.',
    }),
  }),
  body: object({ watches: Type.Array(WatchInputShape, { minItems: 1, maxItems: MAX_WATCHES }) }),
  csv: {
    about:
      'A file of watches as `bin/farewatch watch-lists import` reads it, of at most 20 MB and 100,000 rows. The column `list` may be ' +
      'missing or empty. `pointer` of an error is the line and the column: `/3/departs_on`.',
    example:
      'reference,flight_id,residents_adults,non_residents_adults,price_threshold_percent\nA-2,101103206541,0,2,5\n',
  },
  answer: {
    about: 'The watches, and how many of them were added, changed and left unchanged.',
    schema: object(
      {
        watches: Type.Array(WatchShape, {
          description:
            'The watches of the request, by reference. None in a dry run, and of over 5,000 rows of CSV.',
        }),
        added: Type.Integer(),
        changed: Type.Integer(),
        unchanged: Type.Integer(),
        ended: Type.Integer({
          description:
            'How many of the changed and unchanged ones have expired and stay expired. A new `departsOn` makes an expired watch begin again.',
        }),
        cleared: Type.Integer({
          description:
            'How many of the changed ones lost a setting, or returned to the `priority` `normal`, because the request leaves it out.',
        }),
        skipped: Type.Integer({ description: 'How many invalid rows were left out.' }),
        errors: Type.Array(ProblemFault, { description: 'Those of the first 50 of them.' }),
        warnings: Type.Array(ProblemFault, {
          description:
            'The first 50 doubts about watches that begin: a flight id that is no number, a flight that has departed or that no answer has shown, a code of no place. They are saved all the same.',
        }),
      },
      { title: 'SavedWatches' },
    ),
  },
  problems: ['not_found', 'watch.invalid_rows', ...REFUSALS],
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
  handler: async (
    { db, resellerId, minRecheckSeconds },
    { params: { list }, query, body, csv },
  ) => {
    const { createList, skipInvalid } = query
    if (createList) assertListName(list)
    const rows = csv ? csvRows(list, csv) : await jsonRows(list, body.watches, skipInvalid)
    const given = { resellerId, source: rows.source, skipInvalid }
    const args = { ...given, ...(createList ? {} : { list }) }
    const plan = query.dryRun ? planWatchImport(db, args) : importWatchList(db, args)
    const { added, changed, unchanged, ended, cleared, invalid, warnings } = await orNotFound(
      orInvalidRows(plan, rows.faultsOf),
    )
    const errors = invalid.rows.flatMap(rows.faultsOf)
    // The counts of tracked fares are left out: they would reveal which fares other resellers watch.
    const doubts = warnings.rows.flatMap(rows.faultsOf)
    const isShown = !query.dryRun && rows.references.length <= MAX_WATCHES
    const references = isShown ? rows.references : []
    const watches = await showNamed(db, { resellerId, minRecheckSeconds }, { list, references })
    const counts = { added, changed, unchanged, ended, cleared, skipped: invalid.count }
    return { watches, ...counts, errors, warnings: doubts }
  },
})

const putOne = reseller({
  id: 'putWatch',
  method: 'PUT',
  lock: lockOwnWatches,
  path: '/api/v1/watch-lists/{list}/watches/{reference}',
  tag: TAG,
  summary: 'Create or replace a watch',
  description:
    'The watch has exactly the settings of the body: what it leaves out is cleared. 201 if the watch is new, else 200. The ' +
    'same request again changes nothing. A watch whose question (flights, passengers) changes begins again.',
  scope: 'watch',
  params: WatchParams,
  body: WatchSettings,
  answer: {
    about: 'The watch.',
    schema: WatchShape,
    location: '/api/v1/watch-lists/{list}/watches/{reference}',
  },
  problems: ['not_found', 'watch.invalid_rows', ...REFUSALS],
  example: {
    params: { list: 'summer', reference: 'A-1' },
    body: {
      flightId: '101103206541',
      passengers: { nonResidents: { adults: 2 } },
      priceThresholdPercent: '5',
    },
  },
  handler: ({ db, ...owner }, { params, body, reply }) =>
    inTransaction(db, async (tx) => {
      const { list, reference } = params
      const source = rowsOf('the body', [cellsOfInput(list, { ...body, reference })])
      const saved = importWatchList(tx, { resellerId: owner.resellerId, list, source })
      const { added } = await orNotFound(orInvalidSettings(saved))
      reply.code(added === 1 ? 201 : 200)
      return showWatch({ ...owner, db: tx }, params)
    }),
})

const changeOne = reseller({
  id: 'updateWatch',
  method: 'PATCH',
  lock: lockOwnWatches,
  path: '/api/v1/watch-lists/{list}/watches/{reference}',
  tag: TAG,
  summary: 'Change settings of a watch',
  description:
    'Changes what the body names and leaves the rest, also among the counts of passengers; null clears a setting. A ' +
    'watch whose question (flights, passengers) changes begins again.',
  scope: 'watch',
  params: WatchParams,
  body: WatchPatch,
  answer: { about: 'The watch with its new settings.', schema: WatchShape },
  problems: ['not_found', 'watch.invalid_rows', ...REFUSALS],
  example: {
    params: { list: 'summer', reference: 'A-1' },
    body: { priceThresholdPercent: '10', minIntervalSeconds: null },
  },
  handler: ({ db, ...owner }, { params, body }) =>
    inTransaction(db, async (tx) => {
      const change = changeWatch({ db: tx, resellerId: owner.resellerId }, params, body)
      await orNotFound(orInvalidSettings(change), params.reference)
      return showWatch({ ...owner, db: tx }, params)
    }),
})

interface BodyRows {
  readonly source: RowSource
  readonly references: readonly string[]
  /** The errors of a row as the client sees them. */
  readonly faultsOf: (row: InvalidRow) => ProblemFault[]
}

async function jsonRows(
  list: string,
  watches: readonly WatchInput[],
  skipInvalid: boolean,
): Promise<BodyRows> {
  const rows = watches.map((watch) => cellsOfInput(list, watch))
  const faults = skipInvalid ? [] : await errorsOfInput(rows)
  if (faults.length > 0) throw invalidRows(faults, faults.length)
  const references = rows.map(({ reference = '' }) => reference)
  return { source: rowsOf('the body', rows), references, faultsOf }
}

function csvRows(list: string, csv: CsvBody): BodyRows {
  const references: string[] = []
  const source = csvSource(csv, { list, maxRows: MAX_CSV_ROWS, references })
  return { source, references, faultsOf: csvFaultsOf }
}

function orInvalidSettings<T>(work: Promise<T>): Promise<T> {
  return orInvalidRows(work, ({ errors }) => faultsWithin('', errors))
}

async function orInvalidRows<T>(work: Promise<T>, faults: BodyRows['faultsOf']): Promise<T> {
  try {
    return await work
  } catch (err) {
    if (!(err instanceof InvalidRowsError)) throw err
    throw invalidRows(err.invalid.rows.flatMap(faults), err.invalid.errors)
  }
}

function invalidRows(faults: readonly ProblemFault[], all: number): ProblemError {
  const errors = faults.slice(0, SHOWN_ERRORS)
  const listed = errors.length < all ? `, of which ${errors.length} are listed` : ''
  const detail = all === 1 ? errors[0]?.detail : `${all} errors${listed}`
  return new ProblemError('watch.invalid_rows', { detail, pointer: errors[0]?.pointer, errors })
}

function assertListName(list: string): void {
  const fault = nameFault(list)
  if (fault === undefined) return
  throw new ProblemError('request.invalid_parameter', {
    parameter: 'list',
    detail: `a name ${fault}`,
  })
}

/** Saves the settings of watches. */
export const SAVE_WATCH_OPERATIONS = [saveWatches, putOne, changeOne]
