import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'
import type { FastifyReply } from 'fastify'

/** Fast, and text that repeats itself still becomes a tenth. */
const LEVEL = 1

/**
 * Makes a long text whole before any of it is sent: its source, perhaps a transaction, ends at its own pace and never
 * waits for a client. Until then, and while a slow client takes it, it is kept compressed.
 */
export async function packText(parts: AsyncIterable<string>): Promise<Buffer[]> {
  const blocks: Buffer[] = []
  await pipeline(parts, createGzip({ level: LEVEL }), async (packed: AsyncIterable<Buffer>) => {
    for await (const block of packed) blocks.push(block)
  })
  return blocks
}

/** Sends what `packText` made. */
export function sendPacked(reply: FastifyReply, blocks: readonly Buffer[]): FastifyReply {
  const unpacked = createGunzip()
  // Where the client leaves the rest is let go of; nobody is left to be told of it.
  pipeline(Readable.from(blocks), unpacked).catch(() => undefined)
  return reply.send(unpacked)
}
