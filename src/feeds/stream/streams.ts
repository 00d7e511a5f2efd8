import type { Logger } from '../../platform/base/logger.ts'
import type { Db } from '../../platform/db/database.ts'
import type { FeedHeads, OperatorFeed } from '../feed-heads.ts'
import { createEventStreams, type EventStreams, type EventStreamsOptions } from './event-streams.ts'
import { createFeedTails, type FeedTails } from './feed-tail.ts'
import { readOperatorPage } from './operator-feeds.ts'
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
  readonly feedHeads: Pick<FeedHeads, 'watch'>
  readonly log: Logger
  /** What operators see in addition to the feeds. */
  readonly states: StateReaders
}

export function createStreams({ db, feedHeads, log, states, ...options }: StreamsDeps): Streams {
  const watchTails = createFeedTails<number, WatchValue>({
    readPage: (resellerId, after) => readWatchPage(db, resellerId, { after, filter: {} }),
    heads: feedHeads,
    log,
  })
  const operatorTails = createFeedTails<OperatorFeed, undefined>({
    readPage: (feed, after) => readOperatorPage(db, feed, after),
    heads: feedHeads,
    log,
  })
  const presentState = createPresentState({ readers: states, log })
  const events = createEventStreams({
    ...options,
    onFailure: (err) => log.error({ err }, 'an event stream failed'),
  })
  return {
    ...events,
    watchTails,
    operatorTails,
    presentState,
    close: () => {
      events.close()
      presentState.close()
    },
  }
}
