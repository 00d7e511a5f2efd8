import { Type } from 'typebox'
import type { Db } from '../../platform/db/database.ts'
import { operations } from '../../platform/http/operation.ts'
import { Instant, instant, object, orNull } from '../../platform/http/schemas.ts'
import type { Question } from '../../upstream/question.ts'
import { QUESTION_MEMBERS } from '../../upstream/question-shapes.ts'
import { deleteWatches } from '../change-watches.ts'
import type { Watch } from '../watch-lists.ts'
import { SETTING_MEMBERS } from './setting-shapes.ts'
import { changing, ListParams, orNotFound } from './watch-list-operations.ts'

/** The path of a watch: the reseller's names for the list and the watch. */
export const WatchParams = object({
  ...ListParams.properties,
  reference: Type.String({
    minLength: 1,
    maxLength: 200,
    description: 'Your name for the watch.',
  }),
})

const { flightId, returnFlightId, ...terms } = QUESTION_MEMBERS
const MAYBE_TERMS = Object.fromEntries(
  Object.entries(terms).map(([name, schema]) => [name, orNull(schema)]),
) as { [K in keyof typeof terms]: ReturnType<typeof orNull<(typeof terms)[K]>> }

/** The settings of a watch, and when they began to apply. */
export const watchMembers = {
  list: Type.String(),
  reference: Type.String(),
  watchId: Type.String({
    format: 'uuid',
    description: 'Identifies the watch in the records of your feed. It never changes.',
  }),
  flightId: orNull(flightId, 'Null, as the rest of the question, in a watch of a route.'),
  returnFlightId,
  ...MAYBE_TERMS,
  ...SETTING_MEMBERS,
  createdAt: Instant,
  beganAt: instant(
    'When the watch last began: when it was added or resumed, or when its question changed.',
  ),
  pausedAt: orNull(Instant),
}

const NO_QUESTION = Object.fromEntries(
  Object.keys(QUESTION_MEMBERS).map((name) => [name, null]),
) as Record<keyof Question, null>

/** Converts a watch to these members. */
export function settingsOf({ id, entry, createdAt, beganAt, pausedAt }: Watch) {
  const { question, list, reference, ...settings } = entry
  const own = question ?? NO_QUESTION
  return { list, reference, watchId: id, ...own, ...settings, createdAt, beganAt, pausedAt }
}

const { reseller } = operations<{ readonly db: Db }>()

const TAG = 'Watches'
/** How many watches one request may delete. */
const MAX_REFERENCES = 5_000

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
    await orNotFound(deleteWatches(db, selection), reference)
  },
})

const deleteMany = reseller({
  id: 'deleteWatches',
  method: 'POST',
  path: '/api/v1/watch-lists/{list}/delete',
  tag: TAG,
  summary: 'Delete watches of a list by their references',
  description: 'All of them or none. Their records stay in your feed, and the list stays.',
  scope: 'watch',
  params: ListParams,
  body: object({
    references: Type.Array(Type.String(), { minItems: 1, maxItems: MAX_REFERENCES }),
  }),
  answer: {
    about: 'How many watches were deleted.',
    schema: object({ watches: Type.Integer() }),
  },
  problems: ['not_found'],
  example: { params: { list: 'summer' }, body: { references: ['A-1'] } },
  handler: changing(deleteWatches),
})

/** The deletion of watches. */
export const WATCH_OPERATIONS = [deleteWatch, deleteMany]
