import type { Dispatcher } from 'undici'
import { UpstreamContractError, UpstreamTooLargeError } from '../upstream-errors.ts'
import { type BodySink, type Coding, codingOf, createBodySink } from './body-sink.ts'
import { SNIPPET_SOURCE_BYTES } from './body-snippet.ts'
import { ByteBlocks } from './byte-blocks.ts'

/** How long the body of an answer that is refused anyway is awaited, for its snippet. */
const BEGINNING_MS = 1_000

export interface ResponseHead {
  readonly status: number
  /** By lower-case name; of a doubled header the first. */
  readonly headers: Readonly<Record<string, string | undefined>>
}

export interface ReceiveOptions {
  readonly endpoint: string
  /** Cap on a wanted body, both as it travels and decoded. */
  readonly maxBodyBytes: number
  wants(head: ResponseHead): boolean
  readonly onChunk?: ((chunk: Uint8Array) => void) | undefined
}

/** What has been received when an answer is complete, or as much of it as is wanted. */
export interface Received {
  readonly head: ResponseHead
  readonly wanted: boolean
  readonly complete: boolean
  readonly chunks: readonly Uint8Array[]
  readonly bytes: number
  readonly wireBytes: number
}

export interface ReceiverEvents {
  onHead(): void
  /** Called once, unless the call is given up before. */
  onReceived(received: Received): void
  /** What undici, a socket or zlib threw, or an error of ours: the answer will not be whole. */
  onFailed(thrown: unknown): void
}

/**
 * Takes in one answer from undici, without a stream in between: on the small answers of verify, streams cost more
 * than all the rest of a call (measured: `npm run bench:upstream`).
 *
 * A wanted body is read whole, decompressed, never holding more than the cap. Of any other as much is read as a
 * snippet needs, and the rest is dropped with its connection: of an answer that is refused for its status, a broken
 * body is not the news.
 */
export class ResponseReceiver implements Dispatcher.DispatchHandler {
  readonly #options: ReceiveOptions
  readonly #events: ReceiverEvents
  readonly #blocks = new ByteBlocks()
  #controller: Dispatcher.DispatchController | undefined
  #head: ResponseHead | undefined
  #sink: BodySink | undefined
  #wanted: boolean = false
  #wireBytes = 0
  #ended: boolean = false
  #beginning: NodeJS.Timeout | undefined

  constructor(options: ReceiveOptions, events: ReceiverEvents) {
    this.#options = options
    this.#events = events
  }

  get head(): ResponseHead | undefined {
    return this.#head
  }

  /** No more time: true where a head was refused already, and is received with as much of its body as has come. */
  expire(): boolean {
    const refused = this.#head !== undefined && !this.#wanted && !this.#ended
    if (refused) this.#succeed(false)
    return refused
  }

  /** Ends the call and its connection; nothing more is told of it. */
  giveUp(): void {
    this.#end()
    this.#controller?.abort(new Error('the call was given up'))
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    // Given up while it waited for its connection.
    if (this.#ended) this.giveUp()
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
      this.#beginning = setTimeout(() => this.#succeed(false), BEGINNING_MS)
      this.#open(coding)
    }
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Uint8Array): void {
    if (this.#ended || this.#sink === undefined) return
    this.#wireBytes += chunk.length
    if (this.#wanted && !this.#isWithin(this.#wireBytes)) return
    if (!this.#sink.write(chunk)) controller.pause()
  }

  onResponseEnd(): void {
    if (!this.#ended) this.#sink?.end()
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#fail(error)
  }

  #startWanted(head: ResponseHead, coding: Coding): void {
    const { endpoint } = this.#options
    if (coding === 'unknown') {
      const where = 'the body is in a content encoding that was not asked for'
      this.#fail(new UpstreamContractError({ endpoint, status: head.status, where }))
    } else if (this.#isWithin(Number(head.headers['content-length'] ?? 0))) this.#open(coding)
  }

  #open(coding: 'identity' | 'gzip'): void {
    this.#sink = createBodySink(coding, {
      onData: (chunk) => this.#gather(chunk),
      onDrain: () => this.#controller?.resume(),
      onEnd: () => this.#succeed(true),
      onError: (error) => this.#fail(error),
    })
  }

  #gather(chunk: Uint8Array): void {
    if (this.#ended) return
    if (!this.#wanted) {
      this.#blocks.add(chunk.subarray(0, SNIPPET_SOURCE_BYTES))
      if (this.#blocks.bytes >= SNIPPET_SOURCE_BYTES) this.#succeed(false)
    } else if (this.#isWithin(this.#blocks.bytes + chunk.length)) {
      this.#blocks.add(chunk)
      this.#options.onChunk?.(chunk)
    }
  }

  #isWithin(bytes: number): boolean {
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
    if (!complete) this.#controller?.abort(new Error('the rest is not wanted'))
    const wanted = this.#wanted
    const [bytes, wireBytes] = wanted ? [this.#blocks.bytes, this.#wireBytes] : [0, 0]
    const chunks = this.#blocks.chunks()
    this.#events.onReceived({ head, wanted, complete, chunks, bytes, wireBytes })
  }

  #fail(thrown: unknown): void {
    if (this.#ended) return
    // The head is what such an answer is refused for.
    if (this.#head !== undefined && !this.#wanted) {
      this.#succeed(false)
      return
    }
    this.giveUp()
    this.#events.onFailed(thrown)
  }

  #end(): void {
    this.#ended = true
    clearTimeout(this.#beginning)
    this.#sink?.destroy()
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
