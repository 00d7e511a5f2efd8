import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'
import { brotliCompress, constants, createGunzip, createGzip, gzip } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'

export type Encoding = 'br' | 'gzip' | 'identity'

/** The encodings that we send, the smallest result first. */
export const ENCODINGS = ['br', 'gzip'] as const satisfies readonly Encoding[]
/** Smaller responses are not worth compressing. */
export const COMPRESS_FROM_BYTES = 1_024

/** One body with its compressed forms. Each form is made once, when a client first requests it. */
export interface EncodedBody {
  /** The uncompressed size. */
  readonly bytes: number
  as(encoding: Encoding): Promise<Buffer>
}

/** Brotli has the qualities 0 to 11. At 6 a list of routes is a sixth smaller than at 4 and takes a third longer. */
const BROTLI_QUALITY = 6

const compressors: Readonly<
  Record<Exclude<Encoding, 'identity'>, (plain: Buffer) => Promise<Buffer>>
> = {
  br: (plain) => {
    const params = {
      [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY,
      [constants.BROTLI_PARAM_SIZE_HINT]: plain.length,
    }
    return promisify(brotliCompress)(plain, { params })
  },
  gzip: (plain) => promisify(gzip)(plain),
}

export function createEncodedBody(plain: Buffer): EncodedBody {
  const made = new Map<Encoding, Promise<Buffer>>()
  return {
    bytes: plain.length,
    as: (encoding) => {
      if (encoding === 'identity') return Promise.resolve(plain)
      const found = made.get(encoding)
      if (found !== undefined) return found
      const making = compressors[encoding](plain)
      made.set(encoding, making)
      making.catch(() => made.delete(encoding))
      return making
    },
  }
}

/** Sends a body in the encoding that the client prefers. The caller sets the content type. */
export async function sendEncoded(
  request: FastifyRequest,
  reply: FastifyReply,
  body: EncodedBody,
): Promise<FastifyReply> {
  const accepted = encodingFor(request.headers['accept-encoding'])
  const encoding = body.bytes < COMPRESS_FROM_BYTES ? 'identity' : accepted
  const bytes = await body.as(encoding)
  if (encoding !== 'identity') reply.header('content-encoding', encoding)
  return reply.send(bytes)
}

/**
 * The encoding for a client, by its Accept-Encoding header: the one with the highest quality, and among equals the
 * smallest. `identity` if the header is missing or accepts none of ours.
 * @example encodingFor('gzip, br;q=0.5') // 'gzip'
 */
export function encodingFor(header: string | undefined): Encoding {
  if (header === undefined) return 'identity'
  const qualities = new Map(header.toLowerCase().split(',').map(readQuality))
  const qualityOf = (encoding: Encoding) => qualities.get(encoding) ?? qualities.get('*') ?? 0
  const [first, ...others] = ENCODINGS
  const best = others.reduce<Encoding>(
    (found, next) => (qualityOf(next) > qualityOf(found) ? next : found),
    first,
  )
  const plain = qualities.get('identity') ?? 0
  return qualityOf(best) > 0 && qualityOf(best) >= plain ? best : 'identity'
}

/** An encoding and its quality: 1 if none is given, 0 if it is malformed. */
function readQuality(part: string): [string, number] {
  const [name = '', ...parameters] = part.split(';').map((piece) => piece.trim())
  const weight = parameters.find((parameter) => parameter.startsWith('q='))
  const quality = weight === undefined ? 1 : Number(weight.slice('q='.length))
  return [name, quality >= 0 && quality <= 1 ? quality : 0]
}

export interface Version {
  /** Different for every version of the response; letters, digits and `-_.:`, without quotes. */
  readonly tag: string
  /**
   * When this version began. Missing if another version began in the same second, because HTTP dates have no
   * fractions.
   */
  readonly lastModified?: Date | undefined
}

/**
 * Sets the version headers and returns whether the client has this version already. If it does, return
 * `reply.code(304).send()`.
 *
 * The tag is weak because one version has several encodings. Clients may store the response but must revalidate it.
 * Shared caches must not store it, because it belongs to one key.
 */
export function isNotModified(
  request: FastifyRequest,
  reply: FastifyReply,
  { tag, lastModified }: Version,
): boolean {
  reply.header('etag', `W/"${tag}"`)
  reply.header('cache-control', 'private, no-cache')
  if (lastModified !== undefined) reply.header('last-modified', lastModified.toUTCString())
  const { 'if-none-match': tags, 'if-modified-since': since } = request.headers
  if (tags !== undefined) return tags.trim() === '*' || tagsOf(tags).includes(tag)
  if (since === undefined || lastModified === undefined) return false
  // Only our own Last-Modified counts. A later date is the client's clock, and the client may have fetched another
  // version at that time: a change is dated by when it happened but visible only once it is recorded.
  return Date.parse(lastModified.toUTCString()) === Date.parse(since)
}

function tagsOf(header: string): string[] {
  return [...header.matchAll(/"([^"]*)"/g)].map(([, tag]) => tag ?? '')
}

/**
 * Sends text part by part, as fast as the client reads it. Closes the source when the client disconnects.
 *
 * The first part is awaited before anything is sent, so an immediate failure, such as an unavailable database, is
 * answered as a problem. A later failure can only cut the response off.
 */
export async function streamText(
  reply: FastifyReply,
  parts: AsyncGenerator<string, void>,
): Promise<FastifyReply> {
  const first = await parts.next()
  return reply.send(Readable.from(first.done === true ? [] : prepend(first.value, parts)))
}

async function* prepend(first: string, rest: AsyncGenerator<string, void>): AsyncGenerator<string> {
  try {
    yield first
    yield* rest
  } finally {
    await rest.return()
  }
}

/** The fastest level. It still compresses repetitive JSON to a tenth. */
const GZIP_LEVEL = 1

/**
 * Reads a long text to its end before any of it is sent, so that its source, often a transaction, never waits for a
 * client. The text is kept compressed.
 */
export async function bufferText(parts: AsyncIterable<string>): Promise<Buffer[]> {
  const blocks: Buffer[] = []
  await pipeline(
    parts,
    createGzip({ level: GZIP_LEVEL }),
    async (packed: AsyncIterable<Buffer>) => {
      for await (const block of packed) blocks.push(block)
    },
  )
  return blocks
}

/** Sends the result of `bufferText`. */
export function sendBuffered(reply: FastifyReply, blocks: readonly Buffer[]): FastifyReply {
  const unpacked = createGunzip()
  // It fails only when the client disconnects, and then there is no response to send.
  pipeline(Readable.from(blocks), unpacked).catch(() => undefined)
  return reply.send(unpacked)
}
