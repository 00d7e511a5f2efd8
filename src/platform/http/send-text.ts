import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'
import type { FastifyReply } from 'fastify'

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
