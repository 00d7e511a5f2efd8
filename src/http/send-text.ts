import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'

/**
 * Sends text part by part, as fast as the client takes it, and lets go of its source when the client has left.
 *
 * The first part is awaited before anything is sent: what fails at once, such as a database that is away, is answered
 * as a problem. What fails later can only cut the answer off, and the client sees that it is not whole.
 */
export async function sendText(
  reply: FastifyReply,
  parts: AsyncGenerator<string, void>,
): Promise<FastifyReply> {
  const first = await parts.next()
  return reply.send(Readable.from(first.done === true ? [] : from(first.value, parts)))
}

async function* from(first: string, rest: AsyncGenerator<string, void>): AsyncGenerator<string> {
  try {
    yield first
    yield* rest
  } finally {
    await rest.return()
  }
}
