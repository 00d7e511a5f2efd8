import { Type } from 'typebox'
import type { Db } from '../../platform/db/database.ts'
import { answerHead, readLastEventId } from '../../platform/http/event-stream.ts'
import { operations } from '../../platform/http/operation.ts'
import { ProblemError } from '../../platform/http/problems.ts'
import { object } from '../../platform/http/schemas.ts'
import { OPERATOR_FEEDS } from '../feed-heads.ts'
import { createFeedCursor } from './feed-cursor.ts'
import { boundsOf, readOperatorBounds } from './operator-feeds.ts'
import type { Streams } from './streams.ts'

const { operator } = operations<{ readonly db: Db; readonly streams: Streams }>()

const EVENT_ID = /^r(\d{1,15})\.f(\d{1,15})$/

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
    '`gap` means that records are missing, an event `problem` says why the stream ends.',
  scope: 'operate',
  streams: true,
  query: object({
    after: Type.Optional(
      Type.String({
        pattern: EVENT_ID.source,
        description:
          'The position after which the stream begins: `r0.f0` is the start. Default: the present. The header ' +
          '`Last-Event-ID` takes precedence.',
      }),
    ),
  }),
  answer: { about: 'Events without end.', type: 'text/event-stream' },
  problems: ['changes.beyond_head', 'changes.archived'],
  example: { query: { after: 'r0.f0' } },
  handler: async ({ db, streams }, { query, request, reply, reauthorize }) => {
    const lastId = readLastEventId(request, EVENT_ID, 'a position such as r42.f7')
    const known = await readOperatorBounds(db)
    const bounds = OPERATOR_FEEDS.map((feed) => boundsOf(known, feed))
    const headsInOrder = bounds.map(({ head }) => head)
    const parameter = lastId === undefined ? 'after' : 'Last-Event-ID'
    const positions = positionsOf(lastId ?? query.after) ?? headsInOrder
    if (positions.some((position, i) => position > (headsInOrder[i] ?? 0))) {
      throw new ProblemError('changes.beyond_head', {
        parameter,
        detail: `the position is beyond the last numbers of the feeds, ${idOf(headsInOrder)}`,
      })
    }
    if (positions.some((position, i) => position < (bounds[i]?.first ?? 1) - 1)) {
      const begin = idOf(bounds.map(({ first }) => first - 1))
      throw new ProblemError('changes.archived', {
        parameter,
        detail: `the feeds begin after ${begin}: earlier records are archived`,
      })
    }
    if (request.method === 'HEAD') return answerHead(reply)
    // The key may have been revoked since it was checked. From here to `follow` nothing waits.
    await reauthorize()
    streams.follow(reply, (notify) => {
      const state = streams.presentState.join(notify)
      const tails = OPERATOR_FEEDS.map((feed, i) =>
        streams.operatorTails.join(feed, headsInOrder[i] ?? 0, notify),
      )
      const cursors = OPERATOR_FEEDS.map((feed, i) =>
        createFeedCursor({
          tail: tails[i] as (typeof tails)[number],
          after: positions[i] ?? 0,
          readPage: (after) => streams.operatorTails.readBacklog(feed, after),
        }),
      )
      const leave = () => {
        state.leave()
        for (const tail of tails) tail.leave()
      }
      return { name: 'changes', reauthorize, cursors, idOf, otherTexts: state.texts, leave }
    })
    return reply
  },
})

function positionsOf(id: string | undefined): number[] | undefined {
  const match = EVENT_ID.exec(id ?? '')
  return match === null ? undefined : match.slice(1).map(Number)
}

function idOf([routes, fares]: readonly number[]): string {
  return `r${routes}.f${fares}`
}

/** The stream of all feeds, for operators. */
export const OPERATOR_STREAM_OPERATIONS = [followAll]
