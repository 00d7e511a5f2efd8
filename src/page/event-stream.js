/** @import { Change } from './answers.ts' */
import { authorization, ProblemError } from './session.js'

/**
 * An event of a stream: its name, its id or null, and its decoded data.
 * @typedef {{ name: string, id: string | null, data: Change }} StreamEvent
 */

/**
 * Splits the text of Server-Sent Events into events. Comments and heartbeats are left out.
 * Source of the format: https://html.spec.whatwg.org/multipage/server-sent-events.html
 */
export function createEventParser() {
  let rest = ''
  return {
    /**
     * @param {string} chunk
     * @returns {{ events: StreamEvent[], lastId: string | undefined, retryMs: number | undefined }}
     */
    push(chunk) {
      const blocks = (rest + chunk).split(/\r?\n\r?\n/)
      rest = blocks.pop() ?? ''
      const read = blocks.map(readBlock)
      return {
        events: read.flatMap(({ event }) => (event === undefined ? [] : [event])),
        // A block with an id alone moves the position of the reader.
        lastId: read.map(({ id }) => id).findLast((id) => id !== undefined),
        retryMs: read.map(({ retryMs }) => retryMs).findLast((ms) => ms !== undefined),
      }
    },
  }
}

/** @param {string} block */
function readBlock(block) {
  /** @type {Map<string, string>} */
  const fields = new Map()
  for (const line of block.split(/\r?\n/)) {
    const [, name, value] = /^([a-z]+): ?(.*)$/.exec(line) ?? []
    if (name === undefined || value === undefined) continue
    fields.set(name, name === 'data' && fields.has(name) ? `${fields.get(name)}\n${value}` : value)
  }
  const data = fields.get('data')
  const retry = fields.get('retry')
  return {
    id: fields.get('id'),
    retryMs: retry === undefined ? undefined : Number(retry),
    event:
      data === undefined
        ? undefined
        : {
            name: fields.get('event') ?? 'message',
            id: fields.get('id') ?? null,
            data: JSON.parse(data),
          },
  }
}

const FIRST_RETRY_MS = 1_000
/** The problems of an id that the feed does not have, or no longer has. */
const OUTSIDE = new Set(['changes.beyond_head', 'changes.restored', 'changes.archived'])
const MAX_RETRY_MS = 30_000
/** The server sends something at least every 15 s. A connection that is silent for longer is dead, whatever TCP says. */
const SILENT_MS = 45_000

/**
 * Follows a stream until `signal` aborts, and connects again after the last id whenever it is lost.
 * @param {() => Promise<string>} findPath where the stream begins: a path below /api/v1
 * @param {{ onEvent: (event: StreamEvent) => void, onState: (state: StreamState) => void, signal: AbortSignal }} options
 * @typedef {'connecting' | 'live' | 'lost' | 'refused'} StreamState
 */
export async function followStream(findPath, { onEvent, onState, signal }) {
  /** @type {string | undefined} */
  let path
  /** @type {string | null} */
  let lastId = null
  let waitMs = FIRST_RETRY_MS
  while (!signal.aborted) {
    onState('connecting')
    try {
      path ??= await findPath()
      const retryMs = await readStream(path, {
        lastId,
        signal,
        onOpen: () => onState('live'),
        onEvent: (event) => {
          waitMs = FIRST_RETRY_MS
          onEvent(event)
        },
        onId: (id) => {
          lastId = id
        },
      })
      if (retryMs !== undefined) waitMs = retryMs
    } catch (error) {
      if (error instanceof ProblemError && OUTSIDE.has(error.code)) {
        // A restored backup may end before the last id, and old records may be archived: the stream begins at the present end.
        path = undefined
        lastId = null
      } else if (isRefused(error)) return onState('refused')
    }
    if (signal.aborted) return undefined
    onState('lost')
    await pause(waitMs, signal)
    waitMs = Math.min(MAX_RETRY_MS, waitMs * 2)
  }
  return undefined
}

/** Whether another attempt would be refused too. @param {unknown} error */
function isRefused(error) {
  return error instanceof ProblemError && [400, 401, 403, 404].includes(error.status)
}

/**
 * Reads one connection until it ends. Returns the pause that the server asked for.
 * @param {string} path
 * @param {{ lastId: string | null, onOpen: () => void, onEvent: (event: StreamEvent) => void,
 *   onId: (id: string) => void, signal: AbortSignal }} options
 */
async function readStream(path, { lastId, onOpen, onEvent, onId, signal }) {
  const silent = new AbortController()
  const watchdog = () => setTimeout(() => silent.abort(), SILENT_MS)
  let timer = watchdog()
  const response = await fetch(`/api/v1${path}`, {
    headers: {
      ...authorization(path),
      accept: 'text/event-stream',
      ...(lastId === null ? {} : { 'last-event-id': lastId }),
    },
    signal: AbortSignal.any([signal, silent.signal]),
  })
  if (!response.ok || response.body === null) {
    throw new ProblemError(response.status, await response.json().catch(() => ({})))
  }
  onOpen()
  const parser = createEventParser()
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
  let retryMs
  for (;;) {
    const { done, value } = await reader.read()
    clearTimeout(timer)
    if (done) return retryMs
    timer = watchdog()
    const read = parser.push(value)
    retryMs = read.retryMs ?? retryMs
    for (const event of read.events) onEvent(event)
    if (read.lastId !== undefined) onId(read.lastId)
  }
}

/**
 * @param {number} ms
 * @param {AbortSignal} signal
 * @returns {Promise<void>}
 */
function pause(ms, signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve()
    })
  })
}
