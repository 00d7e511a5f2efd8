import { pipeline as join, type Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { type BodyBeginning, SNIPPET_SOURCE_BYTES } from './body-snippet.ts'
import { ByteBlocks } from './byte-blocks.ts'
import { UpstreamTooLargeError } from './upstream-errors.ts'

/** How long the body of an answer that is refused anyway is awaited, for its snippet. */
const BEGINNING_MS = 1_000
/** zlib's default of 16 KB makes ten thousand round trips to its thread out of a large list. */
const GUNZIP = { chunkSize: 262_144 }

/** How a body travels. We ask for gzip or nothing; anything else cannot be read. */
export type Coding = 'identity' | 'gzip' | 'unknown'

export interface BodyOptions {
  readonly endpoint: string
  readonly coding: Coding
  /** What the Content-Length header says, or 0. */
  readonly declaredBytes: number
  /** Cap on the body, both as it travels and decoded. */
  readonly maxBytes: number
  /** Called with each decoded chunk as it arrives; the chunk is only valid during the call. */
  readonly onChunk?: ((chunk: Uint8Array) => void) | undefined
}

export interface Body {
  readonly chunks: readonly Uint8Array[]
  readonly bytes: number
  /** As it travelled, before decompression. */
  readonly wireBytes: number
}

/**
 * Reads a whole body, decompressed, never holding more than the cap.
 *
 * Throws UpstreamTooLargeError, and what the streams throw.
 */
export async function readBody(body: Readable, options: BodyOptions): Promise<Body> {
  const blocks = new ByteBlocks()
  let wireBytes = 0
  async function* measure(source: AsyncIterable<Uint8Array>) {
    assertWithin(options, options.declaredBytes)
    for await (const chunk of source) {
      wireBytes += chunk.length
      assertWithin(options, wireBytes)
      yield chunk
    }
  }
  async function gather(source: AsyncIterable<Uint8Array>) {
    for await (const chunk of source) {
      assertWithin(options, blocks.bytes + chunk.length)
      blocks.add(chunk)
      options.onChunk?.(chunk)
    }
  }
  if (options.coding === 'gzip') await pipeline(body, measure, createGunzip(GUNZIP), gather)
  else await pipeline(body, measure, gather)
  return { chunks: blocks.chunks(), bytes: blocks.bytes, wireBytes }
}

/**
 * Reads as much of a body as a snippet needs and drops the rest with its connection.
 *
 * Never throws: of an answer that is refused for its status, a broken body is not the news.
 */
export async function readBeginning(body: Readable, coding: Coding): Promise<BodyBeginning> {
  const blocks = new ByteBlocks()
  if (coding === 'unknown') {
    discard(body)
    return { chunks: [], complete: false }
  }
  const timer = setTimeout(() => discard(body), BEGINNING_MS)
  const source: AsyncIterable<Uint8Array> =
    coding === 'gzip' ? join(body, createGunzip(), () => undefined) : body
  try {
    for await (const chunk of source) {
      blocks.add(chunk.subarray(0, SNIPPET_SOURCE_BYTES))
      if (blocks.bytes >= SNIPPET_SOURCE_BYTES) return { chunks: blocks.chunks(), complete: false }
    }
    return { chunks: blocks.chunks(), complete: true }
  } catch {
    return { chunks: blocks.chunks(), complete: false }
  } finally {
    clearTimeout(timer)
    discard(body)
  }
}

/** Gives up a body, and its connection with it. */
export function discard(body: Readable): void {
  // Destroyed before its end it says so by an error, which without a listener would end the process.
  body.on('error', () => undefined)
  body.destroy()
}

function assertWithin({ endpoint, maxBytes }: BodyOptions, bytes: number): void {
  if (bytes <= maxBytes) return
  throw new UpstreamTooLargeError({ endpoint, what: `the body is over ${maxBytes} bytes` })
}
