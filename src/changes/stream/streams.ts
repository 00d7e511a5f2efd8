import type { Logger } from '../../base/logger.ts'
import type { Db } from '../../db/database.ts'
import type { Listener } from '../../db/listener.ts'
import { readFeedHeads } from '../watch-feed-queries.ts'
import { createEventStreams, type EventStreams, type EventStreamsOptions } from './event-streams.ts'
import { createFeedTails, type FeedTails } from './feed-tail.ts'
import { type OperatorFeed, readOperatorHeads, readOperatorPage } from './operator-feeds.ts'
import { createPresentState, type PresentState, type StateReaders } from './present-state.ts'
import { readWatchPage, type WatchValue } from './watch-cursor.ts'

/** The event streams of a process, and what they share. */
export interface Streams extends EventStreams {
  /** By the id of the reseller. */
  readonly watchTails: FeedTails<number, WatchValue>
  readonly operatorTails: FeedTails<OperatorFeed, undefined>
  readonly presentState: PresentState
}

export interface StreamsDeps extends Omit<EventStreamsOptions, 'onFailure'> {
  readonly db: Db
  readonly listener: Pick<Listener, 'subscribe'>
  readonly log: Logger
  /** What operators see in addition to the feeds. */
  readonly states: StateReaders
}

export function createStreams({ db, listener, log, states, ...options }: StreamsDeps): Streams {
  const watchTails = createFeedTails<number, WatchValue>({
    readPage: (resellerId, after) => readWatchPage(db, resellerId, { after, filter: {} }),
    readHeads: (resellerIds) => readFeedHeads(db, resellerIds),
    log,
  })
  const operatorTails = createFeedTails<OperatorFeed, undefined>({
    readPage: (feed, after) => readOperatorPage(db, feed, after),
    readHeads: () => readOperatorHeads(db),
    log,
  })
  const presentState = createPresentState({ readers: states, log })
  const events = createEventStreams({
    ...options,
    onFailure: (err) => log.error({ err }, 'an event stream failed'),
  })
  const subscriptions = [
    listener.subscribe('watch', watchTails.readNow),
    listener.subscribe('route', () => operatorTails.readNow('route')),
    listener.subscribe('availability', () => operatorTails.readNow('availability')),
  ]
  return {
    ...events,
    watchTails,
    operatorTails,
    presentState,
    close: () => {
      events.close()
      for (const part of [watchTails, operatorTails, presentState]) part.close()
      for (const unsubscribe of subscriptions) unsubscribe()
    },
  }
}
