import { Type } from 'typebox'
import type { Db } from '../../platform/db/database.ts'
import { answerHead, readLastEventId } from '../../platform/http/event-stream.ts'
import { operations } from '../../platform/http/operation.ts'
import { MAX_WHOLE_NUMBER, object } from '../../platform/http/schemas.ts'
import { startAfter } from '../feed-bounds.ts'
import { FILTERS } from '../watch-change-operations.ts'
import { readWatchFeedBounds } from '../watch-feed-queries.ts'
import type { Streams } from './streams.ts'
import { createWatchCursor } from './watch-cursor.ts'

export interface WatchStreamDeps {
  readonly db: Db
  readonly streams: Streams
}

const { reseller } = operations<WatchStreamDeps>()

const EVENT_ID = /^\d{1,15}$/

const followChanges = reseller({
  id: 'streamWatchChanges',
  method: 'GET',
  path: '/api/v1/watch-changes/stream',
  tag: 'Changes',
  summary: 'Follow the changes of your watches as Server-Sent Events',
  description:
    'Each event has the `seq` of a record as its id, the kind as its name, and as its data the record as `/watch-changes` ' +
    'shows it. First come the records after the given number, then each further one when it is committed. A client that ' +
    'connects again sends the last id in the header `Last-Event-ID`. A block without data only moves the id. An event ' +
    '`gap` means that records are missing, an event `problem` says why the stream ends. The server cuts off a client that ' +
    'reads too slowly.',
  scope: 'read',
  streams: true,
  query: object({
    after: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: MAX_WHOLE_NUMBER,
        description:
          'The number after which the stream begins. Default: before the first record that the feed still has. The header ' +
          '`Last-Event-ID` takes precedence.',
      }),
    ),
    ...FILTERS,
  }),
  answer: { about: 'Events without end.', type: 'text/event-stream' },
  problems: ['changes.beyond_head', 'changes.archived'],
  example: { query: { after: '0' } },
  handler: async ({ db, resellerId, streams }, { query, request, reply, reauthorize }) => {
    const { after: given, ...filter } = query
    const lastId = readLastEventId(request, EVENT_ID, 'a number such as 42')
    const bounds = await readWatchFeedBounds(db, resellerId)
    const after =
      lastId === undefined
        ? startAfter(bounds, given)
        : startAfter(bounds, Number(lastId), 'Last-Event-ID')
    if (request.method === 'HEAD') return answerHead(reply)
    // The key may have been revoked since it was checked. From here to `follow` nothing waits.
    await reauthorize()
    streams.follow(reply, (notify) => {
      const { watchTails: tails } = streams
      const tail = tails.join(resellerId, bounds.head, notify)
      const cursor = createWatchCursor(db, { resellerId, after, filter, tail, tails })
      return {
        name: 'watch_changes',
        reauthorize,
        cursors: [cursor],
        idOf: ([position]) => String(position),
        leave: tail.leave,
      }
    })
    return reply
  },
})

/** The stream of a reseller's feed. */
export const WATCH_STREAM_OPERATIONS = [followChanges]
