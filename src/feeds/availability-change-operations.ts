import { Type } from 'typebox'
import { AVAILABILITY_CHANGE_KINDS, CHANGE_REASONS } from '../platform/base/kinds.ts'
import type { Db } from '../platform/db/database.ts'
import { operations } from '../platform/http/operation.ts'
import { ProblemError } from '../platform/http/problems.ts'
import {
  Instant,
  MAX_WHOLE_NUMBER,
  object,
  oneOf,
  orNull,
  RowId,
} from '../platform/http/schemas.ts'
import {
  findChangeEvidence,
  findWatchChangeEvidence,
  readAvailabilityChanges,
} from './availability-feed.ts'
import { readFeedBounds, startAfter } from './feed-bounds.ts'
import { AfterParameter, Belief, FirstNumber } from './watch-change-operations.ts'

const { operator, reseller } = operations<{ readonly db: Db }>()

/** A record of the feed of all fares. */
export const AvailabilityChange = object(
  {
    seq: Type.Integer({ description: 'The number of the record. Numbers have no gaps.' }),
    id: Type.String({ format: 'uuid' }),
    kind: oneOf(AVAILABILITY_CHANGE_KINDS, { title: 'AvailabilityChangeKind' }),
    reason: orNull(oneOf(CHANGE_REASONS, { title: 'ChangeReason' })),
    fareId: RowId,
    flightId: Type.String(),
    returnFlightId: orNull(Type.String()),
    before: Type.Unsafe<unknown>(Belief),
    after: Type.Unsafe<unknown>(Belief),
    lastGoodCheckAt: orNull(Instant, 'The change happened after this instant. Null if unknown.'),
    detectedAt: Instant,
    heldSince: orNull(Instant, 'Since when a mass of such changes held it. Null if none did.'),
    recordedAt: Instant,
  },
  { title: 'AvailabilityChange' },
)

const Evidence = object(
  {
    status: orNull(
      Type.Integer(),
      'The HTTP status of the answer. Null if the record follows from no answer, such as the end of a fare.',
    ),
    latencyMs: orNull(Type.Number()),
    answer: orNull(
      Type.String(),
      'The answer as text, without credentials. Null if there was none, or if it is older than 90 days.',
    ),
  },
  { title: 'ChangeEvidence' },
)

const Seq = Type.Integer({ minimum: 1, maximum: MAX_WHOLE_NUMBER })
export const RecordParams = object({ seq: Seq })

const list = operator({
  id: 'listAvailabilityChanges',
  method: 'GET',
  path: '/api/v1/availability-changes',
  tag: 'Operators',
  summary: 'List the changes of all fares, oldest first',
  description:
    'Pass the `seq` of the response as `after` of the next request. `/changes/stream` sends the same records.',
  scope: 'operate',
  query: object({
    after: AfterParameter,
    limit: Type.Integer({
      minimum: 1,
      maximum: 1000,
      default: 100,
      description: 'The maximum number of items on the page.',
    }),
  }),
  answer: {
    about: 'The records after a number, oldest first.',
    schema: object({
      items: Type.Array(AvailabilityChange),
      seq: Type.Integer({
        description: 'The `after` of the next request. All records up to it were read.',
      }),
      first: FirstNumber,
      head: Type.Integer({ description: 'The number of the last record of the feed.' }),
    }),
  },
  problems: ['changes.beyond_head', 'changes.archived'],
  example: { query: { after: '0', limit: '1' } },
  handler: async ({ db }, { query: { after: given, limit } }) => {
    // The head is read first: every record up to it is committed.
    const { first, head } = await readFeedBounds(db, 'availability')
    const after = startAfter({ first, head }, given)
    const items = await readAvailabilityChanges(db, { after, limit })
    const seq = items.at(-1)?.seq ?? after
    return { items, seq, first, head: Math.max(head, seq) }
  },
})

const evidence = operator({
  id: 'readAvailabilityChangeEvidence',
  method: 'GET',
  path: '/api/v1/availability-changes/{seq}/evidence',
  tag: 'Operators',
  summary: 'Read the upstream’s answer that a change was decided on',
  scope: 'operate',
  params: RecordParams,
  answer: { about: 'The answer and how it came.', schema: Evidence },
  problems: ['not_found'],
  example: { params: { seq: '1' } },
  handler: async ({ db }, { params: { seq } }) =>
    (await findChangeEvidence(db, seq)) ?? noRecord(seq),
})

const watchEvidence = reseller({
  id: 'readWatchChangeEvidence',
  method: 'GET',
  path: '/api/v1/watch-changes/{seq}/evidence',
  tag: 'Changes',
  summary: 'Read the upstream’s answer that a record was decided on',
  scope: 'read',
  params: RecordParams,
  answer: { about: 'The answer and how it came.', schema: Evidence },
  problems: ['not_found'],
  example: { params: { seq: '1' } },
  handler: async ({ db, resellerId }, { params: { seq } }) =>
    (await findWatchChangeEvidence(db, resellerId, seq)) ?? noRecord(seq),
})

function noRecord(seq: number): never {
  throw new ProblemError('not_found', {
    parameter: 'seq',
    detail: `the feed has no record ${seq}`,
  })
}

/** The changes of all fares, and the evidence of records. */
export const AVAILABILITY_CHANGE_OPERATIONS = [list, evidence, watchEvidence]
