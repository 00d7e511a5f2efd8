import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { backoffMs, endsWithin } from '../base/clock.ts'
import { messageOf } from '../base/errors.ts'
import type { Logger } from '../base/logger.ts'
import { takeServerOptions } from '../base/server-options.ts'
import { type RawBuilder, sql } from './database.ts'

/**
 * What a notification is about: a feed that has grown (`watch`: of the reseller with the id), a key that was revoked,
 * fares that may be due sooner (`due`), a list that was made due (`schedule`), or the health of the upstream
 * (`upstream`).
 */
export type Topic = 'watch' | 'route' | 'availability' | 'key' | 'due' | 'schedule' | 'upstream'

/** @param id the id of the notification; undefined if it has none, and after each connect. */
type OnNotify = (id?: number) => void

/** Receives the notifications of committed transactions over one connection of its own. */
export interface Listener {
  /**
   * Calls `onNotify` after each commit with a notification of the topic, and after each connect, because
   * notifications may have been lost before it. A notification is a hint: any login can send one, and one may be
   * late when the connection stalls. So `onNotify` reads the tables, by `followHints`, and a slower poll makes sure.
   * `onNotify` must not throw. Returns the function that ends the subscription.
   */
  subscribe(topic: Topic, onNotify: OnNotify): () => void
  close(): Promise<void>
}

export interface ListenerOptions {
  readonly url: string
  readonly log: Logger
  /** How often the connection is tested. */
  readonly probeEveryMs?: number
}

/** After a second false hint in a row, the next one waits this long. */
const FALSE_HINT_MS = 250

/**
 * Follows hints, of which any login can send thousands: at most one `read` runs and one waits. A true hint is followed
 * at once, and so is one false hint after it: it may be of what the read before has found, as it came while that ran.
 * @param read returns whether the hint was true. A failure counts as false.
 */
export function followHints(read: () => Promise<boolean>): () => void {
  let isBusy = false
  let isHinted = false
  let wasTrue = false
  const done = () => {
    isBusy = false
    if (isHinted) void follow()
  }
  const follow = async () => {
    isBusy = true
    isHinted = false
    const isTrue = await read().catch(() => false)
    const waits = !isTrue && !wasTrue
    wasTrue = isTrue
    if (waits) setTimeout(done, FALSE_HINT_MS).unref()
    else done()
  }
  return () => {
    isHinted = true
    if (!isBusy) void follow()
  }
}

const CHANNEL = 'farewatch'
const PROBE_EVERY_MS = 5_000
/** A connect, or the answer to a probe, takes no longer on a connection that works. */
const ANSWER_WITHIN_MS = 1_500
const CLOSE_WITHIN_MS = 500
const RECONNECT = { baseMs: 200, maxMs: 1_000 }

/** The SQL that notifies the listeners of all processes when its transaction commits. */
export function notify(topic: Topic, id?: RawBuilder<unknown>): RawBuilder<unknown> {
  const payload = id === undefined ? sql`${topic}` : sql`${topic} || ' ' || ${id}`
  return sql`pg_notify(${CHANNEL}, ${payload})`
}

/**
 * Nothing connects before the first subscription. A lost or stalled connection is replaced until the listener
 * closes.
 */
export function createListener(options: ListenerOptions): Listener {
  const subscriptions = new Set<{ readonly topic: Topic; readonly onNotify: OnNotify }>()
  const closing = new AbortController()
  let running: Promise<void> | undefined

  const notifyAll = () => {
    for (const { onNotify } of [...subscriptions]) onNotify()
  }
  const onNotification = (payload: string) => {
    const [about, id] = payload.split(' ')
    for (const { topic, onNotify } of [...subscriptions]) {
      if (topic === about) onNotify(id === undefined ? undefined : Number(id))
    }
  }
  return {
    subscribe: (topic, onNotify) => {
      const subscription = { topic, onNotify }
      subscriptions.add(subscription)
      running ??= keepListening(options, { closing: closing.signal, notifyAll, onNotification })
      return () => subscriptions.delete(subscription)
    },
    close: async () => {
      closing.abort()
      await running
    },
  }
}

interface Listening {
  readonly closing: AbortSignal
  readonly notifyAll: () => void
  readonly onNotification: (payload: string) => void
}

async function keepListening(options: ListenerOptions, listening: Listening): Promise<void> {
  const { closing, notifyAll } = listening
  let failures = 0
  const onListening = () => {
    if (failures > 0) options.log.info({ failures }, 'listening to the database again')
    failures = 0
    notifyAll()
  }
  while (!closing.aborted) {
    const reason = await listenUntilLost(options, { ...listening, notifyAll: onListening })
    if (closing.aborted) return
    if (failures === 0) options.log.warn({ reason }, 'listening connection lost')
    const pauseMs = backoffMs(RECONNECT, failures, Math.random)
    failures += 1
    await delay(pauseMs, undefined, { signal: closing }).catch(() => undefined)
  }
}

/** A connection outside the pool. A connect, or an answer, that takes longer fails. */
export function clientOf(url: string, name: string, timeoutMs: number): pg.Client {
  const { connectionString, serverOptions } = takeServerOptions(url)
  return new pg.Client({
    connectionString,
    options: serverOptions,
    application_name: name,
    connectionTimeoutMillis: timeoutMs,
    query_timeout: timeoutMs,
    keepAlive: true,
  })
}

/** Returns why the connection ended. */
async function listenUntilLost(
  { url, probeEveryMs = PROBE_EVERY_MS }: ListenerOptions,
  { closing, notifyAll, onNotification }: Listening,
): Promise<string> {
  const client = clientOf(url, 'farewatch listener', ANSWER_WITHIN_MS)
  const lost = new AbortController()
  client.on('error', (err) => lost.abort(err))
  client.on('end', () => lost.abort(new Error('the connection ended')))
  client.on('notification', ({ payload = '' }) => onNotification(payload))
  const signal = AbortSignal.any([closing, lost.signal])
  const listen = async () => {
    await client.connect()
    await client.query(`listen ${CHANNEL}`)
    notifyAll()
    for (;;) {
      await delay(probeEveryMs, undefined, { signal })
      await client.query('select 1')
    }
  }
  const aborted = once(signal, 'abort').then(() => signal.reason as unknown)
  const failure = await Promise.race([listen().catch((err: unknown) => err), aborted])
  lost.abort()
  await endsWithin(client.end(), CLOSE_WITHIN_MS)
  return messageOf(failure)
}
