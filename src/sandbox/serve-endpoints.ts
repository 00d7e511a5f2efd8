import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Answer } from './answer.ts'
import type { EndpointName, RequestLog, RequestOutcome } from './request-log.ts'
import type { SandboxClock } from './sandbox-clock.ts'

/**
 * Brings an answer to the wire. Everything that an upstream can do wrong (another status, half a body, no
 * body at all) is another way of delivering an honest answer: a fault layer takes this place and decides, by
 * endpoint, whether to fall back on `deliverHonestly`. What it returns is what the request log will hold.
 */
export type Deliver = (delivery: Delivery) => RequestOutcome

export interface Delivery {
  readonly endpoint: EndpointName
  readonly answer: Answer
  readonly request: FastifyRequest
  readonly reply: FastifyReply
}

export const deliverHonestly: Deliver = ({ answer, reply }) => {
  reply.code(answer.status).type(answer.contentType).send(answer.body)
  return {
    status: answer.status,
    ...(answer.available === undefined ? {} : { available: answer.available }),
  }
}

export interface EndpointDeps {
  readonly clock: SandboxClock
  readonly requestLog: RequestLog
  readonly deliver: Deliver
}

export interface Endpoint {
  readonly name: EndpointName
  readonly path: string
  /** The honest answer for an instant of the world. */
  readonly answer: (request: FastifyRequest, worldNow: Date) => Answer
}

/** Serves an endpoint of the interface: one instant for the whole request, then the answer, then the log. */
export function serveEndpoint(
  server: FastifyInstance,
  { clock, requestLog, deliver }: EndpointDeps,
  { name, path, answer }: Endpoint,
): void {
  server.get(path, (request, reply) => {
    const real = clock.realNow()
    const worldNow = clock.worldTimeAt(real)
    const honest = answer(request, worldNow)
    const outcome = deliver({ endpoint: name, answer: honest, request, reply })
    requestLog.record({
      realMs: real.getTime(),
      worldTime: worldNow.toISOString(),
      endpoint: name,
      question: honest.question ?? null,
      outcome,
    })
  })
}
