import type { ServerResponse } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { StreamEnd } from '../base/kinds.ts'
import { ProblemError } from './problems.ts'

/** The response to one client: Server-Sent Events until it ends. */
export interface EventStream {
  /** Sends the parts of one text. Resolves when they were passed on to the network. False if the stream has ended. */
  send(parts: readonly (string | Buffer)[]): Promise<boolean>
  /** Sends a last text unless the client reads too slowly, and ends the response. */
  end(reason: StreamEnd, lastText?: string): void
  hasEnded(): boolean
}

interface EventStreamOptions {
  /** How long the client may take to read what was sent before it is cut off. */
  readonly writeDeadlineMs: number
  /** After how long the client connects again. */
  readonly retryMs: number
  readonly onEnd: (reason: StreamEnd) => void
}

const HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  // Without it nginx collects the events before it forwards them.
  'x-accel-buffering': 'no',
}

/** Takes the response over from Fastify, so that nothing compresses or buffers it, and sends its headers. */
export function openEventStream(reply: FastifyReply, options: EventStreamOptions): EventStream {
  const { raw } = reply
  reply.hijack()
  for (const [name, value] of Object.entries({ ...reply.getHeaders(), ...HEADERS })) {
    if (value !== undefined) raw.setHeader(name, value)
  }
  raw.writeHead(200)
  raw.write(`retry: ${options.retryMs}\n\n`)

  let endedBy: StreamEnd | undefined
  const end = (reason: StreamEnd, lastText = '') => {
    endedBy ??= reason
    if (raw.writableLength > 0 || reason === 'slow') raw.destroy()
    else raw.end(lastText)
  }
  raw.once('close', () => {
    endedBy ??= 'client'
    options.onEnd(endedBy)
  })
  return {
    send: async (parts) => {
      if (endedBy === undefined && !(await write(raw, parts, options.writeDeadlineMs))) end('slow')
      return endedBy === undefined
    },
    end,
    hasEnded: () => endedBy !== undefined,
  }
}

/** False if the client does not read in time. Sends the parts without copying them. */
function write(
  raw: ServerResponse,
  parts: readonly (string | Buffer)[],
  withinMs: number,
): Promise<boolean> {
  return new Promise((resolve) => {
    let timer: NodeJS.Timeout | undefined
    const finish = (inTime: boolean) => {
      clearTimeout(timer)
      resolve(inTime)
    }
    raw.cork()
    for (const [i, part] of parts.entries()) {
      // The callback of the last part is also called when the client leaves.
      if (i + 1 < parts.length) raw.write(part)
      else raw.write(part, () => finish(true))
    }
    raw.uncork()
    if (raw.writableLength > 0) timer = setTimeout(() => finish(false), withinMs)
  })
}

/**
 * The id that a client sends when it connects again; undefined if it sends none. Throws a ProblemError if it is
 * not ours.
 */
export function readLastEventId(
  { headers }: FastifyRequest,
  pattern: RegExp,
  wanted: string,
): string | undefined {
  const id = headers['last-event-id']
  if (id === undefined) return undefined
  if (typeof id === 'string' && pattern.test(id)) return id
  throw new ProblemError('request.invalid_parameter', {
    parameter: 'Last-Event-ID',
    detail: `Last-Event-ID must be the id of an event of this stream: ${wanted}`,
  })
}

/** HEAD gets the headers of the stream and opens none. */
export function answerHead(reply: FastifyReply): FastifyReply {
  return reply.header('x-accel-buffering', 'no').send()
}
