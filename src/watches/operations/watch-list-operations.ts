import { Type } from 'typebox'
import { nameFault, quote } from '../../platform/base/text.ts'
import type { Db, Tenant } from '../../platform/db/database.ts'
import { inTransaction } from '../../platform/db/transaction.ts'
import { operations } from '../../platform/http/operation.ts'
import { cursorsOf, pageOf, pageParameters } from '../../platform/http/pages.ts'
import { ProblemError } from '../../platform/http/problems.ts'
import { Instant, object } from '../../platform/http/schemas.ts'
import { lockWatchesOf } from '../../resellers/resellers.ts'
import {
  type ChangeOutcome,
  deleteWatches,
  pauseWatches,
  resumeWatches,
  UnknownReferencesError,
  type WatchSelection,
} from '../change-watches.ts'
import {
  createWatchList,
  listWatchLists,
  renameWatchList,
  requireWatchList,
  UnknownWatchListError,
  type WatchPosition,
} from '../watch-lists.ts'

const { reseller } = operations<{ readonly db: Db }>()

const TAG = 'Watch lists'
/** How many references one request may name. */
const MAX_REFERENCES = 5_000

/** The path of a list is its name, which the reseller chose: it reveals nothing about other resellers' lists. */
export const ListParams = object({
  list: Type.String({ minLength: 1, maxLength: 200, description: 'The name of the list.' }),
})

const Name = object({
  name: Type.String({ description: 'Up to 200 characters, without control characters.' }),
})

const WatchList = object(
  {
    name: Type.String(),
    createdAt: Instant,
    watches: Type.Integer(),
    paused: Type.Integer({ description: 'How many of the watches are paused.' }),
    ended: Type.Integer({
      description: 'How many of the watches have expired and are not paused.',
    }),
  },
  { title: 'WatchList' },
)

const Selection = object({
  references: Type.Optional(
    Type.Array(Type.String(), {
      minItems: 1,
      maxItems: MAX_REFERENCES,
      description: 'Only these watches. Without it, all watches of the list.',
    }),
  ),
})

const Changed = object({
  watches: Type.Integer({
    description: 'How many watches were changed. The others were already in this state.',
  }),
})

/** Locks the lists and watches of a reseller until the transaction ends. */
export function lockOwnWatches({ db, resellerId }: Tenant): Promise<void> {
  return inTransaction(db, (tx) => lockWatchesOf(tx, resellerId))
}

const SUMMER = { list: 'summer' }
const NamePosition = Type.String({ maxLength: 200 })
const cursors = cursorsOf('watch-lists', NamePosition, ({ name }: { name: string }) => name)

const listLists = reseller({
  id: 'listWatchLists',
  method: 'GET',
  path: '/api/v1/watch-lists',
  tag: TAG,
  summary: 'List your watch lists by name',
  scope: 'read',
  query: object(pageParameters({ preset: 100, max: 1000 })),
  answer: { about: 'A page of watch lists.', schema: pageOf(WatchList) },
  problems: ['request.invalid_cursor'],
  handler: ({ db, resellerId, resellerName }, { query }) =>
    cursors.page(query, (page) => listWatchLists({ db, resellerId }, page), resellerName),
})

const makeList = reseller({
  id: 'createWatchList',
  method: 'POST',
  repeatable: true,
  path: '/api/v1/watch-lists',
  tag: TAG,
  summary: 'Create an empty watch list',
  scope: 'watch',
  body: Name,
  answer: {
    about: 'The list.',
    status: 201,
    schema: WatchList,
    location: '/api/v1/watch-lists/{name}',
  },
  problems: ['watch.duplicate_list'],
  example: { body: { name: 'autumn' } },
  handler: async ({ db, resellerId }, { body: { name } }) => {
    assertName(name)
    return createWatchList({ db, resellerId }, name)
  },
})

const readList = reseller({
  id: 'readWatchList',
  method: 'GET',
  path: '/api/v1/watch-lists/{list}',
  tag: TAG,
  summary: 'Read a watch list',
  scope: 'read',
  params: ListParams,
  answer: { about: 'The list.', schema: WatchList },
  problems: ['not_found'],
  example: { params: SUMMER },
  handler: ({ db, resellerId }, { params: { list } }) =>
    orNotFound(requireWatchList({ db, resellerId }, list)),
})

