import type { Dispatcher } from 'undici'
import { UpstreamContractError, UpstreamTooLargeError } from '../upstream-errors.ts'
import {
  BodyBuffer,
  type BodyDecoder,
  type ContentCoding,
  codingOf,
  createBodyDecoder,
} from './body-buffer.ts'
import { type BodyBeginning, SNIPPET_SOURCE_BYTES } from './body-snippet.ts'

/** How long we wait for the beginning of an unwanted body, which is needed only for the error message. */
const SNIPPET_WAIT_MS = 1_000

export interface ResponseHead {
  readonly status: number
  /** The headers by lower-case name. A repeated header has its first value only. */
  readonly headers: Readonly<Record<string, string | undefined>>
}

export interface ReceiveOptions {
  readonly endpoint: string
  /** Cap on a wanted body, both encoded and decoded. */
  readonly maxBodyBytes: number
  /** Whether the body of this answer is wanted. Of other bodies only the beginning is read, for the error message. */
  wants(head: ResponseHead): boolean
  /** Called with each decoded chunk of a wanted body. The chunk is valid only during the call. */
  readonly onChunk?: ((chunk: Uint8Array) => void) | undefined
}

/** A complete answer, or as much of it as is wanted. A wanted body is always complete. */
export interface Received extends ResponseHead, BodyBeginning {
  /** If false, `chunks` holds only the beginning of the body, or nothing. */
  readonly wanted: boolean
  /** Size of the decoded body. */
  readonly bytes: number
  readonly wireBytes: number
}

interface ReceiverEvents {
  onHead(): void
  /** Called once, unless the call is aborted before. */
  onReceived(received: Received): void
  /** Called with what undici, a socket or zlib threw, or with an error of ours. The answer will not be complete. */
  onFailed(thrown: unknown): void
}

/**
 * Receives one answer from undici without a stream. For the small answers of verify, streams cost more than the rest
 * of the call (measured with `npm run bench:upstream`).
 *
 * A wanted body is read to its end and decompressed, within the cap. Of an unwanted body only as much is read as a
 * snippet needs; then the connection is dropped. An answer that is refused for its status stays refused for its
 * status, even if its body is broken.
 */
export class ResponseReceiver implements Dispatcher.DispatchHandler {
  readonly #options: ReceiveOptions
  readonly #events: ReceiverEvents
  readonly #body = new BodyBuffer()
  #controller: Dispatcher.DispatchController | undefined
  #head: ResponseHead | undefined
  #decoder: BodyDecoder | undefined
  #wanted: boolean = false
  #wireBytes = 0
  #ended: boolean = false
  #snippetTimer: NodeJS.Timeout | undefined

  constructor(options: ReceiveOptions, events: ReceiverEvents) {
    this.#options = options
    this.#events = events
  }

  get head(): ResponseHead | undefined {
    return this.#head
  }

  /**
   * Ends the call at its deadline. Returns true if the head was already refused: then the answer counts as received,
   * with as much of its body as has arrived.
   */
  expire(): boolean {
    const refused = this.#head !== undefined && !this.#wanted && !this.#ended
    if (refused) this.#succeed(false)
    return refused
  }

  /** Ends the call and its connection. No event follows. */
  abort(): void {
    this.#end()
    this.#controller?.abort(new Error('the call was aborted'))
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    // The call was aborted while it waited for a connection.
    if (this.#ended) this.abort()
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Readonly<Record<string, string | string[] | undefined>>,
  ): void {
    if (this.#ended || status < 200) return
    const head = { status, headers: firstOfEach(headers) }
    this.#head = head
    this.#events.onHead()
    this.#wanted = this.#options.wants(head)
    const coding = codingOf(head.headers['content-encoding'])
    if (this.#wanted) this.#startWanted(head, coding)
    else if (coding === 'unknown') this.#succeed(false)
    else {
      this.#snippetTimer = setTimeout(() => this.#succeed(false), SNIPPET_WAIT_MS)
      this.#open(coding)
    }
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Uint8Array): void {
    if (this.#ended || this.#decoder === undefined) return
    this.#wireBytes += chunk.length
    if (this.#wanted && !this.#fits(this.#wireBytes)) return
    if (!this.#decoder.write(chunk)) controller.pause()
  }

  onResponseEnd(): void {
    if (!this.#ended) this.#decoder?.end()
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#fail(error)
  }

  #startWanted(head: ResponseHead, coding: ContentCoding): void {
    const { endpoint } = this.#options
    if (coding === 'unknown') {
      const where = 'the body has a content encoding that we did not request'
      this.#fail(new UpstreamContractError({ endpoint, status: head.status, where }))
    } else if (this.#fits(Number(head.headers['content-length'] ?? 0))) this.#open(coding)
  }

  #open(coding: 'identity' | 'gzip'): void {
    this.#decoder = createBodyDecoder(coding, {
      onData: (chunk) => this.#collect(chunk),
      onDrain: () => this.#controller?.resume(),
      onEnd: () => this.#succeed(true),
      onError: (error) => this.#fail(error),
    })
  }

  #collect(chunk: Uint8Array): void {
    if (this.#ended) return
    if (!this.#wanted) {
      this.#body.add(chunk.subarray(0, SNIPPET_SOURCE_BYTES))
      if (this.#body.bytes >= SNIPPET_SOURCE_BYTES) this.#succeed(false)
    } else if (this.#fits(this.#body.bytes + chunk.length)) {
      this.#body.add(chunk)
      this.#options.onChunk?.(chunk)
    }
  }

  #fits(bytes: number): boolean {
    const { endpoint, maxBodyBytes } = this.#options
    if (bytes <= maxBodyBytes) return true
    this.#fail(
      new UpstreamTooLargeError({ endpoint, what: `the body is over ${maxBodyBytes} bytes` }),
    )
    return false
  }

  #succeed(complete: boolean): void {
    const head = this.#head
    if (this.#ended || head === undefined) return
    this.#end()
    if (!complete) this.#controller?.abort(new Error('the rest of the body is not wanted'))
    const wanted = this.#wanted
    const [bytes, wireBytes] = wanted ? [this.#body.bytes, this.#wireBytes] : [0, 0]
    const chunks = this.#body.chunks()
    this.#events.onReceived({ ...head, wanted, complete, chunks, bytes, wireBytes })
  }

  #fail(thrown: unknown): void {
    if (this.#ended) return
    // An unwanted answer is refused for its head. Its broken body does not change that.
    if (this.#head !== undefined && !this.#wanted) {
      this.#succeed(false)
      return
    }
    this.abort()
    this.#events.onFailed(thrown)
  }

  #end(): void {
    this.#ended = true
    clearTimeout(this.#snippetTimer)
    this.#decoder?.destroy()
  }
}

function firstOfEach(
  headers: Readonly<Record<string, string | string[] | undefined>>,
): ResponseHead['headers'] {
  const first: Record<string, string | undefined> = {}
  for (const name in headers) {
    const value = headers[name]
    first[name] = Array.isArray(value) ? value[0] : value
  }
  return first
}
