import { messageOf } from '../../platform/base/errors.ts'
import type { Logger } from '../../platform/base/logger.ts'
import type { Db } from '../../platform/db/database.ts'
import { readFeedBounds } from '../feed-bounds.ts'
import type { FeedHeads, OperatorFeed } from '../feed-heads.ts'
import { readAvailabilityChanges, readRouteChanges } from '../operator-feed-queries.ts'
import {
  type FeedSource,
  readPageWithin,
  readWatchFeedBounds,
  type WatchChangeFilter,
  type WatchValue,
} from '../watch-feed-queries.ts'
import { createEventStreams, type EventStreams, type EventStreamsOptions } from './event-streams.ts'
import { eventText, type FeedText } from './feed-cursor.ts'
import { createFeedTails, type FeedTails, PAGE_RECORDS, type RecordPage } from './feed-tail.ts'

/** The event streams of a process, and what they share. */
export interface Streams extends EventStreams {
  /** By the id of the reseller. */
  readonly watchTails: FeedTails<number, WatchValue>
  readonly operatorTails: FeedTails<OperatorFeed, undefined>
  readonly presentState: PresentState
}

export interface StreamsDeps extends Omit<EventStreamsOptions, 'onFailure'>, FeedSource {
  readonly feedHeads: Pick<FeedHeads, 'watch'>
  readonly log: Logger
  /** What operators see in addition to the feeds. */
  readonly states: StateReaders
}

export function createStreams(deps: StreamsDeps): Streams {
  const { db, publicUrl, feedHeads, log, states, ...options } = deps
  const watchTails = createFeedTails<number, WatchValue>({
    readPage: (resellerId, after) =>
      readWatchPage({ db, publicUrl }, resellerId, { after, filter: {} }),
    heads: feedHeads,
    log,
  })
  const operatorTails = createFeedTails<OperatorFeed, undefined>({
    readPage: (feed, after) => readOperatorPage(db, feed, after),
    heads: feedHeads,
    log,
  })
  const presentState = createPresentState(states, log)
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

/** Reads the present state of something, by the name of its event. */
export type StateReaders = Readonly<Record<string, () => Promise<unknown>>>

/** The present state of what has no feed, as events: once after a connect, and after each change. */
interface PresentState {
  join(onChanged: () => void): {
    /** The states that are new since the last call. */
    readonly texts: () => readonly FeedText[]
    readonly leave: () => void
  }
  close(): void
}

/** How often the states are read while a stream is open. */
const EVERY_MS = 1_000

/** Reads the states once for all streams of this process, and not at all while there are none. */
function createPresentState(readers: StateReaders, log: Logger): PresentState {
  const members = new Set<() => void>()
  const states = new Map<string, string>()
  let isReading = false

  const read = async () => {
    if (isReading || members.size === 0) return
    isReading = true
    try {
      for (const [name, reader] of Object.entries(readers)) {
        const json = JSON.stringify(await reader())
        if (states.get(name) === json) continue
        states.set(name, json)
        for (const onChanged of [...members]) onChanged()
      }
    } catch (err) {
      log.warn({ reason: messageOf(err) }, 'the present state could not be read for streams')
    } finally {
      isReading = false
    }
  }
  const timer = setInterval(() => void read(), EVERY_MS).unref()
  return {
    join: (onChanged) => {
      const sent = new Map<string, string>()
      if (members.size === 0) states.clear()
      members.add(onChanged)
      void read()
      return {
        texts: () => {
          const changed = [...states].filter(([name, json]) => sent.get(name) !== json)
          for (const [name, json] of changed) sent.set(name, json)
          return changed.map(([name, json]) => ({ events: 1, text: eventText(name, json) }))
        },
        leave: () => void members.delete(onChanged),
      }
    },
    close: () => clearInterval(timer),
  }
}

/** One page of a feed, for streams. */
async function readOperatorPage(
  db: Db,
  feed: OperatorFeed,
  after: number,
): Promise<RecordPage<undefined>> {
  const bounds = await readFeedBounds(db, feed)
  const { head } = bounds
  if (after >= head) return { ...bounds, records: [], seq: after }
  const changes =
    feed === 'route'
      ? (await readRouteChanges(db, { after, through: head, limit: PAGE_RECORDS })).changes
      : await readAvailabilityChanges(db, { after, limit: PAGE_RECORDS })
  const records = changes.map((change) => {
    const { seq, kind } = change
    return { seq, kind, json: JSON.stringify(change), value: undefined }
  })
  const seq = records.length < PAGE_RECORDS ? head : 0
  return { ...bounds, records, seq: Math.max(seq, records.at(-1)?.seq ?? 0) }
}

/** One page of a reseller's feed, for streams. */
export async function readWatchPage(
  source: FeedSource,
  resellerId: number,
  { after, filter }: { readonly after: number; readonly filter: WatchChangeFilter },
): Promise<RecordPage<WatchValue>> {
  const bounds = await readWatchFeedBounds(source.db, resellerId)
  const page = { resellerId, after, limit: PAGE_RECORDS, filter }
  const { items, seq } = await readPageWithin(source, bounds, page)
  const records = items.map(({ previous: _previous, ...change }) => {
    const { kind, list, reference, flightId, returnFlightId } = change
    const value = { kind, list, reference, flightId, returnFlightId }
    return { seq: change.seq, kind, json: JSON.stringify(change), value }
  })
  return { ...bounds, records, seq }
}
