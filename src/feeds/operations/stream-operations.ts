import { Type } from 'typebox'
import { answerHead, readLastEventId } from '../../platform/http/event-stream.ts'
import { operations } from '../../platform/http/operation.ts'
import { ProblemError } from '../../platform/http/problems.ts'
import { MAX_WHOLE_NUMBER, object } from '../../platform/http/schemas.ts'
import { FILTERS } from '../change-shapes.ts'
import { type FeedBounds, findFault, readFeedBounds, startAfter } from '../feed-bounds.ts'
import { OPERATOR_FEEDS } from '../feed-heads.ts'
import { readAvailabilityPage, readRoutePage } from '../operator-feed-queries.ts'
import type { Streams } from '../stream/streams.ts'
import { type FeedSource, readFeedPage } from '../watch-feed-queries.ts'

const { operator, reseller } = operations<FeedSource & { readonly streams: Streams }>()

const RECORD_ID = /^\d{1,15}$/

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
    '`problem` says why the stream ends. The server cuts off a client that reads too slowly.',
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
  problems: ['changes.beyond_head', 'changes.restored', 'changes.archived'],
  example: { query: { after: '0' } },
  handler: async (
    { db, publicUrl, resellerId, streams },
    { query, request, reply, reauthorize },
  ) => {
    const { after: given, ...filter } = query
    const lastId = readLastEventId(request, RECORD_ID, 'a number such as 42')
    const wanted = lastId === undefined ? given : Number(lastId)
    const bounds = await readFeedBounds(db, resellerId, wanted)
    const after = startAfter(bounds, wanted, lastId === undefined ? 'after' : 'Last-Event-ID')
    if (request.method === 'HEAD') return answerHead(reply)
    // The key may have been revoked since it was checked. From here to `follow` nothing waits.
    await reauthorize()
    const source = { db, publicUrl }
    streams.follow(reply, () => ({
      name: 'watch_changes',
      reauthorize,
      feeds: [
        {
          feed: resellerId,
          filter,
          after,
          head: bounds.head,
          readPage: (position, limit) =>
            readFeedPage(source, { resellerId, after: position, limit, filter }),
        },
      ],
      idOf: ([position]) => String(position),
    }))
    return reply
  },
})

/** The stream of a reseller's feed. */
export const WATCH_STREAM_OPERATIONS = [followChanges]

const POSITION_ID = /^r(\d{1,15})\.f(\d{1,15})$/

const followAll = operator({
  id: 'streamChanges',
  method: 'GET',
  path: '/api/v1/changes/stream',
  tag: 'Operators',
  summary: 'Follow all changes of routes and fares as Server-Sent Events',
  description:
    'The ids are positions in both feeds, `r<seq>.f<seq>`: routes and places, and fares. The name of an event is the kind of ' +
    'its record. The data of a route change is the record as `/route-changes` shows it. Events `incidents` (the open ones) ' +
    'and `runs` (the last ten) have no id: they show the present state after each connect and after each change. An event ' +
    '`problem` says why the stream ends.',
  scope: 'operate',
  streams: true,
  query: object({
    after: Type.Optional(
      Type.String({
        pattern: POSITION_ID.source,
        description:
          'The position after which the stream begins: `r0.f0` is the start. Default: the present. The header ' +
          '`Last-Event-ID` takes precedence.',
      }),
    ),
  }),
  answer: { about: 'Events without end.', type: 'text/event-stream' },
  problems: ['changes.beyond_head', 'changes.restored', 'changes.archived'],
  example: { query: { after: 'r0.f0' } },
  handler: async ({ db, streams }, { query, request, reply, reauthorize }) => {
    const lastId = readLastEventId(request, POSITION_ID, 'a position such as r42.f7')
    const wanted = positionsOf(lastId ?? query.after)
    const bounds = await Promise.all(
      OPERATOR_FEEDS.map((feed, i) => readFeedBounds(db, feed, wanted?.[i])),
    )
    const positions = wanted ?? bounds.map(({ head }) => head)
    assertWithin(bounds, positions, lastId === undefined ? 'after' : 'Last-Event-ID')
    if (request.method === 'HEAD') return answerHead(reply)
    // The key may have been revoked since it was checked. From here to `follow` nothing waits.
    await reauthorize()
    streams.follow(reply, (notify) => {
      const state = streams.presentState.join(notify)
      const feeds = OPERATOR_FEEDS.map((feed, i) => ({
        feed,
        filter: {},
        after: positions[i] ?? 0,
        head: bounds[i]?.head ?? 0,
        readPage: (after: number, limit: number) => READ_PAGE[feed](db, { after, limit }),
      }))
      return {
        name: 'changes',
        reauthorize,
        feeds,
        idOf,
        newStates: state.texts,
        leave: state.leave,
      }
    })
    return reply
  },
})

const READ_PAGE = { route: readRoutePage, availability: readAvailabilityPage }

/** As `startAfter`, for a position in all feeds. */
function assertWithin(
  bounds: readonly FeedBounds[],
  positions: readonly number[],
  parameter: string,
): void {
  const faults = bounds.map((feed, i) => findFault(feed, positions[i] ?? 0))
  const fault = faults.find((found) => found !== undefined)
  if (fault === undefined) return
  const nearest = idOf(positions.map((position, i) => faults[i]?.continueAfter ?? position))
  throw new ProblemError(fault.code, {
    parameter,
    detail: `the feeds do not have the position. Read what you show again, then go on after ${nearest}`,
  })
}

function positionsOf(id: string | undefined): number[] | undefined {
  const match = POSITION_ID.exec(id ?? '')
  return match === null ? undefined : match.slice(1).map(Number)
}

function idOf([routes, fares]: readonly number[]): string {
  return `r${routes}.f${fares}`
}

/** The stream of all feeds, for operators. */
export const OPERATOR_STREAM_OPERATIONS = [followAll]
