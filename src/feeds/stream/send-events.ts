import { setTimeout as delay } from 'node:timers/promises'
import { isDatabaseUnavailable } from '../../platform/db/database-health.ts'
import type { EventStream } from '../../platform/http/event-stream.ts'
import type { FeedCursor, FeedText, NextTexts } from './feed-cursor.ts'

/** What a stream sends. */
export interface Feeds {
  readonly cursors: readonly FeedCursor[]
  /** The id of an event after which the client has all records up to these positions. */
  readonly idOf: (positions: readonly number[]) => string
  /** Events about no record that are new since the last call. */
  readonly otherTexts?: () => readonly FeedText[]
}

export interface SenderOptions {
  /** Called with a number of events that were sent. */
  readonly onSent: (events: number) => void
  /** Called with an error of ours, after which nothing is sent. */
  readonly onFailure: (err: unknown) => void
  /** Whether the stream goes on when everything is sent. */
  readonly lasting: boolean
}

/** Sends the events of feeds on one stream. */
export interface Sender {
  /** Sends what is new. */
  notify(): void
  /** Sends what is new and a heartbeat. With the first one the client gets its first id. */
  beat(): void
}

interface SenderState {
  isSending: boolean
  mayHaveMore: boolean
  isBeatDue: boolean
}

/** A page that could not be read because the database is unavailable is read again after this time. */
const READ_AGAIN_MS = 1_000

/**
 * Sends the next batch when the client has read the one before, so a stream holds one batch at most. A stream with nothing to
 * send holds no promise: a thousand of them cost no work and little memory.
 */
export function createSender(stream: EventStream, feeds: Feeds, options: SenderOptions): Sender {
  const client = { positions: feeds.cursors.map((cursor) => cursor.position()), id: '' }
  const state: SenderState = { isSending: false, mayHaveMore: false, isBeatDue: false }

  const sendBatch = async () => {
    state.mayHaveMore = false
    const batch = await nextBatch(feeds, client)
    if (state.isBeatDue) batch.parts.push(idText(feeds, client))
    state.isBeatDue = false
    if (batch.parts.length > 0 && !(await stream.send(batch.parts))) return
    options.onSent(batch.events)
    if (batch.over) stream.end('failed')
    state.mayHaveMore ||= !batch.caughtUp
    if (!(options.lasting || state.mayHaveMore)) stream.end('client')
  }
  const send = async () => {
    if (state.isSending) return
    state.isSending = true
    try {
      while (state.mayHaveMore && !stream.hasEnded()) await sendBatch()
    } catch (err) {
      options.onFailure(err)
    } finally {
      state.isSending = false
    }
  }
  const notify = () => {
    state.mayHaveMore = true
    void send()
  }
  const beat = () => {
    state.isBeatDue = true
    notify()
  }
  return { notify, beat }
}

/** What the client has: the positions in the feeds, and the last id. */
interface ClientState {
  readonly positions: number[]
  id: string
}

interface Batch {
  readonly parts: (string | Buffer)[]
  events: number
  caughtUp: boolean
  over: boolean
}

async function nextBatch(
  { cursors, idOf, otherTexts }: Feeds,
  client: ClientState,
): Promise<Batch> {
  const others = otherTexts?.() ?? []
  const batch: Batch = {
    parts: others.map(({ text }) => text),
    events: others.length,
    caughtUp: true,
    over: false,
  }
  for (const [i, cursor] of cursors.entries()) {
    const { texts, caughtUp, over } = await nextTexts(cursor)
    for (const { seq, hasIds, text, events } of texts) {
      if (seq !== undefined) {
        client.positions[i] = seq
        client.id = idOf(client.positions)
        if (hasIds !== true) batch.parts.push(`id: ${client.id}\n`)
      }
      batch.parts.push(text)
      batch.events += events
    }
    client.positions[i] = cursor.position()
    batch.caughtUp &&= caughtUp
    batch.over ||= over
  }
  return batch
}

async function nextTexts(cursor: FeedCursor): Promise<NextTexts> {
  try {
    return await cursor.next()
  } catch (err) {
    if (!isDatabaseUnavailable(err)) throw err
    await delay(READ_AGAIN_MS, undefined, { ref: false })
    return { texts: [], caughtUp: false, over: false }
  }
}

/**
 * The heartbeat: a comment, or the client's new id where records were read that do not pass its filter. A block without
 * data is no event, but a client that connects again sends its id.
 */
function idText({ idOf }: Feeds, client: ClientState): string {
  const id = idOf(client.positions)
  if (id === client.id) return ':\n\n'
  client.id = id
  return `id: ${id}\n\n`
}
