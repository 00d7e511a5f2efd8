import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { Server } from 'node:net'
import type { FastifyInstance } from 'fastify'

/**
 * Lets the requests that are under way be answered when the server is closed, and takes no new connection meanwhile.
 * What is not answered by then is cut off. On connections that are open requests are still answered, each as the last
 * of its connection.
 *
 * Add it after every other hook that ends what would wait for ever: this one waits for that.
 * @param drainMs how long, at most.
 */
export function drainOnClose(fastify: FastifyInstance, drainMs: number): void {
  const { server } = fastify
  const underWay = new Set<ServerResponse>()
  server.on('request', (_request, response: ServerResponse) => {
    underWay.add(response)
    // Also of one whose client has gone.
    response.once('close', () => underWay.delete(response))
  })
  fastify.addHook('preClose', async () => {
    // Fastify would only do so when this is over. And of net, not of http: that one also cuts off answers that are
    // ended but not yet sent, for it takes their connections for idle.
    if (server.listening) Server.prototype.close.call(server)
    const signal = AbortSignal.timeout(drainMs)
    while (underWay.size > 0 && !signal.aborted) {
      const [response] = underWay
      if (response !== undefined) await once(response, 'close', { signal }).catch(() => undefined)
    }
  })
}