const renameList = reseller({
  id: 'updateWatchList',
  method: 'PATCH',
  lock: lockOwnWatches,
  path: '/api/v1/watch-lists/{list}',
  tag: TAG,
  summary: 'Rename a watch list',
  description: 'Its address changes. Its watches and their records stay.',
  scope: 'watch',
  params: ListParams,
  body: Name,
  answer: { about: 'The list under its new name.', schema: WatchList },
  problems: ['not_found', 'watch.duplicate_list'],
  example: { params: SUMMER, body: { name: 'high summer' } },
  handler: async ({ db, resellerId }, { params: { list }, body: { name } }) => {
    assertName(name)
    return orNotFound(renameWatchList({ db, resellerId }, { list, name }))
  },
})

const deleteList = reseller({
  id: 'deleteWatchList',
  method: 'DELETE',
  path: '/api/v1/watch-lists/{list}',
  tag: TAG,
  summary: 'Delete a watch list with its watches',
  description: 'The records of its watches stay in your feed.',
  scope: 'watch',
  params: ListParams,
  answer: { about: 'Deleted.', status: 204 },
  problems: ['not_found'],
  example: { params: SUMMER },
  handler: async ({ db, resellerId }, { params: { list } }) => {
    await orNotFound(deleteWatches(db, { resellerId, list }))
  },
})

/** The handler of what changes the watches of a list, or those that the body names. */
export function changing(change: (db: Db, selection: WatchSelection) => Promise<ChangeOutcome>) {
  return async (
    { db, resellerId }: { readonly db: Db } & Tenant,
    { params: { list }, body: { references } }: SelectedWatches,
  ) => {
    const { watches } = await orNotFound(change(db, { resellerId, list, references }))
    return { watches }
  }
}

interface SelectedWatches {
  readonly params: { readonly list: string }
  readonly body: { readonly references?: string[] }
}

const selected = {
  method: 'POST',
  tag: TAG,
  scope: 'watch',
  params: ListParams,
  body: Selection,
} as const

const pause = reseller({
  ...selected,
  id: 'pauseWatches',
  path: '/api/v1/watch-lists/{list}/pause',
  summary: 'Pause watches: they receive no records and need no checks',
  answer: { about: 'How many watches were paused.', schema: Changed },
  problems: ['not_found'],
  example: { params: SUMMER, body: { references: ['A-1'] } },
  handler: changing(pauseWatches),
})

const resume = reseller({
  ...selected,
  id: 'resumeWatches',
  path: '/api/v1/watch-lists/{list}/resume',
  summary: 'Resume paused watches, and ended ones that are named: they begin again',
  answer: { about: 'How many watches were resumed.', schema: Changed },
  problems: ['not_found', 'resellers.disabled', 'quota.max_delays'],
  example: { params: SUMMER, body: {} },
  handler: changing(resumeWatches),
})

/** A reseller's watch lists. */
export const WATCH_LIST_OPERATIONS = [
  listLists,
  makeList,
  readList,
  renameList,
  deleteList,
  pause,
  resume,
]

function assertName(name: string): void {
  const fault = nameFault(name)
  if (fault === undefined) return
  throw new ProblemError('request.invalid_body', { pointer: '/name', detail: `a name ${fault}` })
}

/**
 * Turns the error that the path names nothing of this reseller into a 404. It names what is missing, which reveals
 * nothing about other resellers.
 */
export async function orNotFound<T>(work: Promise<T>, reference?: string): Promise<T> {
  try {
    return await work
  } catch (err) {
    if (err instanceof UnknownWatchListError) {
      const problem = { missing: 'list', parameter: 'list', detail: err.message } as const
      throw new ProblemError('not_found', problem, { cause: err })
    }
    if (err instanceof UnknownReferencesError && reference !== undefined) {
      throw referenceNotFound(reference, err)
    }
    throw err
  }
}

/** The problem of a path whose watch does not exist. If its list does not, throws the problem of that. */
export async function watchNotFound(
  owner: Tenant,
  { list, reference }: WatchPosition,
): Promise<ProblemError> {
  await orNotFound(requireWatchList(owner, list))
  return referenceNotFound(reference)
}

function referenceNotFound(reference: string, cause?: Error): ProblemError {
  const detail = `the watch list has no watch ${quote(reference)}`
  return new ProblemError(
    'not_found',
    { missing: 'watch', parameter: 'reference', detail },
    { cause },
  )
}
